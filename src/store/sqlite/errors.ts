import { hasReason, MemoryError } from '../../errors.ts';
import { FULL as DISK_FULL, fileCodeOf, redactedFileCause } from '../failures.ts';

// Primary result codes of SQLite (the low byte of an extended code).
const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const TOOBIG = 18;
const AUTH = 23;
const NOTADB = 26;

const READONLY_DBMOVED = READONLY | (4 << 8);
const READONLY_ROLLBACK = READONLY | (3 << 8);

/** The words in which SQLite itself names a code. Most errors of Deno's `node:sqlite` carry only these. */
const WORDS: readonly (readonly [string, number])[] = [
  ['database is locked', BUSY],
  ['database table is locked', LOCKED],
  ['access permission denied', PERM],
  ['attempt to write a readonly database', READONLY],
  ['disk I/O error', IOERR],
  ['database disk image is malformed', CORRUPT],
  ['database or disk is full', FULL],
  ['unable to open database file', CANTOPEN],
  ['string or blob too big', TOOBIG],
  ['not authorized', AUTH],
  ['file is not a database', NOTADB],
];
const UNNAMED = 1;

/** Finds the extended result code of an error that `node:sqlite` threw; undefined for every other error. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('errcode' in error) return typeof error.errcode === 'number' ? error.errcode : undefined;
  if (!('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return undefined;
  return WORDS.find(([words]) => error.message.startsWith(words))?.[1] ?? UNNAMED;
}

function primaryCode(error: unknown): number | undefined {
  const code = resultCode(error);
  return code === undefined ? undefined : code & 0xff;
}

/** Tells whether another connection holds the lock; the statement had no effect then. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
}

/** Tells whether the disk is full, or the file may grow no further; the statement had no effect then. */
export function isFull(error: unknown): boolean {
  return primaryCode(error) === FULL;
}

/** Tells whether `sqliteFailure` made the error of a full disk. */
export function isDiskFull(error: unknown): boolean {
  return hasReason(error, DISK_FULL);
}

/** Makes the error of a delete that found no room on a full disk for the versions it must keep. */
export function noRoomToKeep(cause: unknown): MemoryError {
  return new MemoryError(
    'unavailable',
    'The disk that holds the SQLite file is full, and what is kept of the deleted files finds no room beside them: free as much as they take, or let "sealed-memory expire" delete what the history has longest, by fewer SEALED_MEMORY_HISTORY_DAYS. Nothing that was stored is lost, and nothing was deleted.',
    { cause, details: { reason: DISK_FULL } },
  );
}

/** Tells whether the connection can no longer be trusted: it is opened again for the next verb. */
export function breaksConnection(error: unknown): boolean {
  const code = primaryCode(error);
  return code === IOERR || code === CORRUPT || code === NOTADB || resultCode(error) === READONLY_DBMOVED;
}

/** Tells whether a failed COMMIT may have taken effect all the same. A full disk and a lock refuse it beforehand. */
export function leavesCommitUnknown(error: unknown): boolean {
  const code = primaryCode(error);
  return code !== BUSY && code !== LOCKED && code !== FULL && code !== READONLY;
}

export function cannotBeOpened(cause?: unknown): MemoryError {
  return new MemoryError(
    'misconfigured',
    'The SQLite file cannot be opened: its path must name a file in a directory that exists; create the directory or correct the path.',
    { cause },
  );
}

/** Tells a failure of SQLite, or of the file below it, in the operator's words. */
export function sqliteFailure(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const cause = resultCode(error) === undefined ? redactedFileCause(error) : error;
  if (resultCode(error) === READONLY_DBMOVED) {
    return new MemoryError('unavailable', 'The SQLite file was moved, replaced or deleted while in use.', {
      cause,
    });
  }
  if (resultCode(error) === READONLY_ROLLBACK) {
    return new MemoryError(
      'access_denied',
      'A write to the SQLite file was cut off, and is taken back from its -journal by the first command that may write to both: run one, such as "sealed-memory verify" with this file as the store.',
      { cause },
    );
  }
  switch (primaryCode(error) ?? fileCodeOf(error)) {
    case BUSY:
    case LOCKED:
      return new MemoryError(
        'unavailable',
        'The SQLite file stayed locked by another process: try again once that has ended.',
        {
          cause,
        },
      );
    case FULL:
    case 'ENOSPC':
    case 'EDQUOT':
      return new MemoryError(
        'unavailable',
        'The disk that holds the SQLite file is full: free some space. Nothing that was stored is lost.',
        { cause, details: { reason: DISK_FULL } },
      );
    case READONLY:
    case PERM:
    case AUTH:
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new MemoryError(
        'access_denied',
        'The SQLite file may not be written: give this user write access to the file and its directory.',
        { cause },
      );
    case CANTOPEN:
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EISDIR':
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return cannotBeOpened(cause);
    case NOTADB:
      return new MemoryError(
        'misconfigured',
        'The configured path is not a SQLite database: correct the path.',
        {
          cause,
        },
      );
    case CORRUPT:
      return new MemoryError(
        'misconfigured',
        'The SQLite file is damaged, or was copied without its -journal, or while it was written. Put the -journal of that moment beside it, or keep it and take a backup; "sealed-memory backup" makes whole ones.',
        { cause },
      );
    case TOOBIG:
      return new MemoryError('limit_exceeded', 'The object is larger than SQLite stores.', {
        cause,
        details: { limit: 'object_bytes' },
      });
    default:
      return new MemoryError('unavailable', 'SQLite could not read or write its file: check the disk.', {
        cause,
      });
  }
}
