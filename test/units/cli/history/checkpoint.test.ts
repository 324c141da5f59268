import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, type CliRun, runCli } from '../../../support/cli.ts';

const LINE = /^\d+:[A-Za-z0-9_-]{43}\n$/;

let folder: string;
let env: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-checkpoint-'));
  env = {
    ...CLI_MEMORY_ENV,
    SEALED_MEMORY_STORE: `sqlite:${join(folder, 'memory.sqlite')}`,
    SEALED_MEMORY_HISTORY_DAYS: '30',
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { env });

describe('sealed-memory checkpoint', { timeout: 120_000 }, () => {
  it('prints one line, which verify takes', async () => {
    await run('put', '/memories/a', '--text', 'one');
    await run('put', '/memories/b', '--text', 'two');
    const written = await run('checkpoint');
    expect(written).toMatchObject({ code: 0, stdout: expect.stringMatching(LINE) });
    const line = written.stdout.trim();
    const verified = await run('verify', '--since', line);
    expect(verified.stdout).toMatch(/^since checkpoint 1 of [^,]+, 2 files\n/);
    expect(verified).toMatchObject({ code: 0 });
  });

  it('says at once where a line cannot tell everything, and verify ends with 3 where that is all', async () => {
    const { SEALED_MEMORY_HISTORY_DAYS: _, ...plain } = env;
    const inPlain = (...args: readonly string[]): Promise<CliRun> =>
      runCli(['--tenant', 'plain', ...args], { env: plain });
    await inPlain('put', '/memories/a', '--text', 'one');
    await inPlain('put', '/memories/b', '--text', 'two');
    const written = await inPlain('checkpoint');
    expect(written).toMatchObject({ code: 0, stdout: expect.stringMatching(LINE) });
    expect(written.stderr).toMatch(/untold since this line: .*"tenant history on"/);
    expect(await inPlain('verify', '--since', written.stdout.trim())).toMatchObject({ code: 0 });
    await inPlain('rm', '/memories/b');
    const untold = await inPlain('verify', '--since', written.stdout.trim());
    expect(untold.stdout).toMatch(/^untold \/memories\/b: /);
    expect(untold.stdout).toMatch(/\nuntold 1 file, 3 bytes: 1 finding left, untold\n$/);
    expect(untold).toMatchObject({ code: 3 });
    const json = await inPlain('verify', '--json', '--since', written.stdout.trim());
    expect(JSON.parse(json.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ left: 1, untold: 1 });
  });

  it('names what is wrong since a line, and writes no checkpoint there', async () => {
    const other = `7:${'A'.repeat(43)}`;
    const missing = await run('verify', '--since', other);
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stdout).toMatch(/^FAIL {2}checkpoint 7 is not in the store/);
    const refused = await run('checkpoint', '--since', other);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/FAIL {2}checkpoint 7 is not in the store/);
    expect(refused.stderr).toContain(
      'no checkpoint was written: 1 alarm since that line; do what is said above',
    );
    const first = await run('checkpoint');
    const next = await run('checkpoint', '--since', first.stdout.trim());
    expect(next).toMatchObject({ code: 0, stdout: expect.stringMatching(LINE) });
    expect(await run('verify', '--since', 'no line')).toMatchObject({ code: 1, stdout: '' });
    expect(await run('--tenant', 'nobody', 'checkpoint')).toMatchObject({ code: 1, stdout: '' });
  });

  it('follows a history that is begun anew, which says what to do then', async () => {
    const begun = await run('tenant', 'history', 'anew');
    expect(begun).toMatchObject({ code: 0 });
    expect(begun.stdout).toContain('now run "sealed-memory checkpoint", and throw older lines away');
    expect(await run('checkpoint')).toMatchObject({ code: 0, stdout: expect.stringMatching(LINE) });
  });
});
