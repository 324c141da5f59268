import type { DatabaseSync } from 'node:sqlite';

import { hasCode, MemoryError } from '../../errors.ts';
import { type Pause, pause, throwIfAborted, untilAborted } from '../../time.ts';
import { beginWait } from '../../waits.ts';
import { absolute, databaseFile, makeDatabaseFile } from './database-file.ts';
import { breaksConnection, isBusy, isFull, leavesCommitUnknown, sqliteFailure } from './errors.ts';
import { type JoinedWrite, joinWrites, type SqliteWork } from './joined-writes.ts';
import { loadNodeSqlite } from './node-sqlite.ts';
import { inTurn } from './operation-queue.ts';
import { type DiskReserve, diskReserve, JOURNAL_BYTES } from './reserve.ts';
import { keepStatements, type Statements } from './statements.ts';

const { DatabaseSync: Database } = loadNodeSqlite();

/** Marks the file as ours: "SLMM". */
const APPLICATION_ID = 0x534c4d4d;
const SCHEMA_VERSION = 1;

/** SQLite's name for a database without a file. */
const IN_MEMORY = ':memory:';

/** The time that SQLite itself may block the event loop for a lock, in milliseconds, before the asynchronous retry. */
const BLOCKING_WAIT_MS = 10;
const MAX_PAUSE_MS = 50;
const BEGIN_READING = 'BEGIN';
const BEGIN_WRITING = 'BEGIN IMMEDIATE';
/** The most pages that SQLite has numbers for. */
const MOST_PAGES = 4_294_967_294;

