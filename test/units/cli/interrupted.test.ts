import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCp } from '../../../src/cli/files/cp.ts';
import { runImport } from '../../../src/cli/files/import.ts';
import { runLs } from '../../../src/cli/files/list.ts';
import { runMv } from '../../../src/cli/files/mv.ts';
import { runPut } from '../../../src/cli/files/put.ts';
import { runRm } from '../../../src/cli/files/rm.ts';
import type { Flags, Invocation } from '../../../src/cli/run/invocation.ts';
import { MemoryError } from '../../../src/errors.ts';
import { startCli } from '../../stage/cli.ts';
import { invocationOf } from '../../stage/invocation.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-interrupted-'));
const flags: Flags = {
  store: `sqlite:${join(folder, 'store.sqlite')}`,
  tenant: 'acme',
  rootKeyFile: join(folder, 'root.key'),
};
beforeAll(async () => {
  writeFileSync(join(folder, 'root.key'), Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  await runPut('/memories/d/a', { text: 'text' }, invocationOf({ flags }).invocation);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('Ctrl-C while it works', () => {
  /** Answers what is said when the interrupt comes as soon as the verb has told of that number of files. */
  const saidAfter = async (files: number, verb: (run: Invocation) => Promise<unknown>) => {
    const { invocation, complaints } = invocationOf({ flags });
    const { report } = invocation;
    const controller = new AbortController();
    const progress: typeof report.progress = (fields) => {
      if (fields['done'] === files) controller.abort();
    };
    const interrupted = { ...invocation, report: { ...report, progress }, signal: controller.signal };
    await expect(verb(interrupted)).rejects.toBeInstanceOf(MemoryError);
    return complaints;
  };
  const namesBelow = async (name: string): Promise<readonly string[]> => {
    const { invocation, shown } = invocationOf({ flags });
    await runLs('/memories', { recursive: true }, invocation);
    return shown.map((line) => line.trim()).filter((path) => path.startsWith(`${name}/`));
  };
  const fill = async (directory: string, files = 5): Promise<void> => {
    for (let i = 0; i < files; i++) {
      await runPut(`${directory}/${i}`, { text: 'text' }, invocationOf({ flags }).invocation);
    }
  };

  it('cp -r says how much is copied, and goes on with --force', async () => {
    await fill('/memories/source', 60);
    const copy = (force: boolean) => (run: Invocation) =>
      runCp({ from: '/memories/source', to: '/memories/target' }, { recursive: true, force }, run);
    const [said] = await saidAfter(2, copy(false));
    const { length: copied } = await namesBelow('target');
    expect(copied).toBeGreaterThanOrEqual(2);
    expect(copied).toBeLessThan(60);
    expect(said).toBe(
      `interrupted: ${copied} of 60 files are copied to /memories/target; the same command with --force copies all of them`,
    );
    expect(await copy(true)(invocationOf({ flags }).invocation)).toBe(0);
    expect(await namesBelow('target')).toHaveLength(60);
  });

  it('rm says how much is removed, and goes on with --force', async () => {
    await fill('/memories/one', 2);
    await fill('/memories/two', 3);
    const paths = ['/memories/one', '/memories/two', '/memories/d'];
    const remove = (force: boolean) => (run: Invocation) => runRm(paths, { recursive: true, force }, run);
    expect(await saidAfter(2, remove(false))).toEqual([
      'interrupted: 1 of 3 paths are removed; the same command with --force removes the rest',
    ]);
    expect(await namesBelow('one')).toEqual([]);
    expect(await namesBelow('two')).toHaveLength(3);
    expect(await remove(true)(invocationOf({ flags }).invocation)).toBe(0);
    expect(await namesBelow('two')).toEqual([]);
    await fill('/memories/d', 1);
  });

  it('mv of a directory says whether anything was renamed, and where to look', async () => {
    await fill('/memories/before');
    const rename = (run: Invocation) => runMv({ from: '/memories/before', to: '/memories/after' }, run);
    const [said = ''] = await saidAfter(2, rename);
    expect(said).toBe('interrupted: nothing was renamed; run it again');
    expect(await namesBelow('before')).toHaveLength(5);
    expect(await namesBelow('after')).toEqual([]);
  });
});

it('a search ends at Ctrl-C, although neither the store nor the reader ever makes it wait', async () => {
  const env = {
    SEALED_MEMORY_STORE: flags.store ?? '',
    SEALED_MEMORY_TENANT: 'acme',
    SEALED_MEMORY_ROOT_KEY_FILE: flags.rootKeyFile ?? '',
  };
  mkdirSync(join(folder, 'lines'));
  writeFileSync(join(folder, 'lines/00'), 'aa');
  // Each takes the pattern some milliseconds.
  const slow = `${'a'.repeat(26)}b\n`.repeat(12);
  for (let i = 1; i <= 60; i++) writeFileSync(join(folder, `lines/${String(i).padStart(2, '0')}`), slow);
  await runImport(
    { from: join(folder, 'lines'), path: '/memories/lines' },
    {},
    invocationOf({ flags }).invocation,
  );

  const child = startCli(['grep', '--json', '^(a|aa)+$', '/memories/lines'], { env });
  let stdout = '';
  child.stdout.on('data', (data: Buffer) => {
    // The first file matches.
    if (stdout === '') child.kill('SIGINT');
    stdout += data.toString();
  });
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(130);
  expect(stdout.trim().split('\n').at(-1)).toBe('{"event":"interrupted"}');
});

it.each([
  ['put', ['put', 'a.md', '--text', 'x'], 'sealed-memory: interrupted: nothing was changed'],
  ['ls', ['ls'], ''],
  ['tool view', ['tool', 'view', '/memories'], ''],
])(
  '%s ends at Ctrl-C while the store does not answer at the opening',
  async (_verb, args, said) => {
    const server = createServer();
    const asked = once(server, 'request');
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const child = startCli([...args, '--quiet'], {
      env: {
        SEALED_MEMORY_STORE: 's3://some-bucket/prefix',
        SEALED_MEMORY_TENANT: 'acme',
        SEALED_MEMORY_ROOT_KEY_FILE: flags.rootKeyFile ?? '',
        SEALED_MEMORY_S3_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        AWS_ACCESS_KEY_ID: 'x',
        AWS_SECRET_ACCESS_KEY: 'y',
      },
    });
    let stderr = '';
    child.stderr.on('data', (data: Buffer) => {
      stderr += data.toString();
    });
    await asked;
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    server.closeAllConnections();
    server.close();
    expect(code).toBe(130);
    expect(stderr.trim()).toBe(said);
  },
  20_000,
);
