import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { PROOFS } from './prove.ts';
import { THOROUGH } from './runner/thorough.ts';
import { PROGRAM_ENV } from './stage/programs.ts';
import { WRITTEN } from './write.ts';

const SCRIPTS: Readonly<Record<string, string>> = manifest.scripts;
const TIMEOUT = 60_000;

/** The programs of `npm run` that take options. */
const PROGRAMS = [
  'demo',
  'cloud',
  'bench',
  'prove checkpoints',
  'prove history',
  'prove linearizability',
  'prove model',
  'prove mutants',
  'prove runtimes',
  'prove simulation',
  'prove testkit',
];

/** Calls that are refused besides, one after another by the same programs, or by one that takes a second to load. */
const MORE_REFUSED = [
  ['demo', ['--no-browser']],
  ['demo', ['page']],
  ['bench', ['no-such-group']],
  ['prove mutants', ['--jobs', 'x']],
  ['prove simulation', ['--theme', 'x']],
  ['prove linearizability', ['--simulated', 'x']],
  ['prove testkit', []],
] as const;

function run(program: string, ...given: readonly string[]) {
  const [name = '', ...names] = program.split(' ');
  const args = [...names, ...given];
  // The test may leave out what the script builds before it.
  const [node, script = ''] = SCRIPTS[name]?.split(' && ').at(-1)?.split(' ') ?? [];
  expect(node).toBe('node');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
    env: PROGRAM_ENV,
    timeout: TIMEOUT,
  });
  return { status, stdout, stderr };
}

describe('npm run', { timeout: TIMEOUT }, () => {
  it.each(PROGRAMS)('%s: refuses an option that it does not know, with how it is called', (program) => {
    const { status, stdout, stderr } = run(program, '--bogus');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^\S+: Unknown option '--bogus'\.\n\n/);
    expect(stderr).toContain(`\nnpm run ${program} `);
  });

  // The refusals above show the same, so the usual run asks only the two programs that users start.
  it.each(THOROUGH ? PROGRAMS : ['demo', 'cloud'])(
    '%s: shows with --help how it is called, and does nothing else',
    (program) => {
      const { status, stdout, stderr } = run(program, '--help');
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(new RegExp(`^npm run ${program} `));
    },
  );

  it.each([
    ['demo', ['--page', '--history']],
    ['demo', ['--page', '--port', 'x']],
    ['prove mutants', ['src/no-such-file.ts']],
    ['prove simulation', ['--seeds', 'x']],
    ['prove runtimes', ['node']],
    ['prove checkpoints', ['--runs', 'x']],
    ['prove history', ['--part', 'x']],
    ['prove linearizability', ['--store', 'x']],
    ['prove testkit', ['--print', '--group', 'x']],
    ...(THOROUGH ? MORE_REFUSED : []),
  ] as const)('%s: refuses %j before it begins anything', (program, args) => {
    const { status, stdout, stderr } = run(program, ...args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^\S+: [^\n]+\.\n\nnpm run /);
  });

  it.each([
    ['prove', PROOFS],
    ['write', WRITTEN],
  ])('%s: lists what it can run, and refuses another name', (script, programs) => {
    const listed = run(script, '--help');
    expect([listed.status, listed.stderr]).toEqual([0, '']);
    const names = [...listed.stdout.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name);
    expect(names).toEqual(Object.keys(programs));
    const refused = run(script, 'x');
    expect([refused.status, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toBe(`${script}: "x" is none of these.\n\n${listed.stdout}`);
    expect(run(script).status).toBe(2);
  });
});
