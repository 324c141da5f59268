import { DatabaseSync } from 'node:sqlite';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import {
  breaksConnection,
  cannotBeOpened,
  isBusy,
  isDiskFull,
  isFull,
  leavesCommitUnknown,
  noRoomToKeep,
  sqliteFailure,
} from '../../../../src/store/sqlite/errors.ts';

describe('sqliteFailure', () => {
  it('names a full disk and promises that nothing is lost', () => {
    const failure = sqliteFailure(fullDatabase());
    expect(failure).toMatchObject({ code: 'unavailable', retry: 'later' });
    expect(failure.message).toContain('full');
  });

  it('says that an object is too large for SQLite, by what SQLite itself throws', () => {
    const error = failureOf((database) => database.exec('SELECT zeroblob(2000000000)'));
    expect(error).toMatchObject({ message: 'string or blob too big' });
    expect(sqliteFailure(error)).toMatchObject({ code: 'limit_exceeded', cause: error });
  });

  it('keeps the error of SQLite as the cause, out of the message', () => {
    const cause = failureOf((database) => database.exec('SELECT * FROM "secret name"'));
    const failure = sqliteFailure(cause);
    expect(failure.cause).toBe(cause);
    expect(failure.message).not.toContain('secret name');
  });

  const LOCKED = ['unavailable', 'stayed locked', {}] as const;
  const FULL = ['unavailable', 'is full', { reason: 'disk_full' }] as const;
  const FORBIDDEN = ['access_denied', 'may not be written', {}] as const;
  const NOT_OPENED = ['misconfigured', 'cannot be opened', {}] as const;
  const FAILED = ['unavailable', 'check the disk', {}] as const;

  it.each([
    [3, ...FORBIDDEN],
    [5, ...LOCKED],
    [6, ...LOCKED],
    [8, ...FORBIDDEN],
    [8 | (3 << 8), 'access_denied', 'taken back from its -journal', {}],
    [8 | (4 << 8), 'unavailable', 'moved, replaced or deleted', {}],
    [8 | (5 << 8), ...FORBIDDEN],
    [10, ...FAILED],
    [11, 'misconfigured', 'is damaged', {}],
    [13, ...FULL],
    [14, ...NOT_OPENED],
    [18, 'limit_exceeded', 'larger than SQLite stores', { limit: 'object_bytes' }],
    [23, ...FORBIDDEN],
    [26, 'misconfigured', 'not a SQLite database', {}],
    [1, ...FAILED],
    ['ENOSPC', ...FULL],
    ['EDQUOT', ...FULL],
    ['EACCES', ...FORBIDDEN],
    ['EPERM', ...FORBIDDEN],
    ['EROFS', ...FORBIDDEN],
    ['ENOENT', ...NOT_OPENED],
    ['ENOTDIR', ...NOT_OPENED],
    ['EISDIR', ...NOT_OPENED],
    ['ELOOP', ...NOT_OPENED],
    ['ENAMETOOLONG', ...NOT_OPENED],
    ['EMFILE', ...FAILED],
  ])('makes of the code %s the error %s: %s', (code, kind, words, details) => {
    const error = new Error('secret', { cause: 'secret' });
    const failures =
      typeof code === 'string'
        ? [{ code }]
        : [{ errcode: code }, { errcode: code, code: 'ERR_SQLITE_ERROR' }];
    for (const given of failures) {
      const failure = sqliteFailure(Object.assign(error, given));
      expect(failure).toMatchObject({ code: kind, message: expect.stringContaining(words), details });
      expect(Object.keys(failure.details)).toEqual(Object.keys(details));
      expect(failure.message).not.toContain('secret');
    }
  });

  it('passes on an error of its own, and keeps of one of the file system no more than its code', () => {
    const own = new MemoryError('aborted', 'no');
    expect(sqliteFailure(own)).toBe(own);
    const error = Object.assign(new Error("EACCES: '/secret/path'"), {
      code: 'EACCES',
      path: '/secret/path',
    });
    const { cause } = sqliteFailure(error);
    expect(inspect(cause)).toContain('EACCES');
    expect(inspect(cause)).not.toContain('secret');
  });

  it('makes of anything else a failure of the disk', () => {
    for (const error of ['full', undefined, new Error('no'), { errcode: 13 }, { code: 'ERR_SQLITE_ERROR' }])
      expect(sqliteFailure(error)).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('check'),
      });
    const unnamed = Object.assign(new Error('database is locked'), { errcode: '5' });
    expect(isBusy(unnamed)).toBe(false);
  });
});

