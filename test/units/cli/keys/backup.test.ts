import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runPut } from '../../../../src/cli/files/put.ts';
import { runVerify } from '../../../../src/cli/history/verify.ts';
import { runBackup } from '../../../../src/cli/keys/backup.ts';
import type { Flags } from '../../../../src/cli/run/invocation.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { invocationOf } from '../../../stage/invocation.ts';

const WORKER = fileURLToPath(new URL('../../store/sqlite/sqlite-worker.ts', import.meta.url));

let folder: string;
let store: string;
let flags: Flags;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-backup-'));
  store = join(folder, 'store.sqlite');
  const rootKeyFile = join(folder, 'root.key');
  writeFileSync(rootKeyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  flags = { store: `sqlite:${store}`, tenant: 'acme', rootKeyFile };
  for (const name of ['a', 'b', 'c']) await put(`/memories/${name}`, name.repeat(100_000));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const put = (path: string, text: string) => runPut(path, { text }, invocationOf({ flags }).invocation);
const backup = (to: string, options: { readonly force?: boolean } = {}, more: Flags = {}) =>
  runBackup(to, options, invocationOf({ flags: { ...flags, ...more } }).invocation);
const verified = async (file: string): Promise<string> => {
  const { invocation, shown } = invocationOf({ flags: { ...flags, store: `sqlite:${file}` } });
  expect(await runVerify({}, invocation)).toBe(0);
  return shown.join('');
};

describe('backup', { timeout: 60_000 }, () => {
  it('holds one moment of a store that four processes write to', async () => {
    const counter = openSqliteObjectStore({ path: store });
    await counter.put('data/file' as ObjectKey, new TextEncoder().encode('0'), { mode: 'create' });
    await counter[Symbol.asyncDispose]();
    for (let i = 0; i < 4; i++) {
      const child = spawn(process.execPath, [WORKER, 'append', store, `noise/${i}/`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      if (child.stdout !== null) await once(child.stdout, 'data');
    }
    for (let round = 0; round < 3; round++) {
      const to = join(folder, `copy-${round}.sqlite`);
      expect(await backup(to)).toBe(0);
      const copy = new DatabaseSync(to);
      expect(copy.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
      // Each process writes one object after the other: none is missing before the last one.
      for (let i = 0; i < 4; i++) {
        const keys = copy.prepare('SELECT CAST(key AS TEXT) AS name FROM objects').all();
        const names = new Set(keys.map(({ name }) => String(name)));
        const own = [...names].filter((name) => name.startsWith(`noise/${i}/`));
        expect(own.length).toBeGreaterThan(0);
        for (let n = 0; n < own.length; n++) expect(names.has(`noise/${i}/${n}`)).toBe(true);
      }
      copy.close();
      expect(await verified(to)).toContain('3 files');
    }
  });

  it('is whole also of a store whose last write was cut off, of which a bare copy is torn and says so', async () => {
    const writer = new DatabaseSync(store);
    writer.exec(
      'PRAGMA journal_mode = TRUNCATE; PRAGMA secure_delete = ON; PRAGMA cache_size = 5; BEGIN IMMEDIATE',
    );
    writer.exec('DELETE FROM objects WHERE rowid % 2 = 0');
    const [bare, whole] = [join(folder, 'bare.sqlite'), join(folder, 'whole.sqlite')];
    for (const to of [bare, whole]) copyFileSync(store, to);
    copyFileSync(`${store}-journal`, `${whole}-journal`);
    writer.exec('ROLLBACK');
    writer.close();
    await using torn = openSqliteObjectStore({ path: bare });
    const reading = (async () => {
      for await (const { objects } of torn.list({ prefix: '' })) {
        for (const { key } of objects) await torn.get(key);
      }
    })();
    await expect(reading).rejects.toMatchObject({ message: /without its -journal.*sealed-memory backup/ });
    await using reader = openSqliteObjectStore({ path: whole, readOnly: true });
    await expect(reader.head('k' as ObjectKey)).rejects.toMatchObject({
      message: /taken back from its -journal/,
    });
    const to = join(folder, 'copy.sqlite');
    expect(await backup(to, {}, { store: `sqlite:${whole}` })).toBe(0);
    expect(await verified(to)).toContain('3 files');
  });
});
