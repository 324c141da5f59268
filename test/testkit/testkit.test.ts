import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSodium } from '../../src/format/sodium.ts';
import { findPython } from '../python/python.ts';
import { isNotRun } from '../runner/not-run.ts';
import type { Answer, Case, Request } from './case.ts';
import { commandCases } from './command-cases.ts';
import { formatCases } from './format-cases.ts';
import { closeOwn, ownAnswer } from './own-answers.ts';
import { judge, runCases } from './runner.ts';

const SLOW = 120_000;
let cases: readonly Case[];
const of = (...groups: readonly Case['group'][]) => cases.filter(({ group }) => groups.includes(group));

beforeAll(async () => {
  await loadSodium();
  cases = [...formatCases(), ...(await commandCases())];
});
afterAll(closeOwn);

describe('the cases of the testkit', () => {
  it('have ids of their own, and are many in each group', () => {
    expect(new Set(cases.map(({ group, id }) => `${group} ${id}`)).size).toBe(cases.length);
    for (const group of ['read', 'refuse', 'names', 'sizes', 'commands'] as const) {
      expect(of(group).length, group).toBeGreaterThan(25);
    }
  });

  it('are passed by this library', { timeout: SLOW }, async () => {
    const { passed, failures } = await judge(cases, ownAnswer);
    expect(failures).toEqual([]);
    expect(Object.values(passed).reduce((sum, each) => sum + each, 0)).toBe(cases.length);
  });
});

/** Mistakes that a new implementation could make, and the group that shows each. */
const MISTAKES: readonly {
  readonly group: Case['group'];
  readonly what: string;
  readonly answer: (asked: Request, right: Answer) => Answer;
}[] = [
  {
    group: 'read',
    what: 'it tells the time of the content in the place of the bound',
    answer: (_, right) => ('result' in right ? { result: changed(right.result, { bound: '0' }) } : right),
  },
  {
    group: 'refuse',
    what: 'it opens an object under any name',
    answer: (asked, right) => (asked.do === 'open_object' ? { result: {} } : right),
  },
  {
    group: 'refuse',
    what: 'it has one code for all keyrings that it refuses',
    answer: (asked, right) => (asked.do === 'open_keyring' ? { code: 'integrity' } : right),
  },
  {
    group: 'names',
    what: 'it takes a key without the suffix for a file',
    answer: (asked, right) =>
      (right as { result?: unknown }).result === null ? { result: [String(asked['text'])] } : right,
  },
  {
    group: 'sizes',
    what: 'it has no chunk for an empty content',
    answer: (asked, right) => (asked['length'] === 0 ? { result: 224 } : right),
  },
  {
    group: 'commands',
    what: 'it marks no failure with Error:',
    answer: (_, right) =>
      'code' in right && right.content !== undefined
        ? { ...right, content: right.content.replace(/^Error: /, '') }
        : right,
  },
  {
    group: 'commands',
    what: 'it stores nothing',
    answer: (asked, right) => (asked.do === 'files' ? { result: {} } : right),
  },
];

describe('a program with a mistake', () => {
  it.each(MISTAKES)('fails in $group: $what', { timeout: SLOW }, async ({ group, answer }) => {
    const { failures } = await judge(
      group === 'commands' ? of(group).slice(0, 60) : of(group),
      async (asked) => answer(asked, await ownAnswer(asked)),
    );
    expect(failures).not.toEqual([]);
  });
});

describe('a program under test', () => {
  const ask: readonly Case[] = [
    {
      group: 'sizes',
      id: 'one',
      steps: [{ ask: { do: 'sealed_size', length: 5 }, answer: { result: 241 } }],
    },
  ];
  const program = (body: string): string =>
    `${JSON.stringify(process.execPath)} -e ${JSON.stringify(`process.stdin.once('data', () => {${body}})`)}`;

  it('is asked on its standard input, and judged by what it answers there', async () => {
    const right = program('console.log(JSON.stringify({ id: 1, result: 241 })); process.stdin.pause()');
    expect(await runCases(right, ask)).toEqual({ passed: { sizes: 1 }, failures: [] });
    const wrong = program('console.log(JSON.stringify({ id: 1, result: 240 })); process.stdin.pause()');
    expect((await runCases(wrong, ask)).failures).toEqual([
      { case: 'sizes: one', step: 0, expected: { result: 241 }, answered: { result: 240 } },
    ]);
  });

  it('fails the run when it ends early, or answers another request', async () => {
    await expect(runCases(program('process.exit()'), ask)).rejects.toThrow(
      'ended before it answered request 1',
    );
    const other = program('console.log(JSON.stringify({ id: 7, result: 241 })); process.stdin.pause()');
    await expect(runCases(other, ask)).rejects.toThrow('answered request 7 in the place of 1');
  });
});

describe('npm run prove testkit', { timeout: SLOW }, () => {
  const judgePorts = (module: string): Promise<{ readonly stdout: string }> =>
    promisify(execFile)(process.execPath, [
      'test/testkit/main.ts',
      '--module',
      `test/testkit/ports/${module}`,
    ]);

  it('judges the ports of a module, this library', async () => {
    const { stdout } = await judgePorts('own.ts');
    expect(stdout).toMatch(/Tests .*\b\d\d passed/);
    expect(stdout).not.toContain('failed');
  });

  it('rejects a store that reads what it was not asked for, and a root key that takes no notice of tenants', async () => {
    const { stdout } = await judgePorts('careless.ts').catch((error: { readonly stdout: string }) => error);
    expect(stdout).toContain('× get refuses an object above maxBytes');
    expect(stdout).toContain('× refuses every other context');
  });

  it('judges a program that is named to it, this library', async () => {
    const own = `${JSON.stringify(process.execPath)} test/testkit/own-program.ts`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...['test/testkit/main.ts', '--group', 'sizes', '--group', 'names', '--command', own],
    ]);
    expect(stdout).toMatch(/^passed: names \d+, sizes \d+; failed: 0\n$/);
  });
});

const python = await findPython(process.env);
const isMissing = isNotRun('The testkit, tried with Python', python);

describe.skipIf(isMissing)('the reader in Python', { timeout: SLOW }, () => {
  it('passes what the testkit asks of a reader', async () => {
    if ('reason' in python) throw new Error(python.reason);
    const groups = of('read', 'refuse', 'names', 'sizes');
    const { passed, failures } = await runCases(python.commandOf('testkit.py'), groups);
    expect(failures).toEqual([]);
    expect(Object.values(passed).reduce((sum, each) => sum + each, 0)).toBe(groups.length);
  });
});

function changed(value: unknown, fields: object): unknown {
  return typeof value === 'object' && value !== null ? { ...value, ...fields } : value;
}
