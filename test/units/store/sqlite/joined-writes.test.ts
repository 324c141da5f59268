import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ETag, ObjectStore, PutOptions } from '../../../../src/store/port.ts';
import { operationsWait } from '../../../../src/store/sqlite/operation-queue.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { letOthersRun } from '../../../../src/time.ts';

const MOST_WRITES = 64;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const BODY = new TextEncoder().encode('sealed bytes');
const CREATE: PutOptions = { mode: 'create' };

describe('writes to an SQLite file that wait for their turn', () => {
  let folder: string;
  let path: string;
  let store: ObjectStore;
  /** The statements that the connections of this process were told, in order. */
  let statements: string[];
  /** Called with each of them before it is run. */
  let before: (sql: string) => void;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'joined-writes-'));
    path = join(folder, 'memory.db');
    store = openSqliteObjectStore({ path });
    await store.put(keyOf('first'), BODY, CREATE);
    // The work that is asked for from now on begins with a turn.
    await letOthersRun();
    [statements, before] = [[], () => {}];
    const { exec } = DatabaseSync.prototype;
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
      before(sql);
      statements.push(sql);
      exec.call(this, sql);
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await store[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  /** No time passes but what a test lets pass, however busy the machine is. */
  const stopTime = () => vi.spyOn(performance, 'now').mockReturnValue(0);
  function keyOf(name: string | number): ObjectKey {
    return `data/${name}` as ObjectKey;
  }
  const put = (name: string | number, options: PutOptions = CREATE, body = BODY) =>
    store.put(keyOf(name), body, options);
  const putMany = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => put(`many/${from + index}`));
  const commits = (): number => statements.filter((sql) => sql === 'COMMIT').length;
  const names = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { objects } of store.list({ prefix: 'data/' }))
      found.push(...objects.map(({ key }) => key.slice('data/'.length)));
    return found;
  };
  /** The first alone, which finds no other, and a transaction of two that follow. */
  const besideFirst = <T>(...others: (() => Promise<T>)[]): Promise<T>[] => {
    void put('lead').catch(() => {});
    return others.map((other) => other());
  };

  it('share transactions of 64, and the one that comes first waits for none', async () => {
    stopTime();
    const first = put('a');
    expect(commits()).toBe(1);
    await Promise.all([first, ...putMany(2 * MOST_WRITES)]);
    expect(commits()).toBe(3);
    expect(await names()).toHaveLength(2 + 2 * MOST_WRITES);
  });

  it('share none of more than 4 MiB', async () => {
    stopTime();
    const large = new Uint8Array(1_048_576);
    const [lead, ...others] = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => put(name, CREATE, large));
    await Promise.all([lead, ...others]);
    // One; four; one.
    expect(commits()).toBe(3);
  });

  it('share none for longer than 10 ms', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const isPast = (): boolean => {
      now += 4;
      return false;
    };
    const slow = (name: string) => put(name, { mode: 'create', sendBy: { isPast } });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map(slow));
    // One; three, which take 12 ms; one.
    expect(commits()).toBe(3);
  });

  it('wait until no more have come for a millisecond where several came together before', async () => {
    const time = stopTime();
    await Promise.all(putMany(8));
    const before = commits();
    const first = put('a');
    // Each of these comes in a later turn of the event loop, and the last later than a millisecond behind the first.
    await letOthersRun();
    time.mockReturnValue(0.8);
    const second = put('b');
    await letOthersRun();
    time.mockReturnValue(1.6);
    const third = put('c');
    await letOthersRun();
    expect(commits()).toBe(before);
    time.mockReturnValue(2.7);
    await Promise.all([first, second, third]);
    expect(commits()).toBe(before + 1);
  });

  it('wait for 10 ms at most, however many come', async () => {
    const time = stopTime();
    await Promise.all(putMany(8));
    const before = commits();
    const writes: Promise<unknown>[] = [];
    for (let ms = 0; ms < 10; ms += 0.5) {
      time.mockReturnValue(ms);
      writes.push(put(`at-${ms}`));
      await letOthersRun();
    }
    expect(commits()).toBe(before);
    time.mockReturnValue(10);
    await letOthersRun();
    await letOthersRun();
    expect(commits()).toBe(before + 1);
    await Promise.all(writes);
  });

  it('wait for none again once one came alone', async () => {
    const time = stopTime();
    await Promise.all(putMany(8));
    const alone = put('a');
    await letOthersRun();
    time.mockReturnValue(2);
    await alone;
    await letOthersRun();
    const before = commits();
    void put('b');
    expect(commits()).toBe(before + 1);
  });

  it('are answered behind the commit, each for itself', async () => {
    stopTime();
    let settled = 0;
    const atCommit: number[] = [];
    before = (sql) => {
      if (sql === 'COMMIT') atCommit.push(settled);
    };
    const stale = '"no such version"' as ETag;
    const outcomes = besideFirst(
      () => put('new'),
      () => put('new'),
      () => put('first'),
      () => put('first', { mode: { ifMatch: stale } }),
      () => put('none', { mode: { ifMatch: stale } }),
      () => put('over', { mode: 'overwrite' }),
    );
    for (const outcome of outcomes) void outcome.then(() => settled++);
    expect(await Promise.all(outcomes)).toEqual([
      { etag: expect.any(String) },
      { conflict: 'exists' },
      { conflict: 'exists' },
      { conflict: 'changed' },
      { conflict: 'missing' },
      { etag: expect.any(String) },
    ]);
    expect(atCommit).toEqual([0, 0]);
  });

  it('see what those before them in the transaction wrote', async () => {
    stopTime();
    const first = await store.head(keyOf('first'));
    const ifMatch = first?.etag ?? ('' as ETag);
    const [changed, late, deleted] = await Promise.all([
      ...besideFirst(
        () => put('first', { mode: { ifMatch } }),
        () => put('first', { mode: { ifMatch } }),
      ),
      store.delete([{ key: keyOf('first'), ifMatch }]),
    ]);
    expect(changed).toHaveProperty('etag');
    expect(late).toEqual({ conflict: 'changed' });
    expect(deleted).toMatchObject([{ conflict: 'changed' }]);
  });

  it('fail for their own reasons alone, and leave nothing of that', async () => {
    stopTime();
    const past = { isPast: () => true };
    const [one, late, two] = besideFirst(
      () => put('one'),
      () => put('late', { mode: 'create', sendBy: past }),
      () => put('two'),
    );
    await expect(late).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'too_late' } });
    expect([await one, await two]).toEqual([{ etag: expect.any(String) }, { etag: expect.any(String) }]);
    expect(await names()).toEqual(['first', 'lead', 'one', 'two']);
  });

  it('are tried one by one, and are there once, where the transaction finds no room', async () => {
    stopTime();
    let refusals = 1;
    await put('lead');
    await letOthersRun();
    const writes = putMany(4);
    before = (sql) => {
      if (sql === 'COMMIT' && refusals-- > 0) throw sqliteError('database or disk is full', SQLITE_FULL);
    };
    for (const written of await Promise.all(writes)) expect(written).toHaveProperty('etag');
    expect(await names()).toHaveLength(6);
  });

  it('have no outcome that is known, all of a transaction, where its commit has none', async () => {
    stopTime();
    let commits = 0;
    before = (sql) => {
      if (sql === 'COMMIT' && ++commits === 2) throw sqliteError('disk I/O error', SQLITE_IOERR);
    };
    const outcomes = await Promise.allSettled(putMany(4));
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      'fulfilled',
      ...Array.from({ length: 3 }, () => 'rejected'),
    ]);
    for (const outcome of outcomes.slice(1))
      expect(outcome).toMatchObject({ reason: { code: 'outcome_unknown' } });
    expect(commits).toBe(2);
  });

  it('wait together for a lock of another process, and are written once it is let go', async () => {
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const writes = putMany(8);
    await new Promise((resolve) => setTimeout(resolve, 60));
    other.exec('COMMIT');
    other.close();
    for (const written of await Promise.all(writes)) expect(written).toHaveProperty('etag');
    expect(await names()).toHaveLength(9);
  });

  it('are not written once their caller has cancelled; the others are', async () => {
    stopTime();
    const call = new AbortController();
    const [cancelled, other] = besideFirst(
      () => put('cancelled', { mode: 'create', signal: call.signal }),
      () => put('other'),
    );
    call.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
    await other;
    expect(await names()).toEqual(['first', 'lead', 'other']);
  });

  it('tell what became of them also to a caller that cancels right behind the commit', async () => {
    stopTime();
    const call = new AbortController();
    const [written] = besideFirst(
      () => put('written', { mode: 'create', signal: call.signal }),
      () => put('other'),
    );
    before = (sql) => {
      // Queued before the answers are.
      if (sql === 'COMMIT') queueMicrotask(() => call.abort());
    };
    expect(await written).toHaveProperty('etag');
  });

  it('count as operations that wait, for which simulated time stands still', async () => {
    const writes = putMany(3);
    expect(operationsWait()).toBe(true);
    await Promise.all(writes);
    expect(operationsWait()).toBe(false);
  });
});

function sqliteError(message: string, errcode: number): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
}
