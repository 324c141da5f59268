import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSqliteConnection } from '../../../src/store/sqlite/connection.ts';

describe('a COMMIT that fails for an unknown reason', () => {
  let folder: string;
  let connection: ReturnType<typeof createSqliteConnection>;
  let used: DatabaseSync[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sqlite-connection-'));
    connection = createSqliteConnection({ path: join(folder, 'memory.db'), busyTimeoutMs: 1_000 });
    used = [];
  });
  afterEach(() => {
    connection.close();
    rmSync(folder, { recursive: true });
  });
  const note = (database: DatabaseSync): number => used.push(database);
  /** Work behind which there is no transaction left to commit. */
  const spoil = (database: DatabaseSync): void => {
    note(database);
    database.exec('COMMIT');
  };

  it('leaves the outcome of a write unknown, and the connection is opened again', async () => {
    await expect(connection.write(spoil)).rejects.toMatchObject({ code: 'outcome_unknown' });
    await connection.read(note);
    const [before, after] = used;
    expect(Object.is(before, after)).toBe(false);
    expect(() => before?.exec('SELECT 1')).toThrow('not open');
  });

  it('leaves nothing unknown of a read', async () => {
    await expect(connection.read(spoil)).rejects.toMatchObject({ code: 'unavailable' });
    await connection.read(note);
    expect(used).toHaveLength(2);
  });
});
