import { type Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../../src/cli/program/program.ts';

const withAllBelow = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(withAllBelow),
];

/** The words behind the program's name that lead to each command; none lead to the program itself. */
function wordsOf(command: Command): readonly string[] {
  return command.parent === null ? [] : [...wordsOf(command.parent), command.name()];
}

/** Answers what a line prints on a screen of that many columns. */
function printed(line: readonly string[], columns: number): string {
  const program = createProgram(() => {});
  let text = '';
  for (const command of withAllBelow(program)) {
    command.exitOverride().configureOutput({
      writeOut: (said) => {
        text += said;
      },
      getOutHelpWidth: () => columns,
    });
  }
  try {
    program.parse(line, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
  return text;
}

const LINES = withAllBelow(createProgram(() => {})).map((command) => ['help', ...wordsOf(command)]);
const WIDE = 10_000;
const wordsIn = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

describe('the help', () => {
  it.each([40, 60, 80, 120])(
    'of every command keeps its words whole on a screen of %i columns',
    (columns) => {
      expect(LINES.length).toBeGreaterThan(50);
      for (const line of [...LINES, ['help', 'options']]) {
        const text = printed(line, columns);
        const long = text.split('\n').filter((row) => row.length > columns);
        expect(long, line.join(' ')).toEqual([]);
        expect(wordsIn(text), line.join(' ')).toEqual(wordsIn(printed(line, WIDE)));
      }
    },
  );

  it.each(LINES.slice(1).map((line) => [line.slice(1).join(' ')]))('is asked for as help %s', (name) => {
    const text = printed(['help', ...name.split(' ')], WIDE);
    expect(text).toContain(`Usage: sealed-memory ${name}`);
    expect(printed([...name.split(' '), '--help'], WIDE)).toBe(text);
  });
});
