import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSqliteConnection } from '../../../../src/store/sqlite/connection.ts';
import { letOthersRun } from '../../../../src/time.ts';
import { mostBetweenRounds, roundsDuring } from '../../../stage/measures.ts';

type Connection = ReturnType<typeof createSqliteConnection>;

describe('operations on SQLite of a millisecond each', () => {
  const opened: Connection[] = [];
  /** The operations that were run, by the number they were given. */
  let done: number[];
  let now: number;

  beforeEach(async () => {
    // The work that earlier tests left has had its turn.
    await letOthersRun();
    [done, now] = [[], 0];
    vi.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    for (const connection of opened.splice(0)) connection.close();
  });

  const open = (): Connection => {
    const connection = createSqliteConnection({ path: ':memory:', busyTimeoutMs: 1_000 });
    opened.push(connection);
    return connection;
  };
  const run = (connection: Connection, number = done.length, signal?: AbortSignal): Promise<unknown> =>
    connection.read(() => {
      now++;
      done.push(number);
    }, signal);
  const chain = async (connection: Connection, length: number): Promise<void> => {
    for (let i = 0; i < length; i++) await run(connection);
  };

  it('let everything else run every ten of them, and no oftener, in a chain', async () => {
    const connection = open();
    const rounds = await roundsDuring(() => chain(connection, 1_000));
    expect(rounds).toBeGreaterThanOrEqual(99);
    expect(rounds).toBeLessThan(150);
    expect(
      await mostBetweenRounds(
        () => done.length,
        () => chain(connection, 1_000),
      ),
    ).toBe(10);
  });

  it('take their turns together, however many chains there are on however many stores', async () => {
    const connections = [open(), open(), open(), open()];
    const chains = () =>
      Promise.all(connections.flatMap((each) => Array.from({ length: 8 }, () => chain(each, 50))));
    expect(await mostBetweenRounds(() => done.length, chains)).toBe(10);
    expect(done).toHaveLength(1_600);
  });

  it('run in the order in which they were asked for, also those that are asked for while others wait', async () => {
    const connections = [open(), open()] as const;
    const asked: Promise<unknown>[] = [];
    const askFor = (count: number): void => {
      for (let i = 0; i < count; i++) asked.push(run(connections[i % 2 === 0 ? 0 : 1], asked.length));
    };
    askFor(5);
    // Its turn comes before that of the operations that have to wait.
    const meanwhile = letOthersRun().then(() => askFor(35));
    askFor(30);
    expect(done).toHaveLength(10);
    await meanwhile;
    expect(done).toHaveLength(10);
    await Promise.all(asked);
    expect(done).toEqual(Array.from({ length: 70 }, (_, index) => index));
  });

  it('wait for nothing where the process does something else in between', async () => {
    const connection = open();
    for (let i = 1; i <= 30; i++) {
      const running = run(connection);
      expect(done).toHaveLength(i);
      await running;
      now += 5;
      await letOthersRun();
    }
  });

  it('are given up at once by a caller that cancels while they wait, and are not run then', async () => {
    const connection = open();
    const call = new AbortController();
    const before = Array.from({ length: 15 }, (_, index) => run(connection, index));
    const cancelled = run(connection, 15, call.signal);
    const after = run(connection, 16);
    call.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
    expect(done).toHaveLength(10);
    await Promise.all([...before, after]);
    expect(done).toEqual([...before.keys(), 16]);
  });

  it('are not run when the store is closed while they wait', async () => {
    const connection = open();
    const asked = Array.from({ length: 15 }, () => run(connection));
    connection.close();
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 10 }, () => 'fulfilled'),
      ...Array.from({ length: 5 }, () => 'rejected'),
    ]);
    await expect(asked[14]).rejects.toMatchObject({ code: 'misconfigured' });
    expect(done).toHaveLength(10);
  });

  it('go on after fake timers were taken away that never brought the turn', async () => {
    const connection = open();
    vi.useFakeTimers({ toFake: ['setImmediate'] });
    await run(connection);
    vi.useRealTimers();
    now += 20;
    await chain(connection, 30);
    expect(done).toHaveLength(31);
  });
});
