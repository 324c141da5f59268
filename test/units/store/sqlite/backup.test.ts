import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { backUpSqlite } from '../../../../src/store/sqlite/backup.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'sqlite-backup-'));
afterAll(() => rmSync(folder, { recursive: true }));
const keyOf = (index: number): ObjectKey => `data/${index}` as ObjectKey;

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
  const rows = (database: DatabaseSync) => database.prepare('SELECT * FROM objects ORDER BY key').all();
  const copy = new DatabaseSync(to);
  expect(rows(copy)).toEqual(rows(other));
  expect(rows(copy)).toHaveLength(6);
  other.close();
  copy.close();
});
