import { randomBytes } from 'node:crypto';
import { MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import type { Pause } from '../../time.ts';
import {
  type ChangeResult,
  type Changes,
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
  type PutTarget,
  type SendBound,
  type StoredObject,
  type WriteResult,
} from '../port.ts';
import { createSqliteConnection } from './connection.ts';
import { isDiskFull, noRoomToKeep } from './errors.ts';
import { keyBytes, listingStart, readPage } from './listing.ts';
import type { Statements } from './statements.ts';

interface SqliteStoreOptions {
  /** A file in an existing directory, or `:memory:` for a store that ends with the process. */
  readonly path: string;
  /** The file must exist, and is never written: a verb that would write is `access_denied`. */
  readonly readOnly?: boolean;
  /** The time that a verb waits for other processes before `unavailable`, in milliseconds; 10,000 unless given. */
  readonly busyTimeoutMs?: number;
  readonly clock?: () => number;
  readonly pause?: Pause;
}

/**
 * Opens the embedded store: S3's semantics in one SQLite file, safe for many processes on a local disk. It is guarded:
 * a delete with `ifMatch` is atomic. The first verb opens the file, or makes it with mode 0600.
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
      connection.write((database) => putObject(database, { ...request, key, body }, clock()), {
        signal: request.signal,
        bytes: body.length,
      }),
    delete: (targets, request) => deleteObjects(targets, request),
    changeAll,
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
    // A delete of one object needs less room.
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
        refuseLate(request?.sendBy);
        return targets.flatMap((target) => deleteObject(database, target));
      },
      { signal: request?.signal, mayKeepFreed: true },
    );
  }

  async function changeAll(
    changes: Changes,
    request: Pick<PutOptions, 'signal' | 'sendBy'> = {},
  ): Promise<ChangeResult> {
    const { puts, deletes, forDeletes = deletes.length > 0 } = changes;
    try {
      return await connection.write(
        (database, { keepsFreed }) =>
          makeChanges(database, { ...changes, ...request, putsFirst: keepsFreed, now: clock() }),
        {
          signal: request.signal,
          bytes: puts.reduce((sum, { body }) => sum + body.length, 0),
          mayKeepFreed: deletes.length > 0,
          mayUseReserve: forDeletes,
        },
      );
    } catch (error) {
      throw deletes.length > 0 && isDiskFull(error) ? noRoomToKeep(error) : error;
    }
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
  /** null: the body was not read, because it is too large or the caller does not ask for it. */
  readonly body: Uint8Array | null;
}

function selectObject(
  database: Statements,
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
  database: Statements,
  { sendBy, ...target }: PutTarget & Pick<PutOptions, 'sendBy'>,
  now: number,
): WriteResult {
  const conflict = refusalOf(database, target);
  if (conflict !== undefined) return { conflict };
  refuseLate(sendBy);
  return { etag: writeObject(database, target, now) };
}

/** Makes changes as one, once all conditions hold. */
function makeChanges(
  database: Statements,
  {
    puts,
    deletes,
    sendBy,
    putsFirst,
    now,
  }: Changes & Pick<PutOptions, 'sendBy'> & { readonly putsFirst: boolean; readonly now: number },
): ChangeResult {
  const conflicts = [
    ...puts.flatMap((target) => named(target.key, refusalOf(database, target))),
    ...deletes.flatMap((target) => named(target.key, conflictOf(database, target))),
  ];
  if (conflicts.length > 0) return { conflicts };
  refuseLate(sendBy);
  const put = (): readonly ETag[] => puts.map((target) => writeObject(database, target, now));
  const early = putsFirst ? put() : undefined;
  for (const target of deletes) eraseObject(database, target);
  return { etags: early ?? put() };
}

function named<C>(key: ObjectKey, conflict: C | undefined): readonly { key: ObjectKey; conflict: C }[] {
  return conflict === undefined ? [] : [{ key, conflict }];
}

function refusalOf(
  database: Statements,
  { key, mode }: Pick<PutTarget, 'key' | 'mode'>,
): 'exists' | 'changed' | 'missing' | undefined {
  if (mode === 'overwrite') return undefined;
  if (mode !== 'create') return conflictOf(database, { key, ifMatch: mode.ifMatch });
  return currentETag(database, keyBytes(key)) === undefined ? undefined : 'exists';
}

/** Refuses a change past its bound. @throws MemoryError that `isTooLate` knows. */
function refuseLate(sendBy: SendBound | undefined): void {
  const late = lateness(sendBy);
  if (late !== undefined) throw late;
}

function writeObject(database: Statements, { key, body }: PutTarget, now: number): ETag {
  const etag = `"${randomBytes(16).toString('hex')}"` as ETag;
  database
    .prepare('INSERT OR REPLACE INTO objects (key, etag, last_modified, body) VALUES (?, ?, ?, ?)')
    .run(keyBytes(key), etag, now, body);
  return etag;
}

function deleteObject(database: Statements, target: DeleteTarget): readonly DeleteFailure[] {
  const conflicts = named(target.key, conflictOf(database, target));
  if (conflicts.length === 0) eraseObject(database, target);
  return conflicts;
}

function conflictOf(database: Statements, { key, ifMatch }: DeleteTarget): 'changed' | 'missing' | undefined {
  if (ifMatch === undefined) return undefined;
  const current = currentETag(database, keyBytes(key));
  if (current === ifMatch) return undefined;
  return current === undefined ? 'missing' : 'changed';
}

function eraseObject(database: Statements, { key }: DeleteTarget): void {
  database.prepare('DELETE FROM objects WHERE key = ?').run(keyBytes(key));
}

function currentETag(database: Statements, id: Uint8Array): ETag | undefined {
  const row = database.prepare('SELECT etag FROM objects WHERE key = ?').get(id);
  return (row as Pick<ObjectRow, 'etag'> | undefined)?.etag;
}
