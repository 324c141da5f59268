import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import { type ListedObject, resentConflict } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { type LongWait, onLongWait } from '../../../src/waits.ts';
import { describeObjectStore } from '../../contracts/object-store.ts';
import {
  type Around,
  countCalls,
  ignoreDeleteConditions,
  interceptStore,
  loseAnswer,
  noAnswer,
  sendTwice,
} from '../../stage/store-wrappers.ts';
import { bytesOf, create, created, KEY, openSite } from './guarded-site.ts';

describeObjectStore('A guarded wrapper of an unguarded store', () =>
  guardDeletes(ignoreDeleteConditions(openSqliteObjectStore({ path: ':memory:' }))),
);

describe('guardDeletes', () => {
  it('deletes one version by a tombstone and one DELETE', async () => {
    const { store, calls, base } = openSite();
    const ifMatch = await create(base, 'first');
    expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
    expect(countCalls(calls)).toEqual({ put: 1, delete: 1 });
    expect(await base.head(KEY)).toBeUndefined();
  });

  it('deletes without a condition by one DELETE', async () => {
    const { store, calls, base } = openSite();
    await create(base, 'first');
    expect(await store.delete([{ key: KEY }])).toEqual([]);
    expect(countCalls(calls)).toEqual({ delete: 1 });
  });

  it('sends no DELETE for a version that is no longer there', async () => {
    const { store, calls, base } = openSite();
    const stale = await create(base, 'first');
    await base.put(KEY, bytesOf('second'), { mode: { ifMatch: stale } });
    expect(await store.delete([{ key: KEY, ifMatch: stale }])).toEqual([{ key: KEY, conflict: 'changed' }]);
    expect(countCalls(calls)).toEqual({ put: 1, head: 1 });
  });

  it('removes a batch with one DELETE per thousand, beside keys without a condition', async () => {
    const { store, calls, base } = openSite();
    const keys = Array.from({ length: 1002 }, (_, i) => `data/${i}` as ObjectKey);
    const targets = await Promise.all(
      keys.map(async (key) => ({ key, ifMatch: await create(base, key, key) })),
    );
    await create(base, 'plain');
    expect(await store.delete([...targets, { key: KEY }])).toEqual([]);
    expect(countCalls(calls)).toEqual({ put: 1002, delete: 3 });
    for await (const page of base.list({ prefix: '' })) expect(page.objects).toEqual([]);
  });

  it('keeps at most 32 tombstones on their way at once', async () => {
    let running = 0;
    let most = 0;
    const { store, base } = openSite(async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return proceed();
    });
    const keys = Array.from({ length: 100 }, (_, i) => `data/${i}` as ObjectKey);
    const targets = await Promise.all(
      keys.map(async (key) => ({ key, ifMatch: await create(base, key, key) })),
    );
    expect(await store.delete(targets)).toEqual([]);
    expect(most).toBe(32);
  });

  it('hides a tombstone from get, head and list, and keeps the page it was on', async () => {
    const { store, base, time } = openSite();
    await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
    expect(await store.get(KEY)).toBeUndefined();
    expect(await store.head(KEY)).toBeUndefined();
    const pages: (readonly ListedObject[])[] = [];
    for await (const page of store.list({ prefix: '' })) pages.push(page.objects);
    expect(pages).toEqual([[]]);
  });

  it('counts a delete as done once the tombstone stands, though the DELETE brings no answer', async () => {
    const { store, base } = openSite(async (call, proceed) => {
      if (call.verb === 'delete') throw noAnswer();
      return proceed();
    });
    const ifMatch = await create(base, 'first');
    expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
    expect(await store.get(KEY)).toBeUndefined();
    expect(await base.head(KEY)).toMatchObject({ size: 40 });
  });

  it('never resends a DELETE', async () => {
    const { store, base, calls } = openSite((call, proceed) =>
      call.verb === 'delete' ? loseAnswer(proceed) : proceed(),
    );
    const ifMatch = await create(base, 'first');
    expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
    expect(countCalls(calls)).toEqual({ put: 1, delete: 1 });
  });

  describe('the DELETE of a tombstone', () => {
    it('does not reach the store when it is kept from the wire for too long', async () => {
      const { store, base, time } = openSite(async (call, proceed) => {
        if (call.verb === 'delete') {
          // Credentials, signing and a connection take their time; meanwhile another process takes over.
          await time.pause(181_000);
          await store.put(KEY, bytesOf('newer'), { mode: 'create' });
        }
        return proceed();
      });
      const ifMatch = await create(base, 'first');
      expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
      expect(await base.get(KEY)).toMatchObject({ body: bytesOf('newer') });
    });

    it('may reach it within 15 seconds of being decided, and not later', async () => {
      for (const [waitMs, size] of [
        [14_999, undefined],
        [15_000, 40],
      ] as const) {
        const { store, base, time } = openSite(async (call, proceed) => {
          if (call.verb === 'delete') await time.pause(waitMs);
          return proceed();
        });
        const ifMatch = await create(base, 'first');
        expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
        expect((await base.head(KEY))?.size).toBe(size);
      }
    });

    it('is not sent at all when placing the tombstones took 30 seconds', async () => {
      for (const [waitMs, deletes] of [
        [29_999, 1],
        [30_000, undefined],
      ] as const) {
        const { store, base, time, calls } = openSite(async (call, proceed) => {
          const answer = await proceed();
          if (call.verb === 'put') await time.pause(waitMs);
          return answer;
        });
        const ifMatch = await create(base, 'first');
        expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
        expect(countCalls(calls)['delete']).toBe(deletes);
        expect(await store.head(KEY)).toBeUndefined();
      }
    });

    it('is bound by both clocks, whichever of them ran on', async () => {
      for (const frozen of ['clock', 'wallClock'] as const) {
        const { base, time } = openSite();
        const still = time.clock();
        const slow = interceptStore(ignoreDeleteConditions(base), async (call, proceed) => {
          if (call.verb === 'delete') await time.pause(15_000);
          return proceed();
        });
        const clocks = { clock: time.clock, wallClock: time.clock, [frozen]: () => still };
        const ifMatch = await create(base, 'first');
        await guardDeletes(slow, { ...clocks, pause: time.pause }).delete([{ key: KEY, ifMatch }]);
        expect(await base.head(KEY)).toMatchObject({ size: 40 });
      }
    });
  });

  it('reports a DELETE that the operator must allow', async () => {
    const { store, base } = openSite(async (call, proceed) => {
      if (call.verb === 'delete') throw new MemoryError('access_denied', 'no');
      return proceed();
    });
    const ifMatch = await create(base, 'first');
    await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({
      code: 'outcome_unknown',
      cause: { code: 'access_denied' },
    });
  });

  it('finishes a delete whose caller cancels behind the tombstone', async () => {
    const controller = new AbortController();
    const { store, base } = openSite(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'put') controller.abort();
      return answer;
    });
    const ifMatch = await create(base, 'first');
    expect(await store.delete([{ key: KEY, ifMatch }], { signal: controller.signal })).toEqual([]);
    expect(await base.head(KEY)).toBeUndefined();
  });

  describe('when the answer to the tombstone is lost', () => {
    it('goes on when it reads its own tombstone', async () => {
      const { store, base, calls } = openSite(onceForPut(loseAnswer));
      const ifMatch = await create(base, 'first');
      expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
      expect(countCalls(calls)).toEqual({ put: 1, get: 1, delete: 1 });
      expect(await base.head(KEY)).toBeUndefined();
    });

    it('sends it again when the version is still there', async () => {
      const { store, base, calls } = openSite(
        onceForPut(async () => {
          throw noAnswer();
        }),
      );
      const ifMatch = await create(base, 'first');
      expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
      expect(countCalls(calls)).toEqual({ put: 2, get: 1, delete: 1 });
    });

    it('is outcome_unknown when something else is there', async () => {
      const { store, base } = openSite(
        onceForPut(async () => {
          await base.put(KEY, bytesOf('newer'), { mode: 'overwrite' });
          throw noAnswer();
        }),
      );
      const ifMatch = await create(base, 'first');
      await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({ code: 'outcome_unknown' });
      expect(await base.get(KEY)).toMatchObject({ body: bytesOf('newer') });
    });

    it('recognizes its own tombstone behind a conflict after a resend', async () => {
      const { store, base } = openSite(onceForPut(sendTwice));
      const ifMatch = await create(base, 'first');
      expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
      expect(await base.head(KEY)).toBeUndefined();
    });

    it('names the one key of a batch whose outcome is unknown', async () => {
      const { store, base } = openSite(async (call, proceed) => {
        const isLost = call.verb !== 'delete' && call.verb !== 'list' && call.key === KEY;
        if (isLost) throw noAnswer();
        return proceed();
      });
      const other = 'data/other' as ObjectKey;
      const targets = [
        { key: KEY, ifMatch: await create(base, 'one') },
        { key: other, ifMatch: await create(base, 'two', other) },
      ];
      expect(await store.delete(targets)).toMatchObject([{ key: KEY, error: { code: 'outcome_unknown' } }]);
      expect(await base.head(other)).toBeUndefined();
    });
  });

  describe('a create that meets a tombstone', () => {
    it('waits until it is gone', async () => {
      const { store, base, time } = openSite();
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
      await time.pause(300);
      await base.delete([{ key: KEY }]);
      expect(await creating).toMatchObject({ etag: expect.any(String) });
      expect(await base.get(KEY)).toMatchObject({ body: bytesOf('new') });
    });

    it('ends after five seconds and leaves it in place', async () => {
      const { store, base, time } = openSite();
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      const start = time.clock();
      const told: LongWait[] = [];
      const end = onLongWait((wait) => told.push(wait));
      const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
      await expect(creating).rejects.toMatchObject({ code: 'unavailable', retry: 'later' });
      end();
      expect(told).toEqual([{ for: 'delete', leftMs: expect.any(Number) }]);
      expect(time.clock() - start).toBeGreaterThanOrEqual(5000);
      expect(time.clock() - start).toBeLessThan(6000);
      expect(await base.head(KEY)).toMatchObject({ size: 40 });
    });

    it('leaves one of three minutes in place', async () => {
      const { store, base, time } = openSite();
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      await time.pause(174_000);
      const creating = store.put(KEY, bytesOf('new'), { mode: 'create' });
      await expect(creating).rejects.toMatchObject({ code: 'unavailable' });
      expect(await base.head(KEY)).toMatchObject({ size: 40 });
    });

    it('takes over one of more than three minutes, by the clock of the server', async () => {
      const { store, base, time, calls } = openSite();
      const left = created(await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' }));
      await time.pause(180_001);
      expect(await store.put(KEY, bytesOf('new'), { mode: 'create' })).toHaveProperty('etag');
      expect(calls.at(-1)).toMatchObject({ verb: 'put', mode: { ifMatch: left } });
      expect(await base.get(KEY)).toMatchObject({ body: bytesOf('new') });
    });

    it('lets one of many take it over', async () => {
      const { store, base, time } = openSite();
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      await time.pause(181_000);
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) => store.put(KEY, bytesOf(`new ${i}`), { mode: 'create' })),
      );
      expect(results.filter((result) => 'etag' in result)).toHaveLength(1);
    });

    it('does not bring back what may have been created and deleted meanwhile', async () => {
      const { store, base, time } = openSite(
        onceForPut(async (proceed) => {
          await proceed();
          await base.put(KEY, createTombstone(time.randomBytes), { mode: 'overwrite' });
          throw resentConflict();
        }),
      );
      await expect(store.put(KEY, bytesOf('new'), { mode: 'create' })).rejects.toMatchObject({
        code: 'outcome_unknown',
      });
      expect(await base.head(KEY)).toMatchObject({ size: 40 });
    });

    it('stops waiting when its caller cancels', async () => {
      const { store, base, time } = openSite();
      await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
      const controller = new AbortController();
      const creating = store.put(KEY, bytesOf('new'), { mode: 'create', signal: controller.signal });
      controller.abort();
      await expect(creating).rejects.toMatchObject({ code: 'aborted' });
    });
  });

  it('refuses an edit of a deleted version, whose place then reads as absent', async () => {
    const { store, base, time } = openSite();
    const ifMatch = await create(base, 'first');
    await base.put(KEY, createTombstone(time.randomBytes), { mode: { ifMatch } });
    expect(await store.put(KEY, bytesOf('edit'), { mode: { ifMatch } })).toMatchObject({
      conflict: 'changed',
    });
    expect(await store.get(KEY)).toBeUndefined();
  });
});

/** Stands around the first PUT only. */
function onceForPut(around: <T>(proceed: () => Promise<T>) => Promise<T>): Around {
  let isDone = false;
  return (call, proceed) => {
    if (call.verb !== 'put' || isDone) return proceed();
    isDone = true;
    return around(proceed);
  };
}
