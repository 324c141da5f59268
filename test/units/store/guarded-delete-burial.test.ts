import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import { type ObjectStore, resentConflict } from '../../../src/store/port.ts';
import { buryOldTombstones, type RemovalTime } from '../../../src/store/tombstones.ts';
import { type NotedOptions, noteOptions } from '../../stage/store-wrappers.ts';
import { createSite, type TestSite } from '../../stage/test-tree.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const KEY = 'tenants/acme/data/left' as ObjectKey;

describe('the burial of old tombstones', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  const bury = (
    store: ObjectStore = site.base,
    options: { readonly time?: RemovalTime; readonly signal?: AbortSignal } = {},
  ): Promise<number> =>
    buryOldTombstones({
      store,
      prefix: 'tenants/acme/',
      olderThanMs: HOUR,
      random: site.time.randomBytes,
      time: timeOf(site),
      ...options,
    });
  const leave = async (key: ObjectKey): Promise<void> => {
    await site.base.put(key, createTombstone(site.time.randomBytes), { mode: 'create' });
  };

  it('removes those that a crash left behind, and nothing else', async () => {
    site = await createSite('unguarded');
    const client = await site.client();
    await client.create('/memories/kept.md', 'kept');
    await leave(KEY);
    await leave('tenants/other/data/left' as ObjectKey);
    await site.time.pause(HOUR + 1_000);
    await leave('tenants/acme/data/young' as ObjectKey);
    expect(await bury()).toBe(1);
    expect(await site.base.head(KEY)).toBeUndefined();
    expect(await site.base.head('tenants/acme/data/young' as ObjectKey)).toBeDefined();
    expect(await site.base.head('tenants/other/data/left' as ObjectKey)).toBeDefined();
    expect(await client.text('/memories/kept.md')).toBe('kept');
  });

  it('goes by the age that the server tells, which has to be more than the limit', async () => {
    site = await createSite('unguarded');
    const { clock, pause } = site.time;
    await leave(KEY);
    await pause(HOUR);
    const ahead = { clock, wallClock: () => clock() + 2 * HOUR, pause };
    expect(await bury(site.base, { time: ahead })).toBe(0);
    await pause(1);
    const behind = { clock, wallClock: () => clock() - 2 * HOUR, pause };
    expect(await bury(site.base, { time: behind })).toBe(1);
  });

  it('passes one over in whose place something else may lie after a lost answer, and goes on', async () => {
    site = await createSite('unguarded');
    const { base, time } = site;
    const taken = 'tenants/acme/data/a' as ObjectKey;
    for (const key of [taken, KEY]) await leave(key);
    await time.pause(HOUR + 1_000);
    const newer = new Uint8Array(300);
    const resending: ObjectStore = {
      ...base,
      async put(key, body, options) {
        if (key !== taken) return base.put(key, body, options);
        await base.put(key, newer, { mode: 'overwrite' });
        throw resentConflict();
      },
    };
    expect(await bury(resending)).toBe(1);
    expect(await base.head(KEY)).toBeUndefined();
    expect(await base.get(taken)).toMatchObject({ body: newer });
  });

  it('has 30 seconds for each tombstone, however long those before it took', async () => {
    site = await createSite('unguarded');
    for (const name of ['a', 'b', 'c']) await leave(`tenants/acme/data/${name}` as ObjectKey);
    await site.time.pause(HOUR + 1_000);
    const { base, time } = site;
    const slow: ObjectStore = {
      ...base,
      async put(key, body, options) {
        const answer = await base.put(key, body, options);
        await time.pause(20_000);
        return answer;
      },
    };
    expect(await bury(slow)).toBe(3);
  });

  it('leaves a tombstone to others whose placing took 30 seconds, and does not count it', async () => {
    for (const [ms, buried] of [
      [29_999, 1],
      [30_000, 0],
    ] as const) {
      site = await createSite('unguarded');
      await leave(KEY);
      await site.time.pause(HOUR + 1_000);
      const { base, time } = site;
      const slow: ObjectStore = {
        ...base,
        async put(key, body, options) {
          const answer = await base.put(key, body, options);
          await time.pause(ms);
          return answer;
        },
      };
      expect(await bury(slow)).toBe(buried);
      expect((await base.head(KEY))?.size).toBe(buried === 1 ? undefined : 40);
      await base[Symbol.asyncDispose]();
    }
    site = await createSite('unguarded');
  });

  it('throws when the server refuses the DELETE, of the request or of the key', async () => {
    site = await createSite('unguarded');
    const { base } = site;
    await leave(KEY);
    await site.time.pause(HOUR + 1_000);
    const error = new MemoryError('access_denied', 'no');
    const refusals: readonly ObjectStore['delete'][] = [
      () => Promise.reject(error),
      async () => [{ key: KEY, error }],
    ];
    for (const refusal of refusals) {
      await expect(bury({ ...base, delete: refusal })).rejects.toMatchObject({
        code: 'outcome_unknown',
        cause: error,
      });
      await site.time.pause(HOUR + 1_000);
    }
  });

  it('throws what the store throws instead of placing its tombstone', async () => {
    site = await createSite('unguarded');
    await leave(KEY);
    await site.time.pause(HOUR + 1_000);
    const error = new MemoryError('access_denied', 'no');
    await expect(bury({ ...site.base, put: () => Promise.reject(error) })).rejects.toBe(error);
  });

  it('ends with its caller, but for the DELETE of a tombstone that it has placed', async () => {
    site = await createSite('unguarded');
    await leave(KEY);
    await site.time.pause(HOUR + 1_000);
    const noted: NotedOptions[] = [];
    const { signal } = new AbortController();
    expect(await bury(noteOptions(site.base, noted), { signal })).toBe(1);
    expect(noted.map((each) => [each.verb, each.signal === signal])).toEqual([
      ['list', true],
      ['put', true],
      ['delete', false],
    ]);
  });

  it('leaves alone what another process has put in the place of a tombstone meanwhile', async () => {
    site = await createSite('unguarded');
    await leave(KEY);
    await site.time.pause(HOUR + 1_000);
    const { base } = site;
    const store = {
      ...base,
      async *list(options: Parameters<typeof base.list>[0]) {
        for await (const page of base.list(options)) {
          await base.put(KEY, new Uint8Array(200), { mode: 'overwrite' });
          yield page;
        }
      },
    };
    expect(await bury(store)).toBe(0);
    expect((await base.head(KEY))?.size).toBe(200);
  });

  it('never deletes what took the place of its own tombstone while its DELETE was kept from the wire', async () => {
    site = await createSite('unguarded');
    await leave(KEY);
    await site.time.pause(HOUR + 1_000);
    const { base, time } = site;
    const other = guardDeletes(base, { clock: time.clock, wallClock: time.clock, pause: time.pause });
    const slow: ObjectStore = {
      ...base,
      async delete(targets, options) {
        // Credentials, signing and a connection take their time; meanwhile another process takes the tombstone over.
        await time.pause(4 * MINUTE);
        await other.put(KEY, new Uint8Array(200), { mode: 'create' });
        return base.delete(targets, options);
      },
    };
    expect(await bury(slow)).toBe(0);
    expect((await base.head(KEY))?.size).toBe(200);
  });
});

function timeOf({ time }: TestSite): RemovalTime {
  return { clock: time.clock, wallClock: time.clock, pause: time.pause };
}
