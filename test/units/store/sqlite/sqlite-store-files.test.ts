import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';

const KEY = 'data/file' as ObjectKey;
const BODY = new TextEncoder().encode('sealed bytes');
const SLOW = 60_000;
/** SQLite's own numbers. */
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const SYNCHRONOUS_FULL = 2;

describe('a SQLite store in a file', () => {
  let directory: string;
  let path: string;
  const opened: ObjectStore[] = [];

  const open = (
    options: { readonly path?: string; readonly busyTimeoutMs?: number; readonly readOnly?: boolean } = {},
  ): ObjectStore => {
    const store = openSqliteObjectStore({ path, ...options });
    opened.push(store);
    return store;
  };

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sqlite-store-'));
    path = join(directory, 'memory.db');
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  it('keeps objects for the next process', async () => {
    const first = open();
    await first.put(KEY, BODY, { mode: 'create' });
    await first[Symbol.asyncDispose]();
    expect(await open().get(KEY)).toMatchObject({ body: BODY });
  });

  it('is read without any change to it when it is opened for that alone', async () => {
    const writer = open();
    await writer.put(KEY, BODY, { mode: 'create' });
    const before = statSync(path, { bigint: true });
    const names = readdirSync(directory);
    const reader = open({ readOnly: true });
    expect(await reader.get(KEY)).toMatchObject({ body: BODY });
    const denied = { code: 'access_denied' };
    await expect(reader.put(KEY, BODY, { mode: 'overwrite' })).rejects.toMatchObject(denied);
    await expect(reader.delete([{ key: KEY }])).rejects.toMatchObject(denied);
    const after = statSync(path, { bigint: true });
    expect([after.mtimeNs, after.ctimeNs]).toEqual([before.mtimeNs, before.ctimeNs]);
    expect(readdirSync(directory)).toEqual(names);
    await writer.put(KEY, new Uint8Array(1), { mode: 'overwrite' });
    expect(await reader.get(KEY)).toMatchObject({ size: 1 });
  });

  it('is not made by opening it for reading alone', async () => {
    await expect(open({ readOnly: true }).get(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(readdirSync(directory)).toEqual([]);
    writeFileSync(path, '');
    await expect(open({ readOnly: true }).get(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('makes a file that only its owner may read', async () => {
    await open().put(KEY, BODY, { mode: 'create' });
    for (const name of readdirSync(directory)) {
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    }
  });

  it('leaves everything that was acknowledged in the one file', async () => {
    await open().put(KEY, BODY, { mode: 'create' });
    const copy = join(directory, 'copy.db');
    copyFileSync(path, copy);
    expect(await open({ path: copy }).get(KEY)).toMatchObject({ body: BODY });
  });

  it('waits for a lock without blocking the event loop', { timeout: SLOW }, async () => {
    const store = open();
    await store.put(KEY, BODY, { mode: 'create' });
    const other = lock(path);
    let isSettled = false;
    const putting = store.put(KEY, BODY, { mode: 'overwrite' }).finally(() => {
      isSettled = true;
    });
    for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(isSettled).toBe(false);
    other.exec('COMMIT');
    other.close();
    expect(await putting).toHaveProperty('etag');
  });

  it('is unavailable when the lock is not let go in time', async () => {
    const store = open({ busyTimeoutMs: 100 });
    await store.put(KEY, BODY, { mode: 'create' });
    const other = lock(path);
    await expect(store.put(KEY, BODY, { mode: 'overwrite' })).rejects.toMatchObject({
      code: 'unavailable',
      retry: 'later',
    });
    other.close();
    expect(await store.put(KEY, BODY, { mode: 'overwrite' })).toHaveProperty('etag');
  });

  it('is unavailable, with nothing written, when a reader holds its lock over the commit', async () => {
    const store = open({ busyTimeoutMs: 100 });
    await store.put(KEY, BODY, { mode: 'create' });
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM objects').get();
    await expect(store.put(KEY, new Uint8Array(9), { mode: 'overwrite' })).rejects.toMatchObject({
      code: 'unavailable',
    });
    reader.close();
    expect(await store.get(KEY)).toMatchObject({ body: BODY });
  });

  it('stops waiting for a lock when its caller cancels', async () => {
    const store = open();
    await store.put(KEY, BODY, { mode: 'create' });
    const other = lock(path);
    const putting = store.put(KEY, BODY, { mode: 'overwrite', signal: AbortSignal.timeout(50) });
    await expect(putting).rejects.toMatchObject({ code: 'aborted' });
    other.close();
  });

  it('holds no lock of its own after a listing that had to wait for one', async () => {
    const store = open();
    await store.put(KEY, BODY, { mode: 'create' });
    const other = lock(path);
    other.exec('COMMIT');
    other.exec('BEGIN EXCLUSIVE');
    const listing = store.list({ prefix: '', maxKeys: 1 })[Symbol.asyncIterator]().next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    other.exec('COMMIT');
    expect(await listing).toMatchObject({ value: { objects: [{ key: KEY }] } });
    other.exec('BEGIN EXCLUSIVE');
    other.close();
  });

  it('lets its file grow again once a full disk has room', async () => {
    const store = open();
    await store.put(KEY, BODY, { mode: 'create' });
    const full = Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL });
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementationOnce(() => {
      throw full;
    });
    try {
      expect(await store.put(KEY, BODY, { mode: 'overwrite' })).toHaveProperty('etag');
      expect(spy.mock.calls.some(([sql]) => sql.includes('max_page_count'))).toBe(true);
    } finally {
      spy.mockRestore();
    }
    const large = new Uint8Array(1_000_000).fill(7);
    expect(await store.put(KEY, large, { mode: 'overwrite' })).toHaveProperty('etag');
  });

  it.each([
    ['a write', (store: ObjectStore) => store.put(KEY, BODY, { mode: 'overwrite' }), false],
    ['a delete', (store: ObjectStore) => store.delete([{ key: KEY }]), true],
  ])(
    'leaves what is freed on a full disk as it is for no more than a delete: %s',
    async (_, verb, mayKeep) => {
      const store = open();
      await store.put(KEY, BODY, { mode: 'create' });
      const real = DatabaseSync.prototype.exec;
      let refusals = 2;
      const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
        this: DatabaseSync,
        sql,
      ) {
        if (sql.startsWith('BEGIN') && refusals-- > 0) {
          throw Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL });
        }
        real.call(this, sql);
      });
      try {
        const outcome = await verb(store).then(
          () => 'done',
          (error: unknown) => (error as { readonly code?: unknown }).code,
        );
        expect(outcome).toBe(mayKeep ? 'done' : 'unavailable');
        expect(spy.mock.calls.some(([sql]) => sql.includes('secure_delete = FAST'))).toBe(mayKeep);
      } finally {
        spy.mockRestore();
      }
    },
  );

  it('deletes of a batch what it has room for on a full disk, and names the rest', async () => {
    const store = open();
    const keys = ['data/stays', 'data/goes'] as ObjectKey[];
    for (const key of keys) await store.put(key, BODY, { mode: 'create' });
    const { exec } = DatabaseSync.prototype;
    // Three attempts at the batch, and three at its first object.
    let refusals = 6;
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql,
    ) {
      if (sql.startsWith('BEGIN') && refusals-- > 0)
        throw Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL });
      exec.call(this, sql);
    });
    try {
      expect(await store.delete(keys.map((key) => ({ key })))).toEqual([
        { key: keys[0], error: expect.objectContaining({ code: 'unavailable' }) },
      ]);
      // A key that is alone in its batch is not tried once more.
      refusals = 3;
      await expect(store.delete([{ key: KEY }])).rejects.toMatchObject({ code: 'unavailable' });
    } finally {
      spy.mockRestore();
    }
    expect(await Promise.all(keys.map(async (key) => (await store.head(key)) !== undefined))).toEqual([
      true,
      false,
    ]);
  });

  it('makes no file for a delete of nothing', async () => {
    expect(await open().delete([])).toEqual([]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('sends a batch of deletes no second time when no answer tells what became of it', async () => {
    const store = open();
    const keys = [KEY, 'data/other' as ObjectKey];
    for (const key of keys) await store.put(key, BODY, { mode: 'create' });
    const failed = Object.assign(new Error('disk I/O error'), { errcode: SQLITE_IOERR });
    const { exec } = DatabaseSync.prototype;
    const statements: string[] = [];
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql: string,
    ) {
      statements.push(sql);
      exec.call(this, sql);
      if (sql === 'COMMIT') throw failed;
    });
    try {
      await expect(store.delete(keys.map((key) => ({ key })))).rejects.toMatchObject({
        code: 'outcome_unknown',
      });
    } finally {
      spy.mockRestore();
    }
    expect(statements.filter((sql) => sql === 'COMMIT')).toHaveLength(1);
  });

  it('syncs what it acknowledges to the disk, and overwrites what it deletes', async () => {
    const connections = new Set<DatabaseSync>();
    const asked: string[] = [];
    const { exec } = DatabaseSync.prototype;
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql: string,
    ) {
      connections.add(this);
      asked.push(sql);
      exec.call(this, sql);
    });
    try {
      await open().put(KEY, BODY, { mode: 'create' });
    } finally {
      spy.mockRestore();
    }
    const [connection] = connections;
    const setting = (name: string): unknown => connection?.prepare(`PRAGMA ${name}`).get()?.[name];
    expect(connections.size).toBe(1);
    expect(setting('synchronous')).toBe(SYNCHRONOUS_FULL);
    // SQLite may have been built with another default.
    expect(asked).toContain('PRAGMA synchronous = FULL');
    expect(setting('secure_delete')).toBe(1);
    expect(setting('journal_mode')).toBe('truncate');
  });

  it.each([
    ['a directory that does not exist', () => join('absent', 'memory.db')],
    ['a directory', () => 'sub'],
    ['a path below a file', () => join('plain.txt', 'memory.db')],
    ['a file that is no database', () => 'plain.txt'],
    ['the database of another program', () => 'other.db'],
    ['the database of another program, still empty but for its version', () => 'version.db'],
    ['the database of another program, still empty but for its mark', () => 'mark.db'],
  ])('is misconfigured when its path names %s', async (_, name) => {
    mkdirSync(join(directory, 'sub'));
    writeFileSync(join(directory, 'plain.txt'), 'no database, only some text. '.repeat(50));
    const others = {
      other: 'CREATE TABLE notes (text)',
      version: 'PRAGMA user_version = 7',
      mark: 'PRAGMA application_id = 7',
    };
    for (const [file, sql] of Object.entries(others)) {
      const other = new DatabaseSync(join(directory, `${file}.db`));
      other.exec(sql);
      other.close();
    }
    const store = open({ path: join(directory, name()) });
    await expect(store.get(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
    await expect(store.put(KEY, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('refuses a file of a newer version', async () => {
    await open().put(KEY, BODY, { mode: 'create' });
    const database = new DatabaseSync(path);
    database.exec('PRAGMA user_version = 2');
    database.close();
    await expect(open().get(KEY)).rejects.toMatchObject({ code: 'unsupported_format' });
  });

  it('takes an empty file for a new one', async () => {
    writeFileSync(path, '');
    expect(await open().put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
  });

  it('takes a file that another process makes its own at that moment for what it is', async () => {
    const other = new DatabaseSync(path, { timeout: 0 });
    const { prepare } = DatabaseSync.prototype;
    let looks = 0;
    const spy = vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (
      this: DatabaseSync,
      sql: string,
    ) {
      if (this !== other && ++looks === 2) makeStore(other);
      return prepare.call(this, sql);
    });
    try {
      expect(await open().put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
      expect(looks).toBeGreaterThan(2);
    } finally {
      spy.mockRestore();
      other.close();
    }
  });

  it('takes a file that another process makes its own just before it would do so', async () => {
    const other = new DatabaseSync(path, { timeout: 0 });
    const { exec } = DatabaseSync.prototype;
    let made = false;
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql: string,
    ) {
      if (this !== other && !made && sql.startsWith('BEGIN IMMEDIATE')) {
        made = true;
        makeStore(other);
      }
      exec.call(this, sql);
    });
    try {
      expect(await open().put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
      expect(made).toBe(true);
    } finally {
      spy.mockRestore();
      other.close();
    }
  });

  it('is misconfigured when its file is damaged', async () => {
    const store = open();
    await store.put(KEY, new Uint8Array(100_000), { mode: 'create' });
    await store[Symbol.asyncDispose]();
    truncateSync(path, 5000);
    await expect(open().get(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('acknowledges nothing once its file was moved away, and goes on with a file at its path', async () => {
    const store = open();
    await store.put(KEY, BODY, { mode: 'create' });
    const moved = join(directory, 'moved.db');
    renameSync(path, moved);
    await expect(store.put(KEY, BODY, { mode: 'overwrite' })).rejects.toMatchObject({ code: 'unavailable' });
    renameSync(moved, path);
    expect(await store.get(KEY)).toMatchObject({ body: BODY });
    expect(await store.put(KEY, BODY, { mode: 'overwrite' })).toHaveProperty('etag');
  });

  it('cannot be used after it was closed', async () => {
    const store = open();
    await store[Symbol.asyncDispose]();
    await expect(store.get(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
  });
});

/** Another connection that holds the write lock until it is closed. */
function lock(path: string): DatabaseSync {
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  return other;
}

/** Does what another process does when it opens a new file; it leaves the file where a lock is in its way. */
function makeStore(database: DatabaseSync): void {
  try {
    database.exec(`
      BEGIN IMMEDIATE;
      CREATE TABLE objects (
        key BLOB PRIMARY KEY NOT NULL,
        etag TEXT NOT NULL,
        last_modified INTEGER NOT NULL,
        body BLOB NOT NULL
      );
      PRAGMA application_id = 0x534c4d4d;
      PRAGMA user_version = 1;
      COMMIT;
    `);
  } catch {
    database.exec('ROLLBACK');
  }
}
