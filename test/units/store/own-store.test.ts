import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { heldToPort } from '../../../src/store/own-store.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { describeObjectStore } from '../../contracts/object-store.ts';

const KEY = 'objects/a' as ObjectKey;
const BODY = new Uint8Array([1]);
const MIB = 1024 * 1024;

describeObjectStore(
  'a store of the caller’s',
  () => heldToPort(openSqliteObjectStore({ path: ':memory:' })),
  {
    changesAll: true,
  },
);

type Request = (store: ObjectStore, signal?: AbortSignal) => Promise<unknown>;

const changes = (bytes = 1): Parameters<NonNullable<ObjectStore['changeAll']>>[0] => ({
  puts: [{ key: KEY, body: new Uint8Array(bytes), mode: 'create' }],
  deletes: [],
});
const READS: Readonly<Record<string, Request>> = {
  get: (store, signal) => store.get(KEY, { signal }),
  head: (store, signal) => store.head(KEY, { signal }),
  async list(store, signal) {
    for await (const _ of store.list({ prefix: '', signal }));
  },
};
const WRITES: Readonly<Record<string, Request>> = {
  put: (store, signal) => store.put(KEY, BODY, { mode: 'create', signal }),
  delete: (store, signal) => store.delete([{ key: KEY }], { signal }),
  changeAll: async (store, signal) => store.changeAll?.(changes(), { signal }),
};
const REQUESTS = { ...READS, ...WRITES };

/** A store that answers every request by `answer`, and counts them. */
function answering(answer: () => Promise<never>): { readonly store: ObjectStore; count: number } {
  const asked = { store: undefined as unknown as ObjectStore, count: 0 };
  const meet = (): Promise<never> => {
    asked.count += 1;
    return answer();
  };
  asked.store = heldToPort({
    get: meet,
    head: meet,
    put: meet,
    delete: meet,
    changeAll: meet,
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: meet }) }),
    [Symbol.asyncDispose]: async () => {},
  });
  return asked;
}

const never = (): Promise<never> => new Promise(() => {});
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => Object(error).code,
  );

describe.each(Object.entries(REQUESTS))('the request %s to a store of the caller’s', (verb, request) => {
  const isWrite = verb in WRITES;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is not sent once its caller has aborted', async () => {
    const { store, count } = answering(never);
    expect(await codeOf(request(store, AbortSignal.abort()))).toBe('aborted');
    expect(count).toBe(0);
  });

  it('ends with its signal, whatever the store does', async () => {
    const controller = new AbortController();
    const ending = codeOf(request(answering(never).store, controller.signal));
    await vi.advanceTimersByTimeAsync(1);
    controller.abort();
    expect(await ending).toBe(isWrite ? 'outcome_unknown' : 'aborted');
  });

  it('ends after a minute without an answer, and no earlier', async () => {
    let ended: unknown;
    void codeOf(request(answering(never).store)).then((code) => {
      ended = code;
    });
    await vi.advanceTimersByTimeAsync(59_999);
    expect(ended).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toBe(isWrite ? 'outcome_unknown' : 'timeout');
  });

  it.each([
    ['a MemoryError', new MemoryError('access_denied', 'no')],
    ['an error of its own', new TypeError('no')],
  ])('passes on what the store throws: %s', async (_, error) => {
    await expect(request(answering(() => Promise.reject(error)).store)).rejects.toBe(error);
  });
});

describe('a store of the caller’s', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ['a read of at most 5 MiB', 1, (store) => store.get(KEY, { maxBytes: 5 * MIB })],
    ['a read of more', 2, (store) => store.get(KEY, { maxBytes: 5 * MIB + 1 })],
    ['a write of 5 MiB', 1, (store) => store.put(KEY, new Uint8Array(5 * MIB), { mode: 'create' })],
    ['a write of more', 2, (store) => store.put(KEY, new Uint8Array(5 * MIB + 1), { mode: 'create' })],
    ['a change of more', 2, async (store) => store.changeAll?.(changes(5 * MIB + 1))],
    [
      'a delete of 1,000 keys',
      1,
      (store) => store.delete(Array.from({ length: 1_000 }, () => ({ key: KEY }))),
    ],
    [
      'a delete of 1,001 keys',
      2,
      (store) => store.delete(Array.from({ length: 1_001 }, () => ({ key: KEY }))),
    ],
    ['a delete of none', 1, (store) => store.delete([])],
  ] as readonly (readonly [string, number, Request])[])(
    'has for %s %i minutes',
    async (_, minutes, request) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      let isOver = false;
      void codeOf(request(answering(never).store)).then(() => {
        isOver = true;
      });
      await vi.advanceTimersByTimeAsync(minutes * 60_000 - 1);
      expect(isOver).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(isOver).toBe(true);
    },
  );

  it('is told that a listing ends early, and waited for', async () => {
    let isEnded = false;
    const base = openSqliteObjectStore({ path: ':memory:' });
    const store = heldToPort({
      ...base,
      async *list() {
        try {
          for (;;) yield { objects: [], servedAt: 0 };
        } finally {
          await new Promise(setImmediate);
          isEnded = true;
        }
      },
    });
    for await (const _ of store.list({ prefix: '' })) break;
    expect(isEnded).toBe(true);
    await base[Symbol.asyncDispose]();
  });

  it('is closed with the memory that uses it', async () => {
    let isClosed = false;
    const base = openSqliteObjectStore({ path: ':memory:' });
    const dispose = async (): Promise<void> => {
      isClosed = true;
      await base[Symbol.asyncDispose]();
    };
    await heldToPort({ ...base, [Symbol.asyncDispose]: dispose })[Symbol.asyncDispose]();
    expect(isClosed).toBe(true);
  });

  it('changes one key after the other where it cannot change several as one', () => {
    const { changeAll: _, ...plain } = openSqliteObjectStore({ path: ':memory:' });
    expect(heldToPort(plain)).not.toHaveProperty('changeAll');
  });
});
