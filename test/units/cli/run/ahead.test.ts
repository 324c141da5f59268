import { describe, expect, it } from 'vitest';
import { ahead, createLanes, prefetched } from '../../../../src/cli/run/ahead.ts';
import { letOthersRun } from '../../../../src/time.ts';

const MOST_ITEMS = 32;
const MIB = 1_048_576;
const MOST_BYTES = 32 * MIB;

/** Work that ends when it is told to, and what is under way. */
function site(items: readonly number[], bytesOf: (item: number) => number = () => 0) {
  const ends = new Map<number, { resolve: (value: string) => void; reject: (error: unknown) => void }>();
  const begun: number[] = [];
  const interruption = new AbortController();
  const work = (item: number): Promise<string> => {
    begun.push(item);
    return new Promise((resolve, reject) => {
      ends.set(item, { resolve, reject });
    });
  };
  const end = (item: number): void => ends.get(item)?.resolve(`result ${item}`);
  const fail = (item: number): void => ends.get(item)?.reject(new Error(`failure ${item}`));
  const taken = ahead(items, work, { signal: interruption.signal, bytesOf });
  return { taken, begun, end, fail, interruption };
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

describe('ahead', () => {
  it('begins so many items at once, and one more for each that was taken', async () => {
    const { taken, begun, end } = site(upTo(100));
    const first = taken.next();
    expect(begun).toEqual(upTo(MOST_ITEMS));
    end(0);
    expect(await first).toEqual({ done: false, value: 'result 0' });
    const second = taken.next();
    expect(begun).toEqual(upTo(MOST_ITEMS + 1));
    for (const item of begun) end(item);
    await second;
    void taken.return();
  });

  it('gives results in the order of the items, whichever ends first', async () => {
    const { taken, begun, end } = site(upTo(5));
    const results: string[] = [];
    const all = (async () => {
      for await (const result of taken) results.push(result);
    })();
    for (const item of [4, 2, 0, 3]) end(item);
    await letOthersRun();
    expect(results).toEqual(['result 0']);
    end(1);
    await all;
    expect(results).toEqual(begun.map((item) => `result ${item}`));
  });

  it('holds no more than 32 MiB at once, also of what waits to be taken, and one larger item alone', async () => {
    const sizes = [30 * MIB, 2 * MIB, 1, 1_024 * MIB, 1, 1];
    const { taken, begun, end } = site(upTo(6), (item) => sizes[item] ?? 0);
    let held = 0;
    const results: string[] = [];
    const next = async (): Promise<void> => {
      const going = taken.next();
      held = begun.slice(results.length).reduce((sum, item) => sum + (sizes[item] ?? 0), 0);
      if (begun.length - results.length > 1) expect(held).toBeLessThanOrEqual(MOST_BYTES);
      for (const item of begun) end(item);
      const { value } = await going;
      if (value !== undefined) results.push(value);
    };
    await next();
    expect(begun).toEqual([0, 1]);
    await next();
    expect(begun).toEqual([0, 1, 2]);
    await next();
    expect(begun).toEqual([0, 1, 2]);
    await next();
    expect(begun).toEqual([0, 1, 2, 3]);
    for (let i = 0; i < 2; i++) await next();
    expect(results).toEqual(upTo(6).map((item) => `result ${item}`));
  });

  it('tells a failure at its place, begins nothing behind it, and waits for what is under way', async () => {
    const { taken, begun, end, fail } = site(upTo(100));
    const first = taken.next();
    fail(1);
    end(0);
    expect(await first).toMatchObject({ value: 'result 0' });
    let isOver = false;
    const second = taken.next().finally(() => {
      isOver = true;
    });
    second.catch(() => {});
    await letOthersRun();
    expect(isOver).toBe(false);
    for (const item of begun.slice(2)) end(item);
    await expect(second).rejects.toThrow('failure 1');
    expect(begun).toEqual(upTo(MOST_ITEMS + 1));
    expect(await taken.next()).toEqual({ done: true, value: undefined });
  });

  it('waits for what is under way when its taker leaves', async () => {
    const { taken, begun, end } = site(upTo(3));
    const first = taken.next();
    end(0);
    await first;
    let isOver = false;
    const leaving = taken.return().then(() => {
      isOver = true;
    });
    await letOthersRun();
    expect(isOver).toBe(false);
    for (const item of begun) end(item);
    await leaving;
  });

  it('begins nothing after the signal', async () => {
    const { taken, begun, end, interruption } = site(upTo(100));
    const first = taken.next();
    end(0);
    await first;
    interruption.abort();
    for (const item of begun) end(item);
    await expect(taken.next()).rejects.toMatchObject({ code: 'aborted' });
    expect(begun).toEqual(upTo(MOST_ITEMS));
  });
});

describe('what is prefetched', () => {
  it('is begun before it is asked for, in its order, and no more of it than 32 items', async () => {
    const begun: number[] = [];
    const items = upTo(100);
    const take = prefetched(items, async (item) => begun.push(item), { bytesOf: () => 0 });
    expect(begun).toEqual([]);
    await take(0);
    expect(begun).toEqual(upTo(MOST_ITEMS + 1));
    await take(1);
    expect(begun).toEqual(upTo(MOST_ITEMS + 2));
    for (const item of items.slice(2)) await take(item);
    expect(begun).toEqual(items);
    expect(() => take(5)).toThrow('asked for twice');
  });

  it('holds 32 MiB that nobody has asked for, and no more', async () => {
    const begun: number[] = [];
    const take = prefetched(upTo(10), async (item) => begun.push(item), { bytesOf: () => 15 * MIB });
    await take(0);
    expect(begun).toEqual([0, 1, 2]);
    await take(1);
    expect(begun).toEqual([0, 1, 2, 3]);
  });
});

describe('lanes', () => {
  it('run work of one name in the order in which it was asked for, also behind a failure', async () => {
    const inLane = createLanes();
    const told: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = inLane('a', async () => {
      await gate.promise;
      told.push('first');
      throw new Error('of the first');
    });
    const second = inLane('a', async () => void told.push('second'));
    await inLane('b', async () => void told.push('other'));
    expect(told).toEqual(['other']);
    gate.resolve();
    await expect(first).rejects.toThrow('of the first');
    await second;
    expect(told).toEqual(['other', 'first', 'second']);
  });
});