describe('of the codes of SQLite', () => {
  const failed = (errcode: number): unknown => Object.assign(new Error('no'), { errcode });
  const CODES = [
    1,
    3,
    5,
    6,
    8,
    10,
    11,
    13,
    14,
    18,
    23,
    26,
    5 | (2 << 8),
    13 | (1 << 8),
    10 | (4 << 8),
    8 | (4 << 8),
  ];

  it.each([
    ['a lock', isBusy, [5, 6, 5 | (2 << 8)]],
    ['a full disk', isFull, [13, 13 | (1 << 8)]],
    ['a connection that is opened again', breaksConnection, [10, 11, 26, 10 | (4 << 8), 8 | (4 << 8)]],
    [
      'a commit whose outcome is known',
      (error: unknown) => !leavesCommitUnknown(error),
      [...[5, 6, 8, 13, 5 | (2 << 8), 13 | (1 << 8), 8 | (4 << 8)]],
    ],
  ] as const)('%s is told by its own alone', (_, tells, codes) => {
    expect(CODES.filter((code) => tells(failed(code)))).toEqual(codes);
    expect(tells(new Error('no'))).toBe(false);
  });

  it('an error that is none of them leaves it open whether a commit took effect', () => {
    for (const error of [undefined, new Error('no'), { errcode: 5 }])
      expect(leavesCommitUnknown(error)).toBe(true);
  });

  it('a full disk is known again by the error that was made of it', () => {
    const full = sqliteFailure(failed(13));
    expect([full, noRoomToKeep(full)].map(isDiskFull)).toEqual([true, true]);
    expect([sqliteFailure(failed(10)), failed(13), cannotBeOpened()].map(isDiskFull)).toEqual([
      false,
      false,
      false,
    ]);
    expect(noRoomToKeep(full)).toMatchObject({ code: 'unavailable', cause: full });
    expect(cannotBeOpened(full)).toMatchObject({ code: 'misconfigured', cause: full });
  });
});

describe("SQLite's words without its code, as Deno brings them,", () => {
  const said = (message: string): unknown => Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR' });

  it.each([
    ['database is locked', 'unavailable', /locked/],
    ['database or disk is full', 'unavailable', /full/],
    ['attempt to write a readonly database', 'access_denied', /may not be written/],
    ['unable to open database file: /secret/path', 'misconfigured', /cannot be opened/],
    ['file is not a database', 'misconfigured', /not a SQLite database/],
    ['database disk image is malformed', 'misconfigured', /damaged/],
    ['string or blob too big', 'limit_exceeded', /larger than SQLite stores/],
    ['access permission denied', 'access_denied', /may not be written/],
    ['not authorized', 'access_denied', /may not be written/],
    ['database table is locked', 'unavailable', /locked/],
    ['near "secret": syntax error', 'unavailable', /check the disk/],
  ])('%s is the failure that its code would be', (message, code, words) => {
    const failure = sqliteFailure(said(message));
    expect(failure).toMatchObject({ code, message: expect.stringMatching(words) });
    expect(failure.message).not.toContain('secret');
  });

  it('are those of a lock, and no code is told of an error that is not SQLite’s', () => {
    expect(isBusy(said('database is locked'))).toBe(true);
    expect(leavesCommitUnknown(said('database is locked'))).toBe(false);
    expect(leavesCommitUnknown(said('disk I/O error'))).toBe(true);
    expect(isBusy(new Error('database is locked'))).toBe(false);
  });
});

it('a full disk that SQLite tells of refuses a commit beforehand, and is no lock', () => {
  expect(leavesCommitUnknown(fullDatabase())).toBe(false);
  expect(isBusy(fullDatabase())).toBe(false);
});

function fullDatabase(): unknown {
  return failureOf((database) => {
    database.exec('CREATE TABLE filling (body BLOB); PRAGMA max_page_count = 3');
    database.exec('INSERT INTO filling VALUES (zeroblob(100000))');
  });
}

function failureOf(run: (database: DatabaseSync) => void): unknown {
  const database = new DatabaseSync(':memory:');
  try {
    run(database);
  } catch (error) {
    return error;
  } finally {
    database.close();
  }
  throw new Error('SQLite accepted everything');
}
