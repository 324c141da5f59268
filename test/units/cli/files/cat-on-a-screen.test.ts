import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCat } from '../../../../src/cli/files/cat.ts';
import { runPut } from '../../../../src/cli/files/put.ts';
import { invocationOf } from '../../../stage/invocation.ts';

let folder: string;
let flags: { readonly store: string; readonly tenant: string; readonly rootKeyFile: string };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-cat-'));
  const rootKeyFile = join(folder, 'root.key');
  writeFileSync(rootKeyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  flags = { store: `sqlite:${join(folder, 'store.sqlite')}`, tenant: 'acme', rootKeyFile };
  const bytes = join(folder, 'bytes');
  writeFileSync(bytes, Buffer.from([0xff]));
  await runPut('/memories/bytes', { file: bytes }, invocationOf({ flags }).invocation);
});
afterAll(() => rmSync(folder, { recursive: true }));

it('cat shows no bytes on a screen that are not text', async () => {
  const { invocation } = invocationOf({ flags, isForEyes: true });
  await expect(runCat(['/memories/bytes'], {}, invocation)).rejects.toMatchObject({ code: 'not_text' });
});
