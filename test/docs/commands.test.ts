import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { createProgram } from '../../src/cli/program.ts';
import { blocksOf, PAGES } from './pages.ts';

const PROGRAM = /^(npx )?sealed-memory (?=[a-z-])/;
const SCRIPT = /^npm run (?=[a-z])/;

/** What a page has its reader type. */
const typedOn = (page: string): readonly string[] =>
  blocksOf(page, 'sh', 'bash').flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'));

/** What a page names in its sentences, often without what it would need to run. */
const namedOn = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

/** Of a line, the words of each command whose name matches; a comment, a pipe and what is assigned before it left out. */
function wordsAfter(line: string, name: RegExp): readonly (readonly string[])[] {
  return line
    .replace(/(^|\s)#.*$/, '')
    .split(/&&|\|(?!\w)|;/)
    .map((command) => command.trim().replace(/^(\w+=\S+ +)+/, ''))
    .filter((command) => name.test(command))
    .map((command) =>
      [...command.replace(name, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
        ([, single, double, bare]) => single ?? double ?? bare ?? '',
      ),
    );
}

/** What the program says against a call; nothing if it would run it. */
function refusalOf(args: readonly string[]): CommanderError | undefined {
  const program = createProgram(() => {});
  const quiet = { writeOut: () => {}, writeErr: () => {} };
  for (const command of [program, ...program.commands, ...program.commands.flatMap((one) => one.commands)]) {
    command.configureOutput(quiet);
  }
  try {
    program.parse(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? undefined : error;
  }
}

const isIncomplete = ({ code }: CommanderError): boolean =>
  ['commander.missingArgument', 'commander.missingMandatoryOptionValue', 'commander.help'].includes(code);

function refusals(lines: readonly string[], isTold: (refusal: CommanderError) => boolean): readonly string[] {
  const calls = lines.flatMap((line) => wordsAfter(line, PROGRAM));
  return calls.flatMap((args) => {
    const refusal = refusalOf(args);
    return refusal !== undefined && isTold(refusal) ? [`${args.join(' ')}: ${refusal.message}`] : [];
  });
}

describe('what the pages have one type', () => {
  it.each(PAGES)('is a call of the command line that it takes: %s', (page) => {
    expect(refusals(typedOn(page), () => true)).toEqual([]);
    expect(refusals(namedOn(page), (refusal) => !isIncomplete(refusal))).toEqual([]);
  });

  it.each(PAGES)('is a script that there is: %s', (page) => {
    const lines = [...typedOn(page), ...namedOn(page)];
    const scripts = lines.flatMap((line) => wordsAfter(line, SCRIPT)).map(([script = '']) => script);
    expect(scripts.filter((script) => !Object.keys(manifest.scripts).includes(script))).toEqual([]);
  });

  it('is found at all, and judged', () => {
    const lines = PAGES.flatMap((page) => [...typedOn(page), ...namedOn(page)]);
    expect(lines.flatMap((line) => wordsAfter(line, PROGRAM)).length).toBeGreaterThan(30);
    expect(lines.flatMap((line) => wordsAfter(line, SCRIPT)).length).toBeGreaterThan(10);
    const wrong = [
      'A=1 npx sealed-memory keys rotat # now',
      'sealed-memory ls --lang && sealed-memory restore',
    ];
    expect(refusals(wrong, () => true)).toHaveLength(3);
    expect(refusals(wrong, (refusal) => !isIncomplete(refusal))).toHaveLength(2);
  });
});
