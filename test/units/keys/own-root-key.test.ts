import { inspect } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { heldToPort } from '../../../src/keys/own-root-key.ts';
import type { GeneratedKey, RootKey } from '../../../src/keys/root-key.ts';
import { CONTEXT } from '../../contracts/root-key.ts';

const WRAPPED = Uint8Array.of(1, 2, 3);
const keyOf = (length: number): Uint8Array => new Uint8Array(length).fill(7);
const isOverwritten = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });

let given: RootKey & { id: string };
let held: RootKey;
/** The answer of the root key that is given, as its types allow or not. */
let answer: () => unknown;
const asked: unknown[][] = [];

beforeAll(loadSodium);
beforeEach(() => {
  asked.length = 0;
  const take =
    (verb: string) =>
    async (...all: unknown[]): Promise<never> => {
      asked.push([verb, ...all]);
      return (await answer()) as never;
    };
  given = { id: 'own', generate: take('generate'), unwrap: take('unwrap') };
  held = heldToPort(given);
});
afterEach(() => {
  vi.useRealTimers();
});

const VERBS = [
  ['generate', (options?: object) => held.generate(CONTEXT, options)],
  ['unwrap', (options?: object) => held.unwrap(WRAPPED, CONTEXT, options)],
] as const;

/** The answer of a verb, which holds that key. */
const withKey = (verb: string, key: Uint8Array): unknown =>
  verb === 'unwrap' ? key : { key, wrapped: WRAPPED };

describe('a root key of the caller’s', () => {
  it('has its id at the time of asking', () => {
    given.id = 'later';
    expect(held.id).toBe('later');
  });

  it('is asked with what it was asked with, and its answer is passed on', async () => {
    const { signal } = new AbortController();
    const key = keyOf(32);
    answer = () => ({ key, wrapped: WRAPPED, more: 1 });
    expect(await held.generate(CONTEXT, { signal })).toEqual({ key, wrapped: WRAPPED });
    answer = () => key;
    expect(await held.unwrap(WRAPPED, CONTEXT, { signal })).toBe(key);
    expect(asked).toEqual([
      ['generate', CONTEXT, { signal }],
      ['unwrap', WRAPPED, CONTEXT, { signal }],
    ]);
    expect(key).toEqual(keyOf(32));
  });

  it.each([1, 8_192])('may wrap a key in %i bytes', async (length) => {
    const made: GeneratedKey = { key: keyOf(32), wrapped: keyOf(length) };
    answer = () => made;
    expect(await held.generate(CONTEXT)).toEqual(made);
  });

  it.each([
    ['in no byte', new Uint8Array(0)],
    ['in 8,193 bytes', new Uint8Array(8_193)],
    ['in a text', 'wrapped'],
    ['in nothing', undefined],
    ['in a list', [1, 2, 3]],
  ])('must not wrap a key %s, and the key is overwritten', async (_, wrapped) => {
    const key = keyOf(32);
    answer = () => ({ key, wrapped });
    await expect(held.generate(CONTEXT)).rejects.toEqual(refusal('integrity'));
    expect(key).toSatisfy(isOverwritten);
  });

  it.each([0, 31, 33])('must not answer a key of %i bytes, which is overwritten', async (length) => {
    for (const [verb, ask] of VERBS) {
      const key = keyOf(length);
      answer = () => withKey(verb, key);
      await expect(ask()).rejects.toEqual(refusal('integrity'));
      expect(key).toSatisfy(isOverwritten);
    }
  });

  it.each([undefined, null, 'key', 32, {}, { key: 'k'.repeat(32), wrapped: WRAPPED }, 'k'.repeat(32)])(
    'must not answer %o',
    async (other) => {
      answer = () => other;
      for (const [, ask] of VERBS) await expect(ask()).rejects.toEqual(refusal('integrity'));
    },
  );

  it.each(VERBS)('may refuse in the words of the library: %s', async (_, ask) => {
    const refused = new MemoryError('access_denied', 'refused');
    answer = () => Promise.reject(refused);
    await expect(ask()).rejects.toBe(refused);
  });

  it.each(VERBS)(
    'that fails in its own words is unavailable, and they are passed over: %s',
    async (_, ask) => {
      answer = () => Promise.reject(new Error('the key is 77777'));
      const error = await ask().catch((reason: unknown) => reason);
      expect(error).toEqual(refusal('unavailable'));
      expect(inspect(error, { showHidden: true })).not.toContain('77777');
    },
  );

  it.each(VERBS)(
    'is waited for as long as a minute, and a key that comes later is overwritten: %s',
    async (verb, ask) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const late = Promise.withResolvers<unknown>();
      answer = () => late.promise;
      const outcome = ask().catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(59_999);
      expect(await Promise.race([outcome, 'waiting'])).toBe('waiting');
      await vi.advanceTimersByTimeAsync(1);
      expect(await outcome).toEqual(refusal('timeout'));
      const key = keyOf(32);
      late.resolve(withKey(verb, key));
      await vi.advanceTimersByTimeAsync(0);
      expect(key).toSatisfy(isOverwritten);
    },
  );

  it.each(VERBS)(
    'is left by a caller that cancels, and a key that comes later is overwritten: %s',
    async (verb, ask) => {
      const late = Promise.withResolvers<unknown>();
      answer = () => late.promise;
      const caller = new AbortController();
      const outcome = ask({ signal: caller.signal });
      caller.abort();
      await expect(outcome).rejects.toEqual(refusal('aborted'));
      const key = keyOf(32);
      late.resolve(withKey(verb, key));
      await new Promise((resolve) => setImmediate(resolve));
      expect(key).toSatisfy(isOverwritten);
    },
  );

  it.each(VERBS)('that answers nothing too late troubles nobody: %s', async (_, ask) => {
    const late = Promise.withResolvers<unknown>();
    answer = () => late.promise;
    const outcome = ask({ signal: AbortSignal.abort() });
    await expect(outcome).rejects.toEqual(refusal('aborted'));
    late.resolve(undefined);
    await new Promise((resolve) => setImmediate(resolve));
  });
});
