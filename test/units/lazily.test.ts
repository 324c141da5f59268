import { expect, it, vi } from 'vitest';
import { type Around, lazily } from '../../src/lazily.ts';

interface Pair {
  add(a: number, b: number, options?: { readonly signal?: AbortSignal }): Promise<number>;
  none(options?: object): Promise<void>;
}
const NAMES = { add: [2], none: [0] } as const;

it('loads at the first call, once, and hands each call what it was given', async () => {
  const load = vi.fn(async (): Promise<Pair> => ({ add: async (a, b) => a + b, none: async () => {} }));
  const late = lazily<Pair>((call) => call(), load, NAMES);
  expect(Object.keys(late)).toEqual(['add', 'none']);
  expect(load).not.toHaveBeenCalled();
  expect(await Promise.all([late.add(1, 2), late.add(3, 4), late.none()])).toEqual([3, 7, undefined]);
  expect(load).toHaveBeenCalledOnce();
});

it('runs the loading and the call within what stands around them, which gets the options', async () => {
  const seen: unknown[] = [];
  const run: Around = async (call, options) => {
    seen.push(options);
    const result = await call();
    seen.push(result);
    return result;
  };
  const load = async (): Promise<Pair> => {
    seen.push('loaded');
    return { add: async (a, b) => a + b, none: async () => {} };
  };
  const { signal } = new AbortController();
  const late = lazily(run, load, NAMES);
  await late.add(1, 2, { signal });
  await late.none();
  expect(seen).toEqual([{ signal }, 'loaded', 3, {}, undefined]);
});

it('loads again after a failure', async () => {
  const load = vi
    .fn<() => Promise<Pair>>()
    .mockRejectedValueOnce(new Error('no such module'))
    .mockResolvedValue({ add: async (a, b) => a + b, none: async () => {} });
  const late = lazily(((call) => call()) as Around, load, NAMES);
  await expect(late.add(1, 2)).rejects.toThrow('no such module');
  expect(await late.add(1, 2)).toBe(3);
});
