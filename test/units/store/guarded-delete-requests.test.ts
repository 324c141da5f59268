import { afterEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import type { DeleteFailure, ETag, ObjectStore } from '../../../src/store/port.ts';
import { atFirst, type NotedOptions, sendTwice } from '../../stage/store-wrappers.ts';
import { bytesOf, create, KEY, openSite } from './guarded-site.ts';

const OTHER = 'data/other' as ObjectKey;

describe('the requests of a store with guarded deletes', () => {
  const { signal } = new AbortController();
  const sendBy = { isPast: () => false };
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('are sent with the signal and the bound of their caller, but for the DELETE of a tombstone', async () => {
    const { store, base, noted, time } = openSite();
    await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
    await time.pause(200_000);
    await store.put(KEY, bytesOf('new'), { mode: 'create', signal, sendBy });
    expect(named(noted)).toEqual(['put signal bound', 'head signal', 'put signal bound']);
    const etag = (await base.head(KEY))?.etag as ETag;
    await store.put(KEY, bytesOf('edited'), { mode: { ifMatch: etag }, signal, sendBy });
    await store.get(KEY, { signal });
    await store.head(KEY, { signal });
    await store.delete([{ key: KEY, ifMatch: etag }], { signal, sendBy });
    await store.delete([{ key: KEY }], { signal, sendBy });
    expect(named(noted)).toEqual([
      'put signal bound',
      'get signal',
      'head signal',
      'put signal bound',
      'head signal',
      'delete signal bound',
    ]);
  });

  it('are read back with the signal of their caller, too', async () => {
    const { store, base, noted } = openSite(atFirst('put', sendTwice));
    const ifMatch = await create(base, 'first');
    expect(await store.delete([{ key: KEY, ifMatch }], { signal })).toEqual([]);
    expect(named(noted)).toEqual(['put signal', 'get signal', 'delete']);
  });

  it('are not sent for a caller that has cancelled', async () => {
    const { store, base, calls } = openSite();
    const ifMatch = await create(base, 'first');
    const deleting = store.delete([{ key: KEY, ifMatch }], { signal: AbortSignal.abort() });
    await expect(deleting).rejects.toMatchObject({ code: 'aborted' });
    expect(calls).toEqual([]);
  });

  it('place and remove tombstones a thousand at a time', async () => {
    const { store, base, calls, time } = openSite(async (call, proceed) => {
      // A batch takes its time; the next one has its own.
      if (call.verb === 'put' && /\/(0|1000|2000)$/.test(call.key)) await time.pause(20_000);
      return proceed();
    });
    const targets = await many(base, 2_001);
    expect(await store.delete(targets)).toEqual([]);
    const batches = calls.flatMap((call) => (call.verb === 'delete' ? [call.targets.length] : []));
    expect(batches).toEqual([1_000, 1_000, 1]);
    for await (const page of base.list({ prefix: '' })) expect(page.objects).toEqual([]);
  });

  it('name the key of a batch that is refused, the last one alone in its batch as well', async () => {
    const refusal = new MemoryError('access_denied', 'not this one');
    for (const [count, refused] of [
      [2, 0],
      [1_001, 1_000],
    ] as const) {
      const { store, base } = openSite((call, proceed) =>
        call.verb === 'put' && call.key === `data/${refused}` ? Promise.reject(refusal) : proceed(),
      );
      expect(await store.delete(await many(base, count))).toEqual([
        { key: `data/${refused}`, error: refusal },
      ]);
    }
  });

  it('throw what is wrong with a single key, and name it beside one without a condition', async () => {
    const refusal = new MemoryError('access_denied', 'not this one');
    const { store, base } = openSite((call, proceed) =>
      call.verb === 'put' ? Promise.reject(refusal) : proceed(),
    );
    const ifMatch = await create(base, 'first');
    await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toBe(refusal);
    expect(await store.delete([{ key: KEY, ifMatch }, { key: OTHER }])).toEqual([
      { key: KEY, error: refusal },
    ]);
  });

  it('name a tombstone of a batch that may not be removed, and pass over one that merely failed', async () => {
    for (const [code, isNamed] of [
      ['access_denied', true],
      ['misconfigured', true],
      ['unavailable', false],
      ['outcome_unknown', false],
    ] as const) {
      const error = new MemoryError(code, 'no');
      const { store, base } = openSite(async <T>(call: { verb: string }, proceed: () => Promise<T>) =>
        call.verb === 'delete' ? ([{ key: 'data/1', error }] as DeleteFailure[] as T) : proceed(),
      );
      const failures = await store.delete(await many(base, 3));
      expect(failures).toMatchObject(
        isNamed ? [{ key: 'data/1', error: { code: 'outcome_unknown', cause: { code } } }] : [],
      );
      expect(failures).toHaveLength(isNamed ? 1 : 0);
    }
  });

  it('end with the store below', async () => {
    let isOpen = true;
    const { base } = openSite();
    const below: ObjectStore = {
      ...base,
      [Symbol.asyncDispose]: async () => {
        isOpen = false;
      },
    };
    await guardDeletes(below)[Symbol.asyncDispose]();
    expect(isOpen).toBe(false);
  });

  it('ask nothing of the store where nothing is to be deleted', async () => {
    const { store, calls } = openSite();
    expect(await store.delete([])).toEqual([]);
    expect(calls).toEqual([]);
  });

  it('are bound by the clocks of the machine unless told otherwise, and wait by its chance', async () => {
    for (const clock of [performance, Date]) {
      const { base } = openSite();
      let deletes = 0;
      let now = Math.floor(clock.now());
      vi.spyOn(clock, 'now').mockImplementation(() => now);
      const slow: ObjectStore = {
        ...base,
        async put(key, body, options) {
          const answer = await base.put(key, body, options);
          now += 30_000;
          return answer;
        },
        async delete() {
          deletes++;
          return [];
        },
      };
      const ifMatch = await create(base, 'first');
      expect(await guardDeletes(slow).delete([{ key: KEY, ifMatch }])).toEqual([]);
      expect(deletes).toBe(0);
      vi.restoreAllMocks();
    }
    vi.spyOn(Math, 'random').mockReturnValue(0.25);
    const waits: number[] = [];
    const pause = async (ms: number): Promise<void> => {
      waits.push(ms);
      if (waits.length === 2) throw new Error('enough');
    };
    const { base, time } = openSite();
    await base.put(KEY, createTombstone(time.randomBytes), { mode: 'create' });
    const creating = guardDeletes(base, { pause }).put(KEY, bytesOf('new'), { mode: 'create' });
    await expect(creating).rejects.toThrow('enough');
    expect(waits).toEqual([2.5, 5]);
  });

  it('are one for a create where nothing is, and for a delete of what is gone', async () => {
    const { store, calls } = openSite();
    await create(store, 'new');
    const missing = { key: OTHER, ifMatch: '"gone"' as ETag };
    expect(await store.delete([missing])).toEqual([{ key: OTHER, conflict: 'missing' }]);
    expect(calls.map(({ verb }) => verb)).toEqual(['put', 'put']);
  });

  it('tell what was deleted also to a caller that cancels behind the last of them', async () => {
    const call = new AbortController();
    const { store } = openSite(async (_, proceed) => {
      const answer = await proceed();
      call.abort();
      return answer;
    });
    expect(await store.delete([{ key: KEY }], { signal: call.signal })).toEqual([]);
  });

  it('tell of each target that is through, also of one that failed', async () => {
    const { store, base } = openSite(atFirst('put', () => Promise.reject(new MemoryError('timeout', 'no'))));
    const targets = await many(base, 3);
    let through = 0;
    const failures = await store.delete(targets, { onTarget: () => through++ });
    expect(failures).toMatchObject([{ error: { code: 'timeout' } }]);
    expect(through).toBe(3);
  });

  it('delete nothing in a bucket that is too full for a tombstone, and say so', async () => {
    const details = { reason: 'disk_full' };
    const full = new MemoryError('unavailable', 'full', { details, cause: new Error('a cause') });
    const { store, base } = openSite((call, proceed) =>
      call.verb === 'put' ? Promise.reject(full) : proceed(),
    );
    const ifMatch = await create(base, 'first');
    await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Nothing was deleted'),
      details,
      cause: full.cause,
    });
    expect(await base.head(KEY)).toMatchObject({ etag: ifMatch });
  });

  /** Answers what was sent since, in words. */
  function named(noted: NotedOptions[]): readonly string[] {
    return noted
      .splice(0)
      .map((each) =>
        [
          each.verb,
          ...(each.signal === signal ? ['signal'] : []),
          ...(each.sendBy === sendBy ? ['bound'] : []),
        ].join(' '),
      );
  }

  async function many(base: ObjectStore, count: number) {
    const keys = Array.from({ length: count }, (_, i) => `data/${i}` as ObjectKey);
    return Promise.all(keys.map(async (key) => ({ key, ifMatch: await create(base, key, key) })));
  }
});
