import { beforeAll, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { sameBytes } from '../../../src/format/encoding.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { createKeySearch } from '../../../src/keys/key-search.ts';
import { createKeyringCache, type LoadedKeyring } from '../../../src/keys/keyring-cache.ts';
import { createAges } from '../../../src/time.ts';
import { type Around, interceptStore } from '../../stage/store-wrappers.ts';
import { createSite, TEST_ROOT_KEY } from '../../stage/test-tree.ts';

beforeAll(loadSodium);

describe('the search for a key', () => {
  const id = (n: number): Uint8Array => Uint8Array.of(n >> 8, n & 255);

  function searching(known: readonly number[] = []) {
    let now = 0;
    const looks: unknown[] = [];
    const find = (keyId: Uint8Array) => known.find((n) => sameBytes(id(n), keyId));
    const keyring = { keys: { find } } as unknown as LoadedKeyring;
    const search = createKeySearch({
      ages: createAges({ clock: () => now, monotonic: () => now }),
      everyMs: 30_000,
      async look(request) {
        looks.push(request);
        now += 20_000;
        return keyring;
      },
      load: async () => undefined,
    });
    const pass = (ms: number): void => {
      now += ms;
    };
    return { search, looks, keyring, pass };
  }

  it('remembers 256 keys that are missing, and forgets the first of more', async () => {
    const { search, looks, pass } = searching();
    for (let n = 0; n < 256; n++) await search(id(n));
    expect(looks).toHaveLength(256);
    expect(await search(id(0))).toBe('no_keyring');
    expect(await search(id(256))).toBe('withheld');
    pass(10_000);
    await search(id(256));
    expect(looks).toHaveLength(257);
    pass(30_000);
    await search(id(0));
    expect(looks).toHaveLength(258);
  });

  it('counts from the beginning of the look before, and looks with the caller’s signal', async () => {
    const { search, looks, pass } = searching();
    const { signal } = new AbortController();
    for (let n = 0; n < 256; n++) await search(id(n), { signal });
    pass(9_999);
    expect(await search(id(256))).toBe('withheld');
    pass(1);
    expect(await search(id(256), { signal })).not.toBe('withheld');
    expect(looks).toEqual(Array.from({ length: 257 }, () => ({ signal })));
  });

  it('does not take for missing what it has found', async () => {
    const { search, looks, keyring } = searching([7]);
    for (let times = 0; times < 2; times++) expect(await search(id(7))).toBe(keyring);
    expect(looks).toHaveLength(2);
  });
});

describe('the keyring in the cache', () => {
  async function cached(ttlMs: number) {
    const site = await createSite();
    const client = await site.client();
    await client.open();
    let around: Around = (_, proceed) => proceed();
    let gets = 0;
    const store = createKeyringCache({
      store: interceptStore(site.base, (call, proceed) => {
        if (call.verb === 'get') gets++;
        return around(call, proceed);
      }),
      layout: client.layout,
      rootKeys: [envRootKey(TEST_ROOT_KEY)],
      ttlMs,
      clock: site.time.clock,
      monotonic: site.time.clock,
    });
    const fail = (code: 'access_denied' | 'unavailable' | undefined): void => {
      around = (_, proceed) =>
        code === undefined ? proceed() : Promise.reject(new MemoryError(code, 'refused'));
    };
    return { site, store, fail, gets: () => gets };
  }

  it('is used no longer once the store denies access to it', async () => {
    const { site, store, fail } = await cached(1_000);
    const loaded = await store.load();
    fail('access_denied');
    await site.time.pause(1_000);
    await expect(store.load()).rejects.toMatchObject({ code: 'access_denied' });
    expect(() => loaded?.keys.active).toThrow(expect.objectContaining({ code: 'access_denied' }));
  });

  it('is loaded again at once when a look has succeeded after a failure', async () => {
    const { store, fail } = await cached(0);
    fail('unavailable');
    await expect(store.load()).rejects.toMatchObject({ code: 'unavailable' });
    fail(undefined);
    await expect(store.load()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.look()).toBeDefined();
    expect(await store.load()).toBeDefined();
  });

  it('is looked for in the background by who seals, but not within thirty seconds of the last look', async () => {
    const { site, store, gets } = await cached(1_000);
    const loaded = await store.load();
    await site.time.pause(29_999);
    expect([loaded?.keys.active.version, gets()]).toEqual([1, 1]);
    await site.time.pause(1);
    expect(loaded?.keys.active.version).toBe(1);
    await store.load();
    expect(gets()).toBe(2);
  });
});
