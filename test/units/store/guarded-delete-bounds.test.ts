import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { type DeleteOptions, isResentConflict, type ObjectStore } from '../../../src/store/port.ts';
import { beginRemoval, type RemovalTime } from '../../../src/store/tombstones.ts';
import { atFirst, loseAnswer, noAnswer, sendTwice } from '../../stage/store-wrappers.ts';
import { bytesOf, KEY, openSite } from './guarded-site.ts';

describe('the DELETE of a tombstone', () => {
  /** A removal whose DELETE is held back until it is answered, by clocks that the test turns. */
  function start(answer: Promise<[]> = new Promise(() => {})) {
    const now = { clock: 0, wallClock: 1_000_000 };
    const pauses: { readonly ms: number; readonly signal: AbortSignal | undefined; end(): void }[] = [];
    const time: RemovalTime = {
      clock: () => now.clock,
      wallClock: () => now.wallClock,
      pause: (ms, signal) =>
        new Promise((resolve) => {
          pauses.push({ ms, signal, end: resolve });
        }),
    };
    const sent: DeleteOptions[] = [];
    const store = {
      delete: (_: unknown, options: DeleteOptions) => {
        sent.push(options);
        return answer;
      },
    } as unknown as ObjectStore;
    return { now, pauses, sent, removal: beginRemoval(store, time) };
  }

  it.each(['clock', 'wallClock'] as const)('is not decided later than 30 s by the %s', async (clock) => {
    for (const [ms, sends] of [
      [29_999, 1],
      [30_000, 0],
    ] as const) {
      const { now, sent, removal } = start(Promise.resolve([]));
      now[clock] += ms;
      expect(await removal.remove([KEY])).toEqual(sends === 1 ? [] : 'left');
      expect(sent).toHaveLength(sends);
    }
  });

  it.each(['clock', 'wallClock'] as const)('may not be sent later than 15 s by the %s', async (clock) => {
    const { now, sent, removal } = start();
    now.clock += 29_000;
    now.wallClock += 29_000;
    void removal.remove([KEY]);
    const sendBy = sent[0]?.sendBy;
    expect(sendBy?.isPast()).toBe(false);
    now[clock] += 14_999;
    expect(sendBy?.isPast()).toBe(false);
    now[clock] += 1;
    expect(sendBy?.isPast()).toBe(true);
  });

  it('loses its connection when 15 s are over without an answer, and is not sent again', async () => {
    const { pauses, sent, removal } = start();
    void removal.remove([KEY]);
    expect(pauses).toMatchObject([{ ms: 15_000 }]);
    expect(sent[0]?.signal?.aborted).toBe(false);
    pauses[0]?.end();
    await Promise.resolve();
    await Promise.resolve();
    expect(sent[0]?.signal?.aborted).toBe(true);
    expect(sent).toHaveLength(1);
  });

  it('leaves no timer behind once it was answered', async () => {
    const { pauses, sent, removal } = start(Promise.resolve([]));
    expect(await removal.remove([KEY])).toEqual([]);
    expect(pauses[0]?.signal?.aborted).toBe(true);
    expect(sent[0]?.signal?.aborted).toBe(false);
  });

  it('is none where there is no tombstone', async () => {
    const { now, sent, removal } = start(Promise.resolve([]));
    now.clock += 60_000;
    expect(await removal.remove([])).toEqual([]);
    expect(sent).toEqual([]);
  });

  it('is reported as left when no answer tells, and as refused when the operator must act', async () => {
    for (const code of ['unavailable', 'timeout', 'aborted', 'outcome_unknown'] as const) {
      const failing = Promise.reject(new MemoryError(code, 'no'));
      expect(await start(failing).removal.remove([KEY])).toBe('left');
    }
    for (const code of ['access_denied', 'misconfigured'] as const) {
      const failing = Promise.reject(new MemoryError(code, 'no'));
      await expect(start(failing).removal.remove([KEY])).rejects.toMatchObject({
        code: 'outcome_unknown',
        cause: { code },
      });
    }
  });
});

