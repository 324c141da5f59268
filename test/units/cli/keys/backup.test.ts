import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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
import { invocationOf } from '../../../doubles/invocation.ts';

const WORKER = fileURLToPath(new URL('../../../support/sqlite-worker.ts', import.meta.url));

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
const leftovers = () => readdirSync(folder).filter((name) => name.endsWith('.partial'));

describe('backup', { timeout: 60_000 }, () => {
  it('makes a store of one file for its owner alone, without a key, and replaces none unasked', async () => {
    const to = join(folder, 'copy.sqlite');
    const { tenant, rootKeyFile, ...keyless } = flags;
    expect(await runBackup(to, {}, invocationOf({ flags: keyless }).invocation)).toBe(0);
    expect([tenant, rootKeyFile]).toHaveLength(2);
    expect(statSync(to).mode & 0o777).toBe(0o600);
    expect(await verified(to)).toContain('3 files');
    await put('/memories/d', 'later');
    await expect(backup(to)).rejects.toMatchObject({ code: 'already_exists' });
    expect(await backup(to, { force: true })).toBe(0);
    expect(await verified(to)).toContain('4 files');
    expect(leftovers()).toEqual([]);
  });

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

  it('leaves nothing behind when it is cut off', async () => {
    const to = join(folder, 'copy.sqlite');
    const { invocation, complaints } = invocationOf({ flags });
    const cutOff = runBackup(to, {}, { ...invocation, signal: AbortSignal.abort() });
    await expect(cutOff).rejects.toMatchObject({ code: 'aborted' });
    expect(complaints).toEqual(['interrupted: nothing was written; run it again']);
    expect(readdirSync(folder).filter((name) => name.startsWith('copy'))).toEqual([]);
    expect(leftovers()).toEqual([]);
  });

  it('refuses the store itself, a foreign journal, a place that is no file, and other kinds of stores', async () => {
    const before = readFileSync(store);
    await expect(backup(store, { force: true })).rejects.toMatchObject({ message: /store itself/ });
    writeFileSync(join(folder, 'old.sqlite-journal'), 'left');
    await expect(backup(join(folder, 'old.sqlite'))).rejects.toMatchObject({ message: /-journal/ });
    for (const to of [folder, join(folder, 'none/copy.sqlite'), join(folder, 'copy.sqlite/')]) {
      await expect(backup(to)).rejects.toMatchObject({ code: 'misconfigured' });
    }
    const missing = { store: `sqlite:${join(folder, 'none.sqlite')}` };
    await expect(backup(join(folder, 'x'), {}, missing)).rejects.toMatchObject({ message: /no SQLite file/ });
    for (const other of ['memory:', 's3://some-bucket/prefix']) {
      const refused = backup(join(folder, 'x'), {}, { store: other });
      await expect(refused).rejects.toMatchObject({
        code: 'misconfigured',
        message: /"backup" copies an SQLite/,
      });
    }
    expect(readFileSync(store).equals(before)).toBe(true);
    expect(leftovers()).toEqual([]);
  });

  it.each(['-journal', '-reserve'])('takes no place of the store: %s', async (end) => {
    const before = readFileSync(`${store}${end}`);
    await expect(backup(`${store}${end}`, { force: true })).rejects.toMatchObject({
      message: /belongs to the store itself/,
    });
    expect(readFileSync(`${store}${end}`).equals(before)).toBe(true);
  });

  it('keeps the last backup of a store whose file was emptied, and makes no store of that', async () => {
    const to = join(folder, 'good.sqlite');
    expect(await backup(to)).toBe(0);
    const good = readFileSync(to);
    writeFileSync(store, '');
    await expect(backup(to, { force: true })).rejects.toMatchObject({
      code: 'misconfigured',
      message: 'The SQLite file is empty.',
    });
    expect(readFileSync(to).equals(good)).toBe(true);
    expect(statSync(store).size).toBe(0);
    expect(leftovers()).toEqual([]);
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
