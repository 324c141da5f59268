import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { createSqliteConnection } from '../../../../src/store/sqlite/connection.ts';
import type { Statements } from '../../../../src/store/sqlite/statements.ts';
import { type LongWait, onLongWait } from '../../../../src/waits.ts';

describe('a COMMIT that fails for an unknown reason', () => {
  let folder: string;
  let connection: ReturnType<typeof createSqliteConnection>;
  let used: Statements[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sqlite-connection-'));
    connection = createSqliteConnection({ path: join(folder, 'memory.db'), busyTimeoutMs: 1_000 });
    used = [];
  });
  afterEach(() => {
    connection.close();
    rmSync(folder, { recursive: true });
  });
  const note = (database: Statements): number => used.push(database);
  /** Work behind which there is no transaction left to commit. */
  const spoil = (database: Statements): void => {
    note(database);
    database.exec('COMMIT');
  };

  const full = (): Error => Object.assign(new Error('full, says the test'), { errcode: 13 });
  const reserved = (): number | undefined =>
    statSync(join(folder, 'memory.db-reserve'), { throwIfNoEntry: false })?.size;

  it('leaves the outcome of a write unknown, and the connection is opened again', async () => {
    await expect(connection.write(spoil)).rejects.toMatchObject({ code: 'outcome_unknown' });
    await connection.read(note);
    const [before, after] = used;
    expect(Object.is(before, after)).toBe(false);
    expect(() => before?.exec('SELECT 1')).toThrow('not open');
  });

  it('leaves the reserve to the next write, because the lock is gone with the connection', async () => {
    await connection.write(() => {});
    const whole = reserved();
    const spoilOnReserve = (database: Statements): void => {
      if (note(database) === 1) throw full();
      spoil(database);
    };
    await expect(connection.write(spoilOnReserve)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect([whole, reserved()]).toEqual([1_310_720, undefined]);
    await connection.write(() => {});
    expect(reserved()).toBe(whole);
  });

  it('takes the reserve again behind work that came through on it, and gives up the lock', async () => {
    const onReserve = (database: Statements): void => {
      if (note(database) === 1) throw full();
      expect(reserved()).toBeUndefined();
    };
    await connection.write(onReserve);
    expect(used).toHaveLength(2);
    expect(reserved()).toBe(1_310_720);
    const other = createSqliteConnection({ path: join(folder, 'memory.db'), busyTimeoutMs: 0 });
    try {
      await other.write(() => {});
    } finally {
      other.close();
    }
  });

  it('leaves the reserve of another process alone that has the lock', async () => {
    const path = join(folder, 'memory.db');
    connection.close();
    connection = createSqliteConnection({ path, busyTimeoutMs: 0 });
    await connection.write(() => {});
    const other = new DatabaseSync(path);
    const { exec } = DatabaseSync.prototype;
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql,
    ) {
      exec.call(this, sql);
      if (!sql.includes('locking_mode')) return;
      exec.call(other, 'BEGIN IMMEDIATE');
      rmSync(`${path}-reserve`);
    });
    const failAsFull = (): void => {
      throw full();
    };
    try {
      await expect(connection.write(failAsFull)).rejects.toMatchObject({ code: 'unavailable' });
    } finally {
      spy.mockRestore();
      other.close();
    }
    expect(existsSync(`${path}-reserve`)).toBe(false);
  });

  it('leaves nothing unknown of a read', async () => {
    await expect(connection.read(spoil)).rejects.toMatchObject({ code: 'unavailable' });
    await connection.read(note);
    expect(used).toHaveLength(2);
  });
});

describe('work that throws', () => {
  it('leaves nothing written, and no transaction on the connection, which the next verb uses', async () => {
    const connection = createSqliteConnection({ path: ':memory:', busyTimeoutMs: 1_000 });
    const count = (database: Statements): unknown =>
      database.prepare('SELECT count(*) AS count FROM made').get()?.['count'];
    try {
      await connection.write((database) => database.exec('CREATE TABLE made (n INTEGER)'));
      const thrown = connection.write((database) => {
        database.exec('INSERT INTO made VALUES (1)');
        throw new MemoryError('version_conflict', 'thrown by the work');
      });
      await expect(thrown).rejects.toMatchObject({ code: 'version_conflict' });
      expect(await connection.read(count)).toBe(0);
      const read = connection.read(() => {
        throw new MemoryError('not_found', 'thrown by the work');
      });
      await expect(read).rejects.toMatchObject({ code: 'not_found' });
      await connection.write((database) => database.exec('INSERT INTO made VALUES (2)'));
      expect(await connection.read(count)).toBe(1);
    } finally {
      connection.close();
    }
  });
});

describe('a statement', () => {
  it('is compiled once a connection, and answers for the values of each call', async () => {
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    const connection = createSqliteConnection({ path: ':memory:', busyTimeoutMs: 1_000 });
    const half = (value: number): Promise<unknown> =>
      connection.read((database) => database.prepare('SELECT ? / 2 AS half').get(value)?.['half']);
    try {
      expect([await half(2), await half(4), await half(6)]).toEqual([1, 2, 3]);
      expect(prepare.mock.calls.filter(([sql]) => sql.includes('half'))).toHaveLength(1);
    } finally {
      prepare.mockRestore();
      connection.close();
    }
  });
});

describe('a lock of another process', () => {
  it('is told of once, with the time at which the wait for it ends', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-connection-'));
    const path = join(folder, 'memory.db');
    const connection = createSqliteConnection({ path, busyTimeoutMs: 1_300 });
    await connection.read(() => {});
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const told: LongWait[] = [];
    const end = onLongWait((wait) => told.push(wait));
    try {
      await expect(connection.write(() => {})).rejects.toMatchObject({ code: 'unavailable' });
      expect(told).toEqual([{ for: 'lock', leftMs: expect.any(Number) }]);
      expect(told[0]?.leftMs).toBeLessThanOrEqual(300);
    } finally {
      end();
      other.close();
      connection.close();
      rmSync(folder, { recursive: true });
    }
  });
});

it('a lock is asked for again after pauses that grow to 50 ms', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-connection-'));
  const path = join(folder, 'memory.db');
  const connection = createSqliteConnection({ path, busyTimeoutMs: 1_000 });
  await connection.read(() => {});
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
  try {
    await expect(connection.write(() => {})).rejects.toMatchObject({ code: 'unavailable' });
    // Six pauses of 2 to 50 ms, and then one each 50 ms.
    const asked = exec.mock.calls.filter(([sql]) => sql.startsWith('BEGIN')).length;
    expect(asked).toBeLessThanOrEqual(6 + 1_000 / 50);
  } finally {
    vi.restoreAllMocks();
    other.close();
    connection.close();
    rmSync(folder, { recursive: true });
  }
});

describe('opening that fails', () => {
  it.each([true, false])('closes what it opened (read-only: %s)', async (readOnly) => {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-connection-'));
    const path = join(folder, 'memory.db');
    writeFileSync(path, 'not a database, but longer than the header of one'.repeat(40));
    const close = vi.spyOn(DatabaseSync.prototype, 'close');
    const connection = createSqliteConnection({ path, readOnly, busyTimeoutMs: 1_000 });
    try {
      await expect(connection.read(() => {})).rejects.toMatchObject({ code: 'misconfigured' });
      expect(close).toHaveBeenCalledOnce();
    } finally {
      close.mockRestore();
      connection.close();
      rmSync(folder, { recursive: true });
    }
  });
});
