import { type Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../../src/cli/program/program.ts';
import { runCli } from '../../../support/cli.ts';

const withAllBelow = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(withAllBelow),
];

/** The words behind the program's name that lead to each command; none lead to the program itself. */
function wordsOf(command: Command): readonly string[] {
  return command.parent === null ? [] : [...wordsOf(command.parent), command.name()];
}

/** What a line prints on a screen of so many columns. */
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

  it('has every command below a heading, and each heading once', () => {
    const text = printed(['--help'], WIDE);
    const headings = [...text.matchAll(/^(\S.*):\n {2}/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['To begin', 'Files', 'History', 'Keys and store', 'Serve']);
    for (const command of createProgram(() => {}).commands) {
      expect(text).toMatch(new RegExp(`^  ${command.name()}\\b`, 'm'));
    }
  });

  it('tells the options of every command once, and names them in one line elsewhere', () => {
    const told = printed(['help', 'options'], WIDE);
    for (const option of createProgram(() => {}).options) expect(told).toContain(`  ${option.flags} `);
    for (const line of LINES) {
      const text = printed(line, WIDE);
      expect(text.match(/^Options of every command: sealed-memory help options$/gm)).toHaveLength(1);
      expect(text).not.toMatch(/--root-key-file|--max-tenant-bytes|--verbose/);
    }
    expect(printed(['help', 'mv'], WIDE)).toContain('Usage: sealed-memory mv <from> <to>\n');
  });

  it.each(LINES.slice(1).map((line) => [line.slice(1).join(' ')]))('is asked for as help %s', (name) => {
    const text = printed(['help', ...name.split(' ')], WIDE);
    expect(text).toContain(`Usage: sealed-memory ${name}`);
    expect(printed([...name.split(' '), '--help'], WIDE)).toBe(text);
  });

  it('names the commands below a command, and their headings below it', () => {
    expect(printed(['--help'], WIDE)).toMatch(/^ {2}keys .*: status, show-root, rotate, migrate/m);
    expect(printed(['help', 'keys'], WIDE)).toMatch(/^ {2}rotate +\S/m);
  });
});

describe('a word that is not known', () => {
  it.each([
    ['lz', 'There is no command "lz": did you mean ls?'],
    ['rotate', 'There is no command "rotate": did you mean keys rotate?'],
    ['rotatte', 'There is no command "rotatte": did you mean keys rotate?'],
    ['frobnicate', 'There is no command "frobnicate": "sealed-memory --help" lists all.'],
    ['help keys rotatee', 'There is no command "rotatee": did you mean keys rotate?'],
    ['help no-such-command', 'There is no command "no-such-command": "sealed-memory --help" lists all.'],
    ['ls --recursiv', 'There is no option "--recursiv": did you mean --recursive?'],
    [
      'ls --bogus',
      'There is no option "--bogus": "sealed-memory help" with the command lists its own, "sealed-memory help options" those of all.',
    ],
  ])('ends with 2 and a sentence that leads on: %s', async (line, sentence) => {
    expect(await runCli(line.split(' '))).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `sealed-memory: ${sentence}\n`,
    });
  });
});
