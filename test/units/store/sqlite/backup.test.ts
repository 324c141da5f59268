import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { backUpSqlite } from '../../../../src/store/sqlite/backup.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { closedBehindEach } from '../../../stage/closed-behind.ts';

const folder = mkdtempSync(join(tmpdir(), 'sqlite-backup-'));
afterAll(() => rmSync(folder, { recursive: true }));
const keyOf = (index: number): ObjectKey => `data/${index}` as ObjectKey;

/** The objects of a store, each with the digest of its body. */
function rowsOf(path: string): readonly unknown[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare('SELECT * FROM objects ORDER BY key').all();
  database.close();
  return rows.map(({ body, ...row }) => ({ ...row, body: hash('sha256', body as Uint8Array) }));
}

it('a backup is what the store held in the end, however its parts changed after they were copied', async () => {
  const [from, to] = [join(folder, 'store.sqlite'), join(folder, 'copy.sqlite')];
  await using store = openSqliteObjectStore({ path: from });
  // Two of them are more than one part holds.
  for (let i = 0; i < 6; i++) await store.put(keyOf(i), new Uint8Array(700_000).fill(i), { mode: 'create' });
  writeFileSync(to, '');
  const other = new DatabaseSync(from);
  const seen: number[] = [];
  const onProgress = ({ done, total }: { readonly done: number; readonly total: number }): void => {
    expect(total).toBe(6);
    seen.push(done);
    if (done !== 4) return;
    other.exec("DELETE FROM objects WHERE key = CAST('data/1' AS BLOB)");
    other.exec(
      "UPDATE objects SET etag = 'new', body = x'0102', last_modified = 5 WHERE key IN (CAST('data/2' AS BLOB), CAST('data/5' AS BLOB))",
    );
    other.exec("INSERT INTO objects VALUES (CAST('a' AS BLOB), 'made', 7, x'03')");
  };
  expect(await backUpSqlite({ from, to, onProgress })).toEqual({ objects: 6 });
  expect(seen).toEqual([1, 2, 3, 4, 6]);
  other.close();
  expect(rowsOf(to)).toEqual(rowsOf(from));
  expect(rowsOf(to)).toHaveLength(6);
});

describe('a backup', () => {
  const closed = closedBehindEach();
  let count = 0;

  /** A store of objects of these sizes, and an empty file for its copy. */
  async function filled(sizes: readonly number[]) {
    const [from, to] = [join(folder, `store-${++count}.sqlite`), join(folder, `copy-${count}.sqlite`)];
    const store = closed(openSqliteObjectStore({ path: from }));
    // Its first use makes the file a store.
    await store.head('data/0' as ObjectKey);
    const database = new DatabaseSync(from);
    database.exec('BEGIN');
    const insert = database.prepare('INSERT INTO objects VALUES (CAST(? AS BLOB), ?, ?, ?)');
    for (const [index, size] of sizes.entries())
      insert.run(`data/${index}`, `etag-${index}`, index, new Uint8Array(size).fill(index));
    database.exec('COMMIT');
    database.close();
    writeFileSync(to, '');
    return { from, to, store };
  }

  it('looks once at each object of a store that nobody writes to', async () => {
    const { from, to } = await filled([1, 1]);
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    try {
      await backUpSqlite({ from, to });
      // The copy is asked for what it holds of each part of the store.
      expect(prepare.mock.calls.filter(([sql]) => sql.endsWith('FROM objects WHERE key >= ?'))).toHaveLength(
        1,
      );
    } finally {
      prepare.mockRestore();
    }
  });

  const MOST = 1_048_576;
  it.each<readonly [string, readonly number[], readonly number[]]>([
    ['nothing', [], [0]],
    ['250 objects in one part', Array.from({ length: 250 }, () => 1), [250]],
    ['251 objects in two', Array.from({ length: 251 }, () => 1), [250, 251]],
    ['a mebibyte in one part', [MOST - 1, 1], [2]],
    ['a byte more in two', [MOST, 1], [1, 2]],
    ['a larger object in a part of its own', [1, MOST + 1, 1, 2], [1, 2, 4]],
  ])('copies %s', async (_, sizes, seen) => {
    const { from, to } = await filled(sizes);
    const told: unknown[] = [];
    const onProgress = (progress: unknown): void => void told.push(progress);
    expect(await backUpSqlite({ from, to, onProgress })).toEqual({ objects: sizes.length });
    expect(told).toEqual(seen.map((done) => ({ done, total: sizes.length })));
    expect(rowsOf(to)).toEqual(rowsOf(from));
    expect(rowsOf(to)).toHaveLength(sizes.length);
  });

  it('tells of more objects than there were at the beginning where others put more', async () => {
    const { from, to, store } = await filled([MOST, 1]);
    const told: unknown[] = [];
    const late = new DatabaseSync(from);
    await backUpSqlite({
      from,
      to,
      onProgress(progress) {
        told.push(progress);
        const key = `'data/9999-${told.length}'`;
        if (told.length === 1)
          late.exec(`INSERT INTO objects VALUES (CAST(${key} AS BLOB), 'made', 7, x'03')`);
      },
    });
    expect(told).toEqual([
      { done: 1, total: 2 },
      { done: 3, total: 3 },
    ]);
    late.close();
    expect(await store.head('data/9999-1' as ObjectKey)).toMatchObject({ size: 1 });
  });

  it('is none where there is no store', async () => {
    const { from, to } = await filled([1]);
    const missing = join(folder, 'missing.sqlite');
    const nowhere = backUpSqlite({ from: missing, to });
    await expect(nowhere).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('no SQLite file'),
    });
    expect(existsSync(missing)).toBe(false);
    const empty = join(folder, 'empty.sqlite');
    writeFileSync(empty, '');
    const ofNothing = backUpSqlite({ from: empty, to });
    await expect(ofNothing).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('is empty'),
    });
    expect(readFileSync(empty)).toHaveLength(0);
    const into = backUpSqlite({ from, to: join(folder, 'no-such-folder', 'copy.sqlite') });
    await expect(into).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('could not be written'),
    });
  });

  it('ends with its caller, between two parts too, and leaves the store as it was', async () => {
    const { from, to, store } = await filled([MOST, 1]);
    const signal = AbortSignal.abort();
    await expect(backUpSqlite({ from, to, signal })).rejects.toMatchObject({ code: 'aborted' });
    const call = new AbortController();
    writeFileSync(to, '');
    const told: unknown[] = [];
    const onProgress = (progress: unknown): void => {
      told.push(progress);
      call.abort();
    };
    const cut = backUpSqlite({ from, to, signal: call.signal, onProgress });
    await expect(cut).rejects.toMatchObject({ code: 'aborted' });
    expect(told).toHaveLength(1);
    expect(await store.put('data/more' as ObjectKey, new Uint8Array(1), { mode: 'create' })).toHaveProperty(
      'etag',
    );
  });

  it('waits as long as it is told for a process that holds the file', async () => {
    const { from, to } = await filled([1]);
    const holder = new DatabaseSync(from);
    holder.exec('BEGIN EXCLUSIVE');
    const held = backUpSqlite({ from, to, busyTimeoutMs: 1 });
    await expect(held).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('locked'),
    });
    holder.exec('ROLLBACK');
    holder.close();
    writeFileSync(to, '');
    expect(await backUpSqlite({ from, to, busyTimeoutMs: 1 })).toEqual({ objects: 1 });
  });
});
