import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { oneIn, rowsOf } from '../runner/thorough.ts';
import { openPlace } from './place.ts';
import { play, readTranscripts } from './play.ts';
import { runLine } from './shell.ts';

/** Other ways to type a path. */
const FORMS: Readonly<Record<string, (path: string) => string>> = {
  'a slash behind it': (path) => `${path}/`,
  'two slashes behind it': (path) => `${path}//`,
  'two slashes within': (path) => path.replaceAll(/(?<=.)\//g, '//'),
  'its letters and accents apart': (path) => path.normalize('NFD'),
  'all of that': (path) => `${path.replaceAll(/(?<=.)\//g, '//').normalize('NFD')}///`,
};

/** The same for people alone. */
const FORMS_OF_PEOPLE: typeof FORMS = {
  'no slash and no root before it': (path) => path.replace(/^\/memories(\/|$)/, '') || '.',
  'no slash before it': (path) => path.slice(1),
  'two slashes before it': (path) => `/${path}`,
  'dots within': (path) => path.replaceAll(/(?<=.)\//g, '/./'),
};

const retyped = (line: string, form: (path: string) => string): string =>
  line.replaceAll(/(?<= )\/memories[^\s=]*/g, form);

const transcripts = readTranscripts('forms');

/** As the model gives them: the answer has the path as it was given. */
const MODELS_LINES = [
  'tool view /memories/café',
  'tool view /memories/café/résumé.md',
  'tool create /memories/café/new.md --text new',
  'tool str-replace /memories/café/résumé.md --old two --new three',
  "tool insert /memories/café/résumé.md 0 --text 'zero'",
  'tool delete /memories/café',
  'tool rename /memories/café /memories/cópia',
];

/** How a line of the model ends, and what the memory holds then. */
async function endOf(line: string) {
  using place = openPlace();
  const run = async (typed: string) => {
    const { code, stdout } = await runLine(`sealed-memory ${typed}`, new Uint8Array(), place);
    return { code, said: Buffer.from(stdout).toString() };
  };
  await run('put /memories/café/résumé.md --text two');
  await run('put /memories/plain.md --text plain');
  const { code } = line === '' ? { code: 0 } : await run(line);
  return { code, files: (await run("grep '' --json")).said };
}

describe('a path that a person typed', { timeout: 60_000 }, () => {
  describe.each(rowsOf({ ...FORMS, ...FORMS_OF_PEOPLE }))('with $name', ({ row: form, at }) => {
    it.each(oneIn(2, transcripts, at))(
      'leads to the same, and is answered the same: $title',
      async (transcript) => {
        const { wanted, got } = await play(transcript, (line) => retyped(line, form));
        expect(got).toBe(wanted);
      },
    );
  });

  it('is tried of each verb that takes one', async () => {
    const { createProgram } = await import('../../src/cli/program/program.ts');
    const program = createProgram(() => {});
    const PATHS = new Set(['path', 'from', 'to', 'left', 'right', 'old', 'new']);
    const takesPath = ({ registeredArguments, options }: Command): boolean =>
      registeredArguments.some((argument) => PATHS.has(argument.name())) ||
      options.some(({ flags }) => flags.endsWith('<path>'));
    const namesOf = (command: Command, above = ''): readonly string[] => [
      ...(takesPath(command) ? [`${above}${command.name()}`] : []),
      ...command.commands.flatMap((each) => namesOf(each, command === program ? '' : `${command.name()} `)),
    ];
    const typed = transcripts.flatMap(({ steps }) => steps.map((step) => step.typed));
    const tried = [...typed.map((line) => line.replace(/^.*sealed-memory /, '')), ...MODELS_LINES];
    const names = namesOf(program);
    expect(names.length).toBeGreaterThan(25);
    expect(names.filter((name) => !tried.some((line) => line.startsWith(`${name} `)))).toEqual([]);
  });
});

describe('a path that the model gave', { timeout: 60_000 }, () => {
  it.each(MODELS_LINES)(
    'leads to the same in any form, and nowhere in one of people alone: %s',
    async (line) => {
      const [before, plain] = [await endOf(''), await endOf(line)];
      expect(plain.code).toBe(0);
      for (const [name, form] of Object.entries(FORMS))
        expect(await endOf(retyped(line, form)), name).toEqual(plain);
      for (const [name, form] of Object.entries(FORMS_OF_PEOPLE))
        expect(await endOf(retyped(line, form)), name).toEqual({ ...before, code: 1 });
    },
  );
});
