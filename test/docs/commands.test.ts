import { readFileSync } from 'node:fs';
import { type Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { createProgram } from '../../src/cli/program/program.ts';
import { PROOFS } from '../prove.ts';
import { WRITTEN } from '../write.ts';
import { ALL_PAGES, blocksOf, PAGES } from './pages.ts';

const PROGRAM = /^(npx )?sealed-memory (?=[a-z-])/;
const SCRIPT = /^npm run (?=[a-z])/;

/** The names by which the scripts that run several programs know them. */
const PROGRAMS: Readonly<Record<string, object>> = { prove: PROOFS, write: WRITTEN };

/** Answers the lines that a page has its reader type. */
const typedOn = (page: string): readonly string[] =>
  blocksOf(page, 'sh', 'bash').flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'));

/** Answers the commands that a page names in its sentences, often without what they would need to run. */
const namedOn = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

/**
 * Answers the words of each command in a line whose name matches, without a comment, a pipe and what is assigned before
 * it.
 */
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

/** Answers what the program says against a call; nothing if it would run it. */
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

/** Every command of the program by what is typed, `keys rotate` among them. */
function commandsBelow(parent: Command, typed = ''): ReadonlyMap<string, Command> {
  const pairs = parent.commands.flatMap((one) => {
    const name = `${typed}${one.name()}`;
    return [[name, one] as const, ...commandsBelow(one, `${name} `)];
  });
  return new Map(pairs);
}

const PROGRAM_COMMANDS = commandsBelow(createProgram(() => {}));
const GROUPS = [...PROGRAM_COMMANDS].filter(([, one]) => one.commands.length > 0).map(([name]) => name);
/** Pages about the scripts of this repository, which have options of their own. */
const ABOUT_SCRIPTS = [
  'docs/testing.md',
  'docs/performance.md',
  'docs/protocols.md',
  'test/testkit/README.md',
];
/** Matches what a sentence names of another program: its name stands first, or the option is one of the AWS CLI's. */
const OF_OTHERS = /^(node|npm|npx (?!sealed-memory)|aws|age|--message-group-id)\b/;

function knownFlags(): ReadonlySet<string> {
  const options = [createProgram(() => {}), ...PROGRAM_COMMANDS.values()].flatMap(({ options }) => options);
  return new Set(['--help', ...options.flatMap(({ long, short }) => [long ?? '', short ?? ''])]);
}

/** The words of a group that a page names and that it does not have, such as `keys rotat`. */
function unknownVerbs(spans: readonly string[]): readonly string[] {
  return spans.filter((span) => {
    const group = GROUPS.findLast((name) => span.startsWith(`${name} `));
    const verb = group === undefined ? undefined : /^[a-z][a-z-]*(?= |$)/.exec(span.slice(group.length + 1));
    return verb != null && !PROGRAM_COMMANDS.has(`${group} ${verb[0]}`);
  });
}

function unknownFlags(spans: readonly string[]): readonly string[] {
  const known = knownFlags();
  return spans
    .filter((span) => !OF_OTHERS.test(span))
    .filter((span) =>
      [...span.matchAll(/(?:^|\s)(--[a-z][a-z-]*)/g)].some(({ 1: flag = '' }) => !known.has(flag)),
    );
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
  it.each(ALL_PAGES)('is a call of the command line that it takes: %s', (page) => {
    expect(refusals(typedOn(page), () => true)).toEqual([]);
    expect(refusals(namedOn(page), (refusal) => !isIncomplete(refusal))).toEqual([]);
  });

  it.each(ALL_PAGES)('is a script that there is: %s', (page) => {
    const lines = [...typedOn(page), ...namedOn(page)];
    const scripts = lines.flatMap((line) => wordsAfter(line, SCRIPT)).map(([script = '']) => script);
    expect(scripts.filter((script) => !Object.keys(manifest.scripts).includes(script))).toEqual([]);
    const programs = lines
      .flatMap((line) => wordsAfter(line, SCRIPT))
      .filter(([script = '', name]) => script in PROGRAMS && name !== undefined);
    expect(programs.filter(([script = '', name = '']) => !(name in (PROGRAMS[script] ?? {})))).toEqual([]);
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

describe('what the pages name in their sentences', () => {
  it.each(ALL_PAGES)('are verbs that there are: %s', (page) => {
    expect(unknownVerbs(namedOn(page))).toEqual([]);
  });

  it.each(ALL_PAGES.filter((page) => !ABOUT_SCRIPTS.includes(page)))(
    'are flags that there are: %s',
    (page) => {
      expect(unknownFlags(namedOn(page))).toEqual([]);
    },
  );

  it('is judged', () => {
    expect(unknownVerbs(['keys rotate --force', 'keys rotat', 'tenant history of', 'keys'])).toHaveLength(2);
    expect(unknownFlags(['--reencrypt', 'verify --sinse LINE', 'npm run demo -- --page'])).toHaveLength(1);
  });
});

it('docs/command-line.md names every verb', () => {
  const named = namedOn('docs/command-line.md');
  const verbs = [...PROGRAM_COMMANDS.keys()].filter((name) => !GROUPS.includes(name));
  expect(verbs.length).toBeGreaterThan(40);
  expect(verbs.filter((verb) => !named.some((span) => `${span} `.startsWith(`${verb} `)))).toEqual([]);
});

it('the help leads to pages that there are', () => {
  const helps = [createProgram(() => {}), ...PROGRAM_COMMANDS.values()].map((one) => one.helpInformation());
  const pages = new Set(
    helps.flatMap((help) => help.replaceAll(/\s+/g, ' ').match(/docs\/[\w-]+\.md/g) ?? []),
  );
  expect(pages.size).toBeGreaterThan(3);
  expect([...pages].filter((page) => !PAGES.includes(page))).toEqual([]);
});

/**
 * Matches a command that would fetch the package by its name from a registry, where nothing of ours is until there is a
 * release.
 */
const BY_NAME =
  /\b(npm (i|install|add|exec)|pnpm (add|dlx)|yarn add|bunx?( add| install)?|deno (add|install)|pip install|uv add|npx (-y|--yes|-p|--package))\b[^\n]*?[\s"'=,](npm:)?sealed-memory(@[\w.^~-]+)?(?=["'\s,\]]|$)/;

it.each([
  'npm install sealed-memory',
  'npm install @anthropic-ai/sdk sealed-memory@0.1.0',
  'npx -y sealed-memory mcp',
  'pip install sealed-memory',
])('a block that fetches the package by its name would be found: %s', (line) => {
  expect(line).toMatch(BY_NAME);
  expect('npm install ../sealed-memory/sealed-memory-0.1.0.tgz @anthropic-ai/sdk').not.toMatch(BY_NAME);
});

it.each(ALL_PAGES)('%s fetches nothing of ours by a name that is not published', (page) => {
  const text = readFileSync(page, 'utf8');
  // A host's configuration has the words of its command one by one.
  const joined = text.replaceAll(
    /"args":\s*\[([^\]]*)\]/g,
    (_, args: string) => `npx ${args.replaceAll(/[",\s]+/g, ' ')}`,
  );
  expect([...text.split('\n'), ...joined.split('\n')].filter((line) => BY_NAME.test(line))).toEqual([]);
});