describe('a create that meets a tombstone', () => {
  it('waits a growing part of up to half a second, for five seconds by a clock that is never set back', async () => {
    for (const jump of [0, 86_400_000, -86_400_000]) {
      const waits: number[] = [];
      let wall = 0;
      const { store, base, time } = openSite(undefined, ({ clock, pause }) => ({
        fraction: () => 0.5,
        clock: () => clock() - 1_000,
        wallClock: () => clock() + wall,
        pause: (ms, signal) => {
          waits.push(ms);
          wall = jump;
          return pause(ms, signal);
        },
      }));
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
      await expect(creating).rejects.toMatchObject({ code: 'unavailable' });
      expect(waits).toEqual([5, 10, 20, 40, 80, 160, ...Array.from({ length: 19 }, () => 250)]);
    }
  });

  it('waits no longer than its caller', async () => {
    const { signal } = new AbortController();
    const signals: (AbortSignal | undefined)[] = [];
    const { store, base, time } = openSite(undefined, () => ({
      pause: async (_, given) => {
        signals.push(given);
        await base.delete([{ key: KEY }]);
      },
    }));
    await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
    await store.put(KEY, bytesOf('new'), { mode: 'create', signal });
    expect(signals).toEqual([signal]);
  });

  it('goes by the age that the server tells, which has to be more than three minutes', async () => {
    for (const ahead of [-86_400_000, 86_400_000]) {
      const { store, base, time, calls } = openSite(undefined, ({ clock }) => ({
        clock: () => clock() + ahead,
        wallClock: () => clock() + ahead,
      }));
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      await time.pause(180_000);
      expect(await store.put(KEY, bytesOf('new'), { mode: 'create' })).toHaveProperty('etag');
      expect(calls.map(({ verb }) => verb)).toEqual(['put', 'head', 'put', 'head', 'put']);
    }
  });

  it('looks again when the tombstone was replaced while it took it over', async () => {
    for (const [isFile, outcome] of [
      [true, { conflict: 'exists' }],
      [false, { etag: expect.any(String) }],
    ] as const) {
      const { store, base, time } = openSite(async (call, proceed) => {
        if (call.verb === 'put' && typeof call.mode === 'object') {
          if (isFile) await base.put(KEY, bytesOf('theirs'), { mode: 'overwrite' });
          else await base.delete([{ key: KEY }]);
        }
        return proceed();
      });
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      await time.pause(181_000);
      expect(await store.put(KEY, bytesOf('new'), { mode: 'create' })).toEqual(outcome);
    }
  });

  it('leaves it to its caller to recognize what may be its own', async () => {
    for (const age of [0, 181_000]) {
      const { store, base, time, calls } = openSite(async (call, proceed) => {
        const isLast = call.verb === 'put' && (age === 0 || typeof call.mode === 'object');
        return isLast ? sendTwice(proceed) : proceed();
      });
      if (age > 0) await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      await time.pause(age);
      const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
      await expect(creating).rejects.toSatisfy(isResentConflict);
      expect(calls.map(({ verb }) => verb)).toEqual(age === 0 ? ['put'] : ['put', 'head', 'put']);
    }
  });

  it('throws what the store throws', async () => {
    for (const fail of [() => Promise.reject(noAnswer()), loseAnswer]) {
      const { store } = openSite(atFirst('put', fail));
      const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
      await expect(creating).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
  });

  it('gives up at the very end of five seconds', async () => {
    let now = 0;
    const { store, base, time, calls } = openSite(undefined, () => ({
      clock: () => now,
      pause: async () => {
        now += 5_000;
      },
    }));
    await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
    const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
    await expect(creating).rejects.toMatchObject({ code: 'unavailable' });
    expect(calls.filter(({ verb }) => verb === 'put')).toHaveLength(2);
  });
});

describe('a create that is refused where nothing is', () => {
  /** A store that refuses creates as often as it is told, and shows a tombstone at those of some rounds. */
  function openRefusing(refusals: number, tombstoneAt: number) {
    let refused = 0;
    const opened = openSite(async (call, proceed) => {
      if (call.verb !== 'put' || refused === refusals) return proceed();
      refused++;
      const { base, time } = opened;
      await base.delete([{ key: KEY }]);
      if (refused === tombstoneAt) await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      return { conflict: 'exists' } as Awaited<ReturnType<typeof proceed>>;
    });
    return opened;
  }

  it.each([
    ['seven times', 7, 0],
    ['seven times, and again behind a tombstone', 15, 8],
  ])('is tried again: %s', async (_, refusals, tombstoneAt) => {
    const { store, calls } = openRefusing(refusals, tombstoneAt);
    expect(await store.put(KEY, bytesOf('new'), { mode: 'create' })).toHaveProperty('etag');
    expect(calls.filter(({ verb }) => verb === 'put')).toHaveLength(refusals + 1);
  });

  it('tells of a store that breaks the condition once it was refused eight times in a row', async () => {
    const { store, calls } = openRefusing(16, 8);
    const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
    await expect(creating).rejects.toMatchObject({ code: 'misconfigured' });
    expect(calls.filter(({ verb }) => verb === 'put')).toHaveLength(16);
  });
});
