import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runExport } from '../../../src/cli/verbs/export.ts';
import { runCp, runPut, runRm } from '../../../src/cli/verbs/files.ts';
import { runImport } from '../../../src/cli/verbs/import.ts';
import type { Flags, Invocation } from '../../../src/cli/verbs/invocation.ts';
import { runVerify } from '../../../src/cli/verbs/verify.ts';
import { invocationOf } from '../../doubles/invocation.ts';
import { startCli } from '../../support/cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-interrupted-'));
const flags: Flags = {
  store: `sqlite:${join(folder, 'store.sqlite')}`,
  tenant: 'acme',
  rootKeyFile: join(folder, 'root.key'),
};
beforeAll(async () => {
  writeFileSync(join(folder, 'root.key'), Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  mkdirSync(join(folder, 'in'));
  writeFileSync(join(folder, 'in/file'), 'text');
  await runPut('/memories/d/a', { text: 'text' }, invocationOf({ flags }).invocation);
});
afterAll(() => rmSync(folder, { recursive: true }));

const CONTINUES = 'what is done stays done, and the same command continues from there';
const DIRECTORY = '/memories/d';
const to = join(folder, 'out');
const recipient = async (): Promise<string> => identityToRecipient(await generateX25519Identity());

it.each<readonly [string, (run: Invocation) => Promise<unknown>, string]>([
  ['export', (run) => runExport({ path: DIRECTORY, to }, {}, run), CONTINUES],
  [
    'export --age',
    async (run) => runExport({ path: DIRECTORY, to }, { age: [await recipient()] }, run),
    'nothing was written; run it again',
  ],
  ['import', (run) => runImport({ from: join(folder, 'in'), path: DIRECTORY }, {}, run), CONTINUES],
  [
    'cp -r',
    (run) => runCp({ from: DIRECTORY, to: '/memories/e' }, { recursive: true }, run),
    'what was copied stays; --force copies it again',
  ],
  [
    'rm -r',
    (run) => runRm([DIRECTORY], { recursive: true }, run),
    'what was removed stays removed; --force goes on with the rest',
  ],
  ['verify', (run) => runVerify({}, run), 'nothing was changed; run it again'],
  ['verify --repair', (run) => runVerify({ repair: true }, run), CONTINUES],
])('%s says at Ctrl-C what became of it', async (_, verb, said) => {
  const { invocation, complaints } = invocationOf({ flags });
  const interrupted = { ...invocation, signal: AbortSignal.abort() };
  await expect(verb(interrupted)).rejects.toMatchObject({ code: 'aborted' });
  expect(complaints).toEqual([`interrupted: ${said}`]);
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