// `body` comes last so that listing never reads the pages it spills over.
const SCHEMA = `
  CREATE TABLE objects (
    key BLOB PRIMARY KEY NOT NULL,
    etag TEXT NOT NULL,
    last_modified INTEGER NOT NULL,
    body BLOB NOT NULL
  );
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

interface ConnectionOptions {
  readonly path: string;
  /** The file must exist. The connection changes neither it nor anything beside it. */
  readonly readOnly?: boolean;
  /** The file must be a store already: an empty one is refused. */
  readonly mustExist?: boolean;
  /** Bound on waiting for a lock, in milliseconds. */
  readonly busyTimeoutMs: number;
  readonly pause?: Pause;
}

interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** Roughly how many bytes are written. */
  readonly bytes?: number;
  /**
   * True where, on a full disk, freed content may stay in the file until its pages are used again, if there is no other
   * way.
   */
  readonly mayKeepFreed?: boolean;
  /** True where, on a full disk, the file may grow by the reserve, except for the part that every journal needs. */
  readonly mayUseReserve?: boolean;
}

interface SqliteConnection {
  /** Runs `work` on one consistent state of the file. */
  read<T>(work: (database: Statements) => T, signal?: AbortSignal): Promise<T>;
  /**
   * Runs `work` in a durable transaction, which it may share with other writes that wait; `outcome_unknown` when the
   * file system failed at its COMMIT. On a full disk it runs once more, with the reserve released: a change that finds
   * room within the file then comes through. No other write makes the file larger before the reserve is whole again.
   */
  write<T>(work: SqliteWork<T>, options?: WriteOptions): Promise<T>;
  close(): void;
}

/**
 * Makes a connection. Its first use opens the file; after the file failed or was replaced, the next use opens it anew.
 */
export function createSqliteConnection(options: ConnectionOptions): SqliteConnection {
  const wait = options.pause ?? pause;
  // The working directory may be another one when the file is opened, or opened again.
  const path = options.path === IN_MEMORY ? IN_MEMORY : absolute(options.path);
  let reserve: DiskReserve | undefined;
  let database: DatabaseSync | undefined;
  let statements: Statements | undefined;
  /** The pages that `database` may have; undefined: no bound. */
  let growsTo: number | undefined;
  let closed = false;

  const discard = (): void => {
    const last = database;
    database = undefined;
    statements = undefined;
    try {
      last?.close();
    } catch {
      // The connection had failed already; nothing is lost with it.
    }
  };

  const opened = (): DatabaseSync => {
    if (database !== undefined) return database;
    const file = path === IN_MEMORY ? path : databaseFile(path);
    if (options.readOnly === true) {
      database = openForReading(file);
    } else {
      database = openDatabase(file, options);
      reserve = file === IN_MEMORY ? undefined : diskReserve(file);
      growsTo = undefined;
    }
    return database;
  };

  const attempt = <T>(begin: string, work: (database: Statements) => T): T => {
    try {
      const kept = statements ?? keepStatements(opened());
      statements = kept;
      return transact(kept, begin, work);
    } catch (error) {
      if (breaksConnection(error) || isBroken(error)) discard();
      throw error;
    }
  };

  /**
   * Bounds the growth of the file; called within a transaction. @param pages that the file may grow by; undefined: no
   * bound.
   */
  const boundGrowth = (database: Statements, pages: number | undefined): void => {
    const bound = pages === undefined ? undefined : Number(pragma(database, 'page_count')) + pages;
    if (bound === growsTo) return;
    database.exec(`PRAGMA max_page_count = ${bound ?? MOST_PAGES}`);
    growsTo = bound;
  };

  /** Completes the reserve first, under the lock: no process takes room that another has just released for a write. */
  const attemptAsUsual = <T>(work: SqliteWork<T>): T =>
    attempt(BEGIN_WRITING, (database) => {
      boundGrowth(database, reserve === undefined || reserve.take() ? undefined : 0);
      return work(database, { keepsFreed: false });
    });

  const attemptWrite = <T>(write: JoinedWrite<T>): T => {
    try {
      return attemptAsUsual(write.work);
    } catch (error) {
      if (!isFull(error) || reserve === undefined) throw error;
    }
    return attemptOnReserve(reserve, write);
  };

  /** Runs a write with the reserve released, and holds the lock until the reserve is taken again. */
  const attemptOnReserve = <T>(room: DiskReserve, write: JoinedWrite<T>): T => {
    let released: number | undefined;
    const attemptOnce = (keepsFreed: boolean): T =>
      attempt(BEGIN_WRITING, (database) => {
        released ??= room.release();
        const spare = write.mayUseReserve ? Math.max(0, released - JOURNAL_BYTES) : 0;
        boundGrowth(database, Math.floor(spare / Number(pragma(database, 'page_size'))));
        if (keepsFreed) database.exec('PRAGMA secure_delete = FAST');
        return write.work(database, { keepsFreed });
      });
    try {
      // The lock must outlast the transaction.
      opened().exec('PRAGMA locking_mode = EXCLUSIVE');
      try {
        return attemptOnce(false);
      } catch (error) {
        if (!isFull(error) || !write.mayKeepFreed) throw error;
        // Overwritten pages have to be journalled, which for a large object takes more than the reserve.
        return attemptOnce(true);
      }
    } finally {
      // A connection that broke has lost the lock: then the next write takes the reserve.
      if (released !== undefined && database !== undefined) room.take();
      // The lock goes with the connection, and the next connection works as usual again.
      discard();
    }
  };

  /**
   * Repeats attempts until the lock is free. @param attemptInTurn gets a function, which it calls directly before each
   * attempt.
   */
  const run = async <T>(
    attemptInTurn: (begin: () => void) => T | Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    // Set at the first attempt: waiting for a turn is not waiting for a lock.
    let deadline = Number.POSITIVE_INFINITY;
    let tell: (() => void) | undefined;
    const begin = (): void => {
      throwIfAborted(signal);
      if (closed) throw new MemoryError('misconfigured', 'The object store was used after it was closed.');
      deadline = Math.min(deadline, performance.now() + options.busyTimeoutMs);
    };
    for (let round = 1; ; round++) {
      try {
        const attempted = attemptInTurn(begin);
        return attempted instanceof Promise ? await untilAborted(attempted, signal) : attempted;
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw sqliteFailure(error);
      }
      tell ??= beginWait('lock', { ms: options.busyTimeoutMs, clock: () => performance.now() });
      tell();
      await wait(Math.random() * Math.min(MAX_PAUSE_MS, 2 ** round), signal);
    }
  };

  const join = joinWrites({
    together: attemptAsUsual,
    alone: attemptWrite,
  });

  return {
    read: (work, signal) => run((begin) => beginInTurn(begin, () => attempt(BEGIN_READING, work)), signal),
    write: (work, { signal, bytes = 0, mayKeepFreed = false, mayUseReserve = false } = {}) =>
      run((begin) => {
        const write = { begin, work, bytes, mayKeepFreed, mayUseReserve };
        // Without a file there is no disk to wait for.
        return path === IN_MEMORY ? beginInTurn(begin, () => attemptWrite(write)) : join(write);
      }, signal),
    close: () => {
      closed = true;
      discard();
    },
  };
}

function beginInTurn<T>(begin: () => void, attemptOnce: () => T): T | Promise<T> {
  return inTurn(() => {
    begin();
    return attemptOnce();
  });
}

function transact<T>(database: Statements, begin: string, work: (database: Statements) => T): T {
  database.exec(begin);
  let result: T;
  try {
    result = work(database);
  } catch (error) {
    rollBack(database);
    throw error;
  }
  try {
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    if (begin === BEGIN_READING || !leavesCommitUnknown(error)) throw error;
    throw new MemoryError('outcome_unknown', 'The file system failed while SQLite committed.', {
      cause: error,
    });
  }
  return result;
}

function rollBack(database: Statements): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // SQLite has already rolled back, or the next opening does it from the journal.
  }
}

function isBroken(error: unknown): boolean {
  return hasCode(error, 'outcome_unknown');
}

/**
 * Opens a store with a rollback journal rather than a write-ahead log: acknowledged writes lie in the one file and its
 * -journal, and SQLite notices when the file is replaced. TRUNCATE syncs the end of a transaction, DELETE would not.
 */
function openDatabase(file: string, options: Pick<ConnectionOptions, 'mustExist'>): DatabaseSync {
  if (file !== IN_MEMORY) makeDatabaseFile(file);
  const database = makeDatabase(file, options);
  try {
    database.exec('PRAGMA journal_mode = TRUNCATE');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a store, or makes one of an empty file where it may. Commits are on the disk. */
export function makeDatabase(
  file: string,
  { mustExist = false }: Pick<ConnectionOptions, 'mustExist'> = {},
): DatabaseSync {
  const database = new Database(file);
  try {
    database.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}`);
    database.exec('PRAGMA synchronous = FULL');
    // Overwritten and deleted content, such as the keys of a destroyed tenant, leaves the file.
    database.exec('PRAGMA secure_delete = ON');
    if (transact(database, BEGIN_READING, isNew)) {
      if (mustExist) throw emptyFile();
      transact(database, BEGIN_WRITING, initialize);
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function openForReading(file: string): DatabaseSync {
  const database = new Database(file, { readOnly: true });
  try {
    database.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}`);
    if (transact(database, BEGIN_READING, isNew)) throw emptyFile();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function emptyFile(): MemoryError {
  return new MemoryError('misconfigured', 'The SQLite file is empty.');
}

function initialize(database: Statements): void {
  if (isNew(database)) database.exec(SCHEMA);
}

/**
 * Tells whether a file is empty. Asked within a transaction: another process may be making the file a store at this
 * moment.
 */
function isNew(database: Statements): boolean {
  const application = pragma(database, 'application_id');
  const version = pragma(database, 'user_version');
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (application === 0 && version === 0 && isEmpty) return true;
  if (application !== APPLICATION_ID) {
    throw new MemoryError('misconfigured', 'The SQLite file belongs to another program: correct the path.');
  }
  if (version !== SCHEMA_VERSION) {
    throw new MemoryError('unsupported_format', 'The SQLite file was made by a newer version.');
  }
  return false;
}

function pragma(database: Statements, name: string): unknown {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}
