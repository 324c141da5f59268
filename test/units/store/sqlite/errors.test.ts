import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { isBusy, leavesCommitUnknown, sqliteFailure } from '../../../../src/store/sqlite/errors.ts';

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

  it.each(['ENOSPC', 'EDQUOT'])('takes %s for a full disk', (code) => {
    expect(sqliteFailure(Object.assign(new Error(code), { code }))).toMatchObject({ code: 'unavailable' });
  });

  it.each(['EACCES', 'EPERM', 'EROFS'])('takes %s for missing permissions', (code) => {
    expect(sqliteFailure(Object.assign(new Error(code), { code }))).toMatchObject({ code: 'access_denied' });
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

describe('leavesCommitUnknown', () => {
  it('is false for a full disk and a lock, which refuse beforehand', () => {
    expect(leavesCommitUnknown(fullDatabase())).toBe(false);
    expect(isBusy(fullDatabase())).toBe(false);
  });

  it.each([
    ['a lock', 5],
    ['a lock of the same process', 6],
    ['a file that may not be written', 8],
    ['a full disk', 13],
  ])('is false for %s, whatever SQLite says besides', (_, code) => {
    for (const errcode of [code, code | (1 << 8)]) {
      expect(leavesCommitUnknown(Object.assign(new Error('refused'), { errcode }))).toBe(false);
    }
  });

  it('is true for an I/O error', () => {
    expect(leavesCommitUnknown(Object.assign(new Error('disk I/O error'), { errcode: 10 | (4 << 8) }))).toBe(
      true,
    );
  });
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
