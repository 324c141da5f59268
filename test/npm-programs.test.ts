import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { PROGRAM_ENV } from './support/program-env.ts';

const SCRIPTS: Readonly<Record<string, string>> = manifest.scripts;
const TIMEOUT = 60_000;

/** The programs of `npm run` that take options. */
const PROGRAMS = [
  ...['demo', 'cloud', 'bench', 'testkit', 'simulate', 'model', 'runtimes', 'checkpoints'],
  ...['prove:history', 'linearizability'],
];

function run(program: string, ...args: readonly string[]) {
  // What is built before it may be left out.
  const [node, script = ''] = SCRIPTS[program]?.split(' && ').at(-1)?.split(' ') ?? [];
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

  it.each(PROGRAMS)('%s: shows with --help how it is called, and does nothing else', (program) => {
    const { status, stdout, stderr } = run(program, '--help');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^npm run ${program} `));
  });

  it.each([
    ['demo', ['--page', '--history']],
    ['demo', ['--no-browser']],
    ['demo', ['--page', '--port', 'x']],
    ['demo', ['page']],
    ['bench', ['no-such-group']],
    ['simulate', ['--seeds', 'x']],
    ['simulate', ['--theme', 'x']],
    ['runtimes', ['node']],
    ['checkpoints', ['--runs', 'x']],
    ['prove:history', ['--part', 'x']],
    ['linearizability', ['--store', 'x']],
    ['testkit', []],
    ['testkit', ['--print', '--group', 'x']],
  ] as const)('%s: refuses %j before it begins anything', (program, args) => {
    const { status, stdout, stderr } = run(program, ...args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^\S+: [^\n]+\.\n\nnpm run /);
  });
});
