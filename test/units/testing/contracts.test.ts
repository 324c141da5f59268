import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { objectStoreContract } from '../../../src/testing/contracts/object-store.ts';
import { rootKeyContract } from '../../../src/testing/contracts/root-key.ts';

const contracts = {
  'object stores': objectStoreContract({ changesAll: true }),
  'root keys': rootKeyContract(),
};

describe.each(Object.entries(contracts))('The contract of %s', (_, cases) => {
  it('has a name and a time limit for each case', () => {
    expect(cases.length).toBeGreaterThan(8);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    for (const { withinMs } of cases) expect(withinMs).toBeGreaterThanOrEqual(60_000);
  });
});

describe('The contract of object stores', () => {
  it('leaves nothing in the store, although its cases run at once', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    await Promise.all(contracts['object stores'].map(({ run }) => run(store)));
    expect(await keysIn(store)).toEqual([]);
  });

  it('leaves nothing behind a case that fails, and tells a difference of megabytes in a line', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const put: ObjectStore['put'] = (key, body, options) => store.put(key, body.slice(0, 400), options);
    const short: ObjectStore = { ...boundTo(store), put };
    const failures: unknown[] = [];
    for (const { run } of objectStoreContract({ changesAll: true })) {
      await run(short).catch((error: unknown) => failures.push(error));
    }
    expect(failures.length).toBeGreaterThan(3);
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(AssertionError);
      expect(String(failure).length).toBeLessThan(2_000);
    }
    expect(await keysIn(store)).toEqual([]);
  });

  it('leaves out what a store is said to lack, and writing where it is for reading', () => {
    const all = objectStoreContract().map(({ name }) => name);
    const namesOf = (cases: ReturnType<typeof objectStoreContract>) => cases.map(({ name }) => name);
    const slow = namesOf(objectStoreContract({ lacks: ['speed'] }));
    expect(all.filter((name) => !slow.includes(name))).toEqual([
      'list pages through more than 1,000 objects, which one delete removes',
    ]);
    const reading = namesOf(objectStoreContract({ readingOnly: true }));
    expect(reading.filter((name) => /^(put|delete|a write)\b/.test(name))).toEqual([]);
    expect(reading.length).toBeLessThan(all.length);
  });
});

describe('The contract of root keys', () => {
  it('takes other codes for foreign bytes where it is told so', async () => {
    const [root, another] = [1, 2].map((byte) => envRootKey(new Uint8Array(32).fill(byte)));
    if (root === undefined || another === undefined) throw new Error('unreachable');
    const refuses = (codes?: readonly 'access_denied'[]) =>
      rootKeyContract(codes && { foreignCodes: codes }).find(({ name }) =>
        name.includes('another root key wrapped'),
      );
    await expect(refuses()?.run({ root, another })).resolves.toBeUndefined();
    await expect(refuses(['access_denied'])?.run({ root, another })).rejects.toThrow(
      'the code integrity is not among',
    );
  });
});

/** The store's methods as properties, so that some can be replaced. */
function boundTo(store: ObjectStore): ObjectStore {
  return {
    get: store.get.bind(store),
    head: store.head.bind(store),
    put: store.put.bind(store),
    delete: store.delete.bind(store),
    list: store.list.bind(store),
    changeAll: store.changeAll?.bind(store),
    [Symbol.asyncDispose]: store[Symbol.asyncDispose].bind(store),
  } as ObjectStore;
}

async function keysIn(store: ObjectStore): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { objects } of store.list({ prefix: '' })) keys.push(...objects.map(({ key }) => key));
  return keys;
}
