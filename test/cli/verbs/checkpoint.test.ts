import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, type CliRun, runCli } from '../../support/cli.ts';

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
  it('prints one line, which verify takes, and whose proofs it checks without the store', async () => {
    await run('put', '/memories/a', '--text', 'one');
    await run('put', '/memories/b', '--text', 'two');
    const written = await run('checkpoint');
    expect(written).toMatchObject({ code: 0, stdout: expect.stringMatching(LINE) });
    const line = written.stdout.trim();
    const verified = await run('verify', '--since', line);
    expect(verified.stdout).toMatch(/^since checkpoint 1 of [^,]+, 2 files\n/);
    expect(verified).toMatchObject({ code: 0 });

    const proof = join(folder, 'proof.json');
    const proved = await run('checkpoint', '--prove', '/memories/a');
    writeFileSync(proof, proved.stdout);
    const offline = { SEALED_MEMORY_STORE: 'sqlite:/nowhere/at/all', HOME: folder };
    const check = (file: string, since: string): Promise<CliRun> =>
      runCli(['verify', '--proof', file, '--since', since], { env: offline });
    expect(await check(proof, line)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ok {4}\/memories\/a held version [\w-]{22}, 3 bytes, /),
    });
    writeFileSync(proof, proved.stdout.replace('/memories/a', '/memories/b'));
    expect(await check(proof, line)).toMatchObject({ code: 1, stdout: '' });
    expect(await check(join(folder, 'none'), line)).toMatchObject({ code: 2 });
    expect(await run('verify', '--proof', proof)).toMatchObject({ code: 2 });
  });

  it('names what is wrong since a line, and accepts it', async () => {
    const other = `7:${'A'.repeat(43)}`;
    const missing = await run('verify', '--since', other);
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stdout).toMatch(/^FAIL {2}checkpoint 7 is not in the store/);
    const accepted = await run('checkpoint', '--accept', other);
    expect(accepted).toMatchObject({ code: 0, stdout: expect.stringMatching(LINE) });
    expect(accepted.stdout).toMatch(/^8:/);
    expect(accepted.stderr).not.toContain('nothing to accept');
    expect(await run('verify', '--since', other)).toMatchObject({ code: 0 });
    const none = await run('checkpoint', '--accept', accepted.stdout.trim());
    expect(none).toMatchObject({ code: 0, stdout: expect.stringMatching(LINE) });
    expect(none.stderr).toContain('nothing to accept');
    expect(await run('verify', '--since', 'no line')).toMatchObject({ code: 1, stdout: '' });
    expect(await run('--tenant', 'nobody', 'checkpoint')).toMatchObject({ code: 1, stdout: '' });
  });
});
