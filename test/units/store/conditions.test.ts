import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { checkConditions } from '../../../src/store/conditions.ts';
import type { ETag, ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { describeObjectStore } from '../../contracts/object-store.ts';
import { drawsOf } from '../../runner/draws.ts';
import {
  type Around,
  countCalls,
  interceptStore,
  keepMarks,
  noAnswer,
  recordInto,
  type StoreCall,
  sendTwice,
} from '../../stage/store-wrappers.ts';

const PROBE = 'tenants/acme/probe' as ObjectKey;
const KEY = 'tenants/acme/data/file' as ObjectKey;
const BODY = new TextEncoder().encode('sealed');

describeObjectStore('A store whose conditions are checked', () =>
  checkConditions(openSqliteObjectStore({ path: ':memory:' }), PROBE),
);

describe('checkConditions', () => {
  it('costs four requests before the very first write and three in every later process', async () => {
    const base = openSqliteObjectStore({ path: ':memory:' });
    const first = openProcess(base);
    expect(await first.store.put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
    expect(countCalls(first.calls)).toEqual({ put: 4, delete: 1 });
    const second = openProcess(base);
    await second.store.put(KEY, BODY, { mode: 'create' });
    await second.store.put(KEY, BODY, { mode: 'create' });
    expect(countCalls(second.calls)).toEqual({ put: 4, delete: 1 });
  });

  it('costs reads, unconditional writes and plain deletes nothing', async () => {
    const { store, calls } = openProcess(openSqliteObjectStore({ path: ':memory:' }));
    await store.get(KEY);
    await store.head(KEY);
    await store.put(KEY, BODY, { mode: 'overwrite' });
    await store.delete([{ key: KEY }]);
    for await (const _ of store.list({ prefix: '' }));
    expect(countCalls(calls)).toEqual({ get: 1, head: 1, put: 1, delete: 1, list: 1 });
  });

  it('closes the store below it', async () => {
    const base = openSqliteObjectStore({ path: ':memory:' });
    await checkConditions(base, PROBE)[Symbol.asyncDispose]();
    await expect(base.head(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('checks once for many concurrent writes', async () => {
    const { store, calls } = openProcess(openSqliteObjectStore({ path: ':memory:' }));
    await Promise.all(
      [1, 2, 3, 4].map((n) => store.put(`${KEY}${n}` as ObjectKey, BODY, { mode: 'create' })),
    );
    expect(countCalls(calls)).toEqual({ put: 7, delete: 1 });
  });

  it('checks before a conditional delete too', async () => {
    const { store } = openProcess(ignoreConditions(openSqliteObjectStore({ path: ':memory:' })));
    const conditional = { key: KEY, ifMatch: '"1"' as ETag };
    const plain = { key: `${KEY}-plain` as ObjectKey };
    for (const targets of [[conditional], [plain, conditional]]) {
      await expect(store.delete(targets)).rejects.toMatchObject({ code: 'misconfigured' });
    }
  });

  it('refuses a store that ignores conditions, before any write of the caller', async () => {
    const base = openSqliteObjectStore({ path: ':memory:' });
    const { store } = openProcess(ignoreConditions(base));
    for (const mode of ['create', { ifMatch: '"1"' as ETag }] as const) {
      await expect(store.put(KEY, BODY, { mode })).rejects.toMatchObject({
        code: 'misconfigured',
        message: expect.stringContaining('ignores If-None-Match'),
      });
    }
    expect(await base.head(KEY)).toBeUndefined();
  });

  it('takes a failed check for nothing and repeats it at the next write', async () => {
    let fails = true;
    const { store, calls } = openProcess(
      openSqliteObjectStore({ path: ':memory:' }),
      async (call, proceed) => {
        if (fails && call.verb === 'put' && call.key === PROBE) throw noAnswer();
        return proceed();
      },
    );
    await expect(store.put(KEY, BODY, { mode: 'create' })).rejects.toMatchObject({
      code: 'unavailable',
      cause: { code: 'outcome_unknown' },
    });
    expect(countCalls(calls)).toEqual({ put: 1 });
    fails = false;
    expect(await store.put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
  });

  it('takes a check that met its own first attempt for a condition that was honoured', async () => {
    const { store, calls } = openProcess(openSqliteObjectStore({ path: ':memory:' }), (call, proceed) =>
      call.verb === 'put' && call.key === PROBE ? sendTwice(proceed) : proceed(),
    );
    expect(await store.put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
    expect(countCalls(calls)).toEqual({ put: 3, delete: 1, head: 1 });
  });

  it('does not fail for others when one caller cancels', async () => {
    const { store } = openProcess(openSqliteObjectStore({ path: ':memory:' }), async (_, proceed) => {
      await new Promise((resolve) => setImmediate(resolve));
      return proceed();
    });
    const controller = new AbortController();
    const given = store.put(KEY, BODY, { mode: 'create', signal: controller.signal });
    const other = store.put(`${KEY}2` as ObjectKey, BODY, { mode: 'create' });
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: 'aborted' });
    expect(await other).toHaveProperty('etag');
    expect(await store.head(KEY)).toBeUndefined();
  });

  it('ends no process when it fails after its only caller has cancelled, before the check or during it', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      for (const abortsBefore of [true, false]) {
        const { promise: fails, reject: fail } = Promise.withResolvers<never>();
        const { store } = openProcess(openSqliteObjectStore({ path: ':memory:' }), () => fails);
        const controller = new AbortController();
        if (abortsBefore) controller.abort();
        const given = store.put(KEY, BODY, { mode: 'create', signal: controller.signal });
        if (!abortsBefore) controller.abort();
        await expect(given).rejects.toMatchObject({ code: 'aborted' });
        fail(noAnswer());
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } finally {
      process.off('unhandledRejection', note);
    }
    expect(unhandled).toEqual([]);
  });

  it('is shared by the tenants of one process on one store', async () => {
    const calls: StoreCall[] = [];
    const wire = interceptStore(openSqliteObjectStore({ path: ':memory:' }), recordInto(calls));
    await checkConditions(wire, PROBE).put(KEY, BODY, { mode: 'create' });
    const other = checkConditions(wire, 'tenants/other/probe' as ObjectKey);
    await other.put('tenants/other/data/file' as ObjectKey, BODY, { mode: 'create' });
    expect(countCalls(calls)).toEqual({ put: 5, delete: 1 });
  });

  it('refuses a store that creates nothing where something was deleted, before any write of the caller', async () => {
    for (const isProbed of [false, true]) {
      const base = openSqliteObjectStore({ path: ':memory:' });
      if (isProbed) await base.put(PROBE, BODY, { mode: 'create' });
      const { store, calls } = openProcess(keepMarks(base));
      for (let write = 0; write < 2; write++) {
        await expect(store.put(KEY, BODY, { mode: 'create' })).rejects.toMatchObject({
          code: 'misconfigured',
          message: expect.stringContaining('where one was deleted'),
        });
      }
      expect(calls.filter((call) => call.verb === 'put' && call.key === KEY)).toEqual([]);
      const left: string[] = [];
      for await (const { objects } of base.list({ prefix: '' })) left.push(...objects.map(({ key }) => key));
      expect(left).toEqual([]);
    }
  });

  it('finds nothing amiss while any number of processes try the same probe', async () => {
    const base = shuffleTurns(openSqliteObjectStore({ path: ':memory:' }));
    const writes = Array.from({ length: 40 }, (_, n) =>
      openProcess(base).store.put(`${KEY}${n}` as ObjectKey, BODY, { mode: 'create' }),
    );
    for (const written of await Promise.all(writes)) expect(written).toHaveProperty('etag');
  });

  it('leaves the delete out for credentials that may not delete', async () => {
    const { store, calls } = openProcess(
      openSqliteObjectStore({ path: ':memory:' }),
      async (call, proceed) => {
        if (call.verb === 'delete') throw new MemoryError('access_denied', 'no');
        return proceed();
      },
    );
    expect(await store.put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
    expect(countCalls(calls)).toEqual({ put: 3, delete: 1 });
  });

  it('takes a delete without an answer for nothing, and repeats the check at the next write', async () => {
    let fails = true;
    const base = openSqliteObjectStore({ path: ':memory:' });
    const { store } = openProcess(base, async (call, proceed) => {
      if (fails && call.verb === 'delete') throw noAnswer();
      return proceed();
    });
    await expect(store.put(KEY, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'unavailable' });
    fails = false;
    expect(await store.put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
  });
});

/** Each request takes a few turns of the event loop, drawn anew. */
function shuffleTurns(store: ObjectStore): ObjectStore {
  const draw = drawsOf('turns of the event loop');
  return interceptStore(store, async (_, proceed) => {
    for (let turns = Math.floor(draw() * 6); turns > 0; turns--) await new Promise(setImmediate);
    const answer = await proceed();
    for (let turns = Math.floor(draw() * 6); turns > 0; turns--) await new Promise(setImmediate);
    return answer;
  });
}

/** A process of its own: what another one found out about the store is unknown to it. */
function openProcess(
  base: ObjectStore,
  around: Around = (_, proceed) => proceed(),
): { readonly store: ObjectStore; readonly calls: readonly StoreCall[] } {
  const calls: StoreCall[] = [];
  const record = recordInto(calls);
  const wire = interceptStore(base, (call, proceed) => record(call, () => around(call, proceed)));
  return { store: checkConditions(wire, PROBE), calls };
}

/** A server without conditional writes, or a proxy that removes the If-* headers. */
function ignoreConditions(store: ObjectStore): ObjectStore {
  return {
    get: store.get,
    head: store.head,
    put: (key, body) => store.put(key, body, { mode: 'overwrite' }),
    delete: (targets) => store.delete(targets.map(({ key }) => ({ key }))),
    list: store.list,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
