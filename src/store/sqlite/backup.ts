import { statSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { MemoryError, misconfigured } from '../../errors.ts';
import { createSqliteConnection, makeDatabase } from './connection.ts';
import { absolute, databaseFile } from './database-file.ts';
import { isFull } from './errors.ts';
import { listingStart } from './listing.ts';
import type { Statements } from './statements.ts';

interface BackupRequest {
  /** The path of the store. Other processes may go on writing to it. */
  readonly from: string;
  /** An empty file of the caller's own that nobody else opens meanwhile. After a failure it holds nothing of use. */
  readonly to: string;
  /** The time that a part waits for other processes before `unavailable`, in milliseconds; 10,000 unless given. */
  readonly busyTimeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called after each part. `total` is at first the number of objects at the beginning, and grows where more are
   * copied.
   */
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
}

/** The most objects and bytes of a part, which is copied in some milliseconds: a writer waits no longer. */
const PART_OBJECTS = 250;
const PART_BYTES = 1_048_576;

/**
 * Copies a store with all its tenants, sealed as it is, into another file. The copy is the store of one moment: part
 * after part is copied while others write; in the end, while they wait, it finds what they changed since and copies
 * that again, some 20 µs for each object. Where nobody wrote, this end is skipped. When the promise resolves, the copy
 * is on the disk.
 *
 * @throws MemoryError `misconfigured` where there is no store; `unavailable` where the disk of the copy is full or
 * fails; `aborted`; what the store throws.
 */
export async function backUpSqlite(request: BackupRequest): Promise<{ readonly objects: number }> {
  const { from, to, busyTimeoutMs = 10_000, signal, onProgress } = request;
  const path = databaseFile(absolute(from));
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    throw misconfigured('There is no SQLite file at the path of the store: correct the path.');
  }
  const source = createSqliteConnection({ path, busyTimeoutMs, mustExist: true });
  const copy = intoCopy(() => makeDatabase(to));
  try {
    // The copy needs no journal: an unfinished one is thrown away.
    intoCopy(() => copy.exec('PRAGMA journal_mode = OFF; BEGIN'));
    const total = await source.read(countObjects, signal);
    let done = 0;
    let begun: StoreState | undefined;
    for (let start: Uint8Array | undefined = FIRST; start !== undefined; ) {
      const from: Uint8Array = start;
      const { objects, next } = await source.read((database) => {
        begun ??= momentOf(database);
        return copyPart(database, copy, from);
      }, signal);
      done += objects;
      onProgress?.({ done, total: Math.max(done, total) });
      start = next;
    }
    await source.read((database) => {
      const { version } = momentOf(database);
      if (begun?.database === database && begun.version === version) return;
      for (let from: Uint8Array | undefined = FIRST; from !== undefined; ) {
        from = copyPart(database, copy, from).next;
      }
    }, signal);
    return intoCopy(() => {
      copy.exec('COMMIT');
      return { objects: countObjects(copy) };
    });
  } finally {
    copy.close();
    source.close();
  }
}

/**
 * A state of the store. Every write of another connection changes `version`, which each connection counts for itself.
 */
interface StoreState {
  readonly database: Statements;
  readonly version: unknown;
}

function momentOf(database: Statements): StoreState {
  return { database, version: database.prepare('PRAGMA data_version').get()?.['data_version'] };
}

const FIRST = listingStart('', undefined);

interface CopiedRow {
  readonly key: Uint8Array;
  /** The key as text, to be compared. */
  readonly name: string;
  readonly etag: string;
  /** The bytes of the body. */
  readonly size: number;
}

/** Makes one part of the copy, from a key on, equal to the store. Rows with the same ETag are the same version. */
function copyPart(
  source: Statements,
  copy: DatabaseSync,
  from: Uint8Array,
): { readonly objects: number; readonly next: Uint8Array | undefined } {
  const rows = source
    .prepare(`SELECT ${ROW} FROM objects WHERE key >= ? ORDER BY key LIMIT ${PART_OBJECTS + 1}`)
    .all(from) as unknown as readonly CopiedRow[];
  const part = rows.slice(0, countWithin(rows));
  const next = rows[part.length]?.key;
  const held = new Map(intoCopy(() => rowsBetween(copy, from, next)).map((row) => [row.name, row]));
  const select = source.prepare('SELECT key, etag, last_modified, body FROM objects WHERE key = ?');
  for (const { key, name, etag } of part) {
    if (held.get(name)?.etag !== etag) {
      const values = Object.values(select.get(key) ?? {}) as SQLInputValue[];
      intoCopy(() => copy.prepare(INSERT).run(...values));
    }
    held.delete(name);
  }
  for (const { key } of held.values()) {
    intoCopy(() => copy.prepare('DELETE FROM objects WHERE key = ?').run(key));
  }
  return { objects: part.length, next };
}

const ROW = 'key, hex(key) AS name, etag, length(body) AS size';
const INSERT = 'INSERT OR REPLACE INTO objects (key, etag, last_modified, body) VALUES (?, ?, ?, ?)';

/** Counts the rows that make a part: one at least, whatever its size. */
function countWithin(rows: readonly CopiedRow[]): number {
  let [count, bytes] = [0, 0];
  for (const { size } of rows.slice(0, PART_OBJECTS)) {
    bytes += size;
    if (count > 0 && bytes > PART_BYTES) break;
    count++;
  }
  return count;
}

function rowsBetween(
  database: Statements,
  from: Uint8Array,
  end: Uint8Array | undefined,
): readonly CopiedRow[] {
  const select = `SELECT ${ROW} FROM objects WHERE key >= ?`;
  const rows =
    end === undefined
      ? database.prepare(select).all(from)
      : database.prepare(`${select} AND key < ?`).all(from, end);
  return rows as unknown as readonly CopiedRow[];
}

function countObjects(database: Statements): number {
  return Number(database.prepare('SELECT count(*) AS count FROM objects').get()?.['count']);
}

/** Runs a statement on the copy, and tells its failures apart from those of the store. */
function intoCopy<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const message = isFull(cause)
      ? 'The disk that the backup is written to is full: free some space, or name a file on another disk.'
      : 'The backup could not be written: check its disk, or name a file on another one.';
    throw new MemoryError('unavailable', message, { cause });
  }
}
