import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import type { Pause } from '../../time.ts';
import {
  type DeleteFailure,
  type DeleteOptions,
  type DeleteTarget,
  type ETag,
  type GetOptions,
  KEYS_PER_REQUEST,
  type ListOptions,
  type ListPage,
  lateness,
  type ObjectStore,
  type PutOptions,
  type StoredObject,
  type WriteResult,
} from '../port.ts';
import { createSqliteConnection } from './connection.ts';
import { isDiskFull } from './errors.ts';
import { keyBytes, listingStart, readPage } from './listing.ts';

interface SqliteStoreOptions {
  /** A file in an existing directory, or `:memory:` for a store that ends with the process. */
  readonly path: string;
  /** The file must exist, and nothing is ever written to it: what would is `access_denied`. */
  readonly readOnly?: boolean;
  /** How long a verb waits for other processes before `unavailable`, in milliseconds; 10,000 unless given. */
  readonly busyTimeoutMs?: number;
  readonly clock?: () => number;
  readonly pause?: Pause;
}

/**
 * The embedded store: S3's semantics in one SQLite file, safe for many processes on a local disk. Guarded: a
 * delete with `ifMatch` is atomic. The file is opened by the first verb and made with mode 0600.
 */
export function openSqliteObjectStore(options: SqliteStoreOptions): ObjectStore {
  const clock = options.clock ?? Date.now;
  const connection = createSqliteConnection({
    path: options.path,
    busyTimeoutMs: options.busyTimeoutMs ?? 10_000,
    ...(options.readOnly === undefined ? {} : { readOnly: options.readOnly }),
    ...(options.pause === undefined ? {} : { pause: options.pause }),
  });

  return {
    get: async (key, request) => {
      const row = await connection.read((database) => selectObject(database, key, request), request?.signal);
      if (row === undefined) return undefined;
      return row.etag === request?.ifNoneMatch ? 'not_modified' : toStored(row, clock(), request);
    },
    head: async (key, request) => {
      const row = await connection.read(
        (database) => selectObject(database, key, { maxBytes: -1 }),
        request?.signal,
      );
      return row && { etag: row.etag, size: row.size, lastModified: row.last_modified, servedAt: clock() };
    },
    put: (key, body, request) =>
      connection.write((database) => putObject(database, key, body, request, clock()), {
        signal: request.signal,
        bytes: body.length,
      }),
    delete: (targets, request) => deleteObjects(targets, request),
    list,
    [Symbol.asyncDispose]: async () => connection.close(),
  };

  async function deleteObjects(
    targets: readonly DeleteTarget[],
    request?: DeleteOptions,
  ): Promise<readonly DeleteFailure[]> {
    if (targets.length === 0) return [];
    try {
      return await deleteTogether(targets, request);
    } catch (error) {
      if (targets.length === 1 || !isDiskFull(error)) throw error;
    }
    // Each for itself needs less room.
    const failures: DeleteFailure[] = [];
    for (const target of targets) {
      const failed = await deleteTogether([target], request).catch((error: unknown) => [
        { key: target.key, error },
      ]);
      failures.push(...failed);
    }
    return failures;
  }

  function deleteTogether(
    targets: readonly DeleteTarget[],
    request: DeleteOptions | undefined,
  ): Promise<readonly DeleteFailure[]> {
    return connection.write(
      (database) => {
        const late = lateness(request?.sendBy);
        if (late !== undefined) throw late;
        return targets.flatMap((target) => deleteObject(database, target));
      },
      { signal: request?.signal, mayKeepFreed: true },
    );
  }

  async function* list(request: ListOptions): AsyncGenerator<ListPage, void, undefined> {
    const maxKeys = Math.min(request.maxKeys ?? KEYS_PER_REQUEST, KEYS_PER_REQUEST);
    let from: Uint8Array | undefined = listingStart(request.prefix, request.startAfter);
    while (from !== undefined) {
      const start: Uint8Array = from;
      const page = await connection.read(
        (database) =>
          readPage(database, {
            prefix: request.prefix,
            from: start,
            maxKeys,
          }),
        request.signal,
      );
      yield { objects: page.objects, servedAt: clock() };
      from = page.next;
    }
  }
}

interface ObjectRow {
  readonly etag: ETag;
  readonly last_modified: number;
  readonly size: number;
  /** null: not read, because it is too large or not asked for. */
  readonly body: Uint8Array | null;
}

function selectObject(
  database: DatabaseSync,
  key: ObjectKey,
  request: Pick<GetOptions, 'maxBytes' | 'ifNoneMatch'> | undefined,
): ObjectRow | undefined {
  const row = database
    .prepare(
      `SELECT etag, last_modified, length(body) AS size,
         CASE WHEN length(body) <= ? AND etag <> ? THEN body END AS body
       FROM objects WHERE key = ?`,
    )
    .get(request?.maxBytes ?? Number.MAX_SAFE_INTEGER, request?.ifNoneMatch ?? '', keyBytes(key));
  return row as ObjectRow | undefined;
}

function toStored(row: ObjectRow, servedAt: number, request?: GetOptions): StoredObject {
  if (row.body === null) {
    throw new MemoryError('limit_exceeded', 'The stored object is larger than the caller accepts.', {
      details: { limit: 'object_bytes', value: row.size, max: request?.maxBytes ?? 0 },
    });
  }
  return { body: row.body, etag: row.etag, size: row.size, lastModified: row.last_modified, servedAt };
}

function putObject(
  database: DatabaseSync,
  key: ObjectKey,
  body: Uint8Array,
  request: PutOptions,
  now: number,
): WriteResult {
  const id = keyBytes(key);
  const current = currentETag(database, id);
  if (request.mode === 'create') {
    if (current !== undefined) return { conflict: 'exists' };
  } else if (request.mode !== 'overwrite' && current !== request.mode.ifMatch) {
    return { conflict: current === undefined ? 'missing' : 'changed' };
  }
  const late = lateness(request.sendBy);
  if (late !== undefined) throw late;
  const etag = `"${randomBytes(16).toString('hex')}"` as ETag;
  database
    .prepare('INSERT OR REPLACE INTO objects (key, etag, last_modified, body) VALUES (?, ?, ?, ?)')
    .run(id, etag, now, body);
  return { etag };
}

function deleteObject(database: DatabaseSync, target: DeleteTarget): readonly DeleteFailure[] {
  const id = keyBytes(target.key);
  if (target.ifMatch !== undefined) {
    const current = currentETag(database, id);
    if (current !== target.ifMatch) {
      const conflict = current === undefined ? 'missing' : 'changed';
      return [{ key: target.key, conflict }];
    }
  }
  database.prepare('DELETE FROM objects WHERE key = ?').run(id);
  return [];
}

function currentETag(database: DatabaseSync, id: Uint8Array): ETag | undefined {
  const row = database.prepare('SELECT etag FROM objects WHERE key = ?').get(id);
  return (row as Pick<ObjectRow, 'etag'> | undefined)?.etag;
}
