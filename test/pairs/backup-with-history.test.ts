import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runExportBackup } from '../../src/cli/keys/export-backup.ts';
import type { Action } from '../../src/cli/run/invocation.ts';
import { openAdmin, openMemory } from '../../src/index.ts';
import { openFolderObjectStore } from '../../src/store/folder.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { invocationOf } from '../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';
import { copyToFolder, digestOf, textsIn } from '../stage/object-folder.ts';

const [A, B, GONE] = ['/memories/a.md', '/memories/d/b.md', '/memories/gone.md'];
const CURRENT = { 'a.md': 'the third text', 'e/b.md': 'of b' };
/** Texts that only the history has, and one that is in no record any more. */
const [EARLIER, DELETED, REDACTED] = ['the first text', 'a deleted text', 'a redacted text'];
const rootKey = Buffer.alloc(32, 7).toString('base64');

let kept: KeptMemory;
let folder: string;
let backup: string;
beforeEach(async () => {
  kept = await openKeptMemory();
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-backup-'));
  backup = join(folder, 'backup');
  const { files, history } = kept.memory;
  for (const text of [EARLIER, REDACTED, CURRENT['a.md']]) await files.write(A, text, { actor: 'ann' });
  await files.write(B, CURRENT['e/b.md'], { actor: 'ann' });
  await files.rename('/memories/d', '/memories/e', { actor: 'bob' });
  await files.write(GONE, DELETED, { actor: 'ann' });
  await files.remove(GONE, { actor: 'bob' });
  const [, spoilt = expect.unreachable('it is kept')] = await history.list(A);
  expect((await history.read(spoilt)).text()).toBe(REDACTED);
  await history.redact(spoilt, { actor: 'cyd' });
  await using store = openSqliteObjectStore({ path: kept.flags.store.slice('sqlite:'.length) });
  await copyToFolder(store, backup);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
  await kept.remove();
});

async function said(action: Action, flags = kept.flags): Promise<string> {
  const { invocation, shown } = invocationOf({ flags });
  expect(await action(invocation)).toBe(0);
  return shown.join('');
}

describe('a backup of a tenant that keeps history', () => {
  it.each(['a folder', 'SQLite'])(
    'is written out, from %s, as the files that there are, and none of what they were',
    async (from) => {
      const before = await digestOf(backup);
      const to = join(folder, 'restored');
      const text = await said((run) =>
        runExportBackup({ from: from === 'SQLite' ? kept.flags.store : backup, to }, run),
      );
      expect(text).toBe(`ok    exported 2 files, 18 bytes, to ${to}: all well\n`);
      expect(await textsIn(to)).toEqual(CURRENT);
      expect(await digestOf(backup)).toBe(before);
    },
  );

  it('can be asked for its log and its kept texts where it lies, and for no redacted one', async () => {
    await using store = openFolderObjectStore({ path: backup });
    await using admin = await openAdmin({ store, tenant: 'acme', rootKey, readOnly: true });
    const entries = await admin.history.list();
    expect(entries).toEqual(await kept.memory.history.list());
    const texts = entries.flatMap((entry) =>
      entry.kind === 'written' && entry.text === 'kept' ? [admin.history.read(entry)] : [],
    );
    expect((await Promise.all(texts)).map((version) => version.text()).sort()).toEqual(
      [EARLIER, DELETED, ...Object.values(CURRENT)].sort(),
    );
    const redacted = entries.filter((entry) => entry.kind === 'written' && entry.text === 'redacted');
    expect(redacted).toHaveLength(1);
    for (const entry of redacted) {
      await expect(admin.history.read(entry)).rejects.toMatchObject({ details: { reason: 'redacted' } });
    }
    expect((await admin.verify()).findings).toEqual([]);
  });

  it('goes on, history and all, where its objects are put back', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    await using source = openFolderObjectStore({ path: backup });
    for await (const { objects } of source.list({ prefix: '' })) {
      for (const { key } of objects) {
        const stored = await source.get(key);
        if (typeof stored === 'object') await store.put(key, stored.body, { mode: 'create' });
      }
    }
    await using memory = await openMemory({ store, tenant: 'acme', rootKey, actor: 'dan' });
    expect(await memory.history.undo({ writer: 'bob' })).toMatchObject({
      outcome: 'written',
      left: [],
      changes: [
        { what: 'rename', path: '/memories/e/b.md', to: B },
        { what: 'create', path: GONE },
      ],
    });
    expect((await memory.files.read(GONE))?.text()).toBe(DELETED);
    await using admin = await openAdmin({ store, tenant: 'acme', rootKey });
    expect((await admin.verify()).findings).toEqual([]);
  });
});
