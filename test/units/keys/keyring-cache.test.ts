import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { SHRED_MARKER } from '../../../src/format/keyring-bytes.ts';
import { open, seal } from '../../../src/format/object.ts';
import {
  createLayout,
  type LogicalName,
  type ObjectKey,
  parseTenantId,
} from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { newVersion } from '../../../src/format/version.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { openKeyring, rotateKeyring, sealKeyring } from '../../../src/keys/keyring.ts';
import {
  createKeyringCache,
  type KeyringCache,
  type KeyringCacheOptions,
} from '../../../src/keys/keyring-cache.ts';
import { activate } from '../../../src/keys/loaded-keyring.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import { type ObjectStore, resentConflict } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { added, format1, fromHex, input } from '../../format/format-vectors.ts';
import { vectorBytes } from '../../format/vector-parts.ts';

const layout = createLayout({ prefix: 'p', tenant: parseTenantId('acme') });
const file = `${layout.data}file` as ObjectKey;
const name = '/memories/a' as LogicalName;
const root = (): RootKey => envRootKey(input('root'));

let base: ObjectStore;
const opened: KeyringCache[] = [];

beforeAll(loadSodium);
beforeEach(() => {
  base = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(async () => {
  for (const store of opened.splice(0)) store.close();
  await base[Symbol.asyncDispose]();
});

/** Two clocks that move only when told. */
function handClocks() {
  const time = { wall: 1_700_000_000_000, steady: 5_000 };
  return {
    time,
    clock: () => time.wall,
    monotonic: () => time.steady,
    advance(ms: number) {
      time.wall += ms;
      time.steady += ms;
    },
  };
}

function keyrings(options: Partial<KeyringCacheOptions> = {}): KeyringCache {
  const store = createKeyringCache({ store: base, layout, rootKeys: [root()], ...options });
  opened.push(store);
  return store;
}

/** The store below with some verbs replaced, counting the requests that reach it. */
function tapped(replaced: Partial<Pick<ObjectStore, 'get' | 'put' | 'list'>> = {}) {
  const requests: string[] = [];
  const store: ObjectStore = {
    get: (...args) => {
      requests.push('get');
      return (replaced.get ?? base.get)(...args);
    },
    head: (...args) => base.head(...args),
    put: (...args) => {
      requests.push('put');
      return (replaced.put ?? base.put)(...args);
    },
    delete: (...args) => base.delete(...args),
    list: (...args) => {
      requests.push('list');
      return (replaced.list ?? base.list)(...args);
    },
    [Symbol.asyncDispose]: async () => {},
  };
  return { store, requests };
}

/** The first answer to a GET is there, `seen`, and does not come before `answer` is called. */
function tappedLate() {
  const [seen, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isFirst = true;
  const { store, requests } = tapped({
    async get(key, options) {
      const isLate = isFirst;
      isFirst = false;
      const found = await base.get(key, options);
      if (isLate) {
        seen.resolve();
        await answer.promise;
      }
      return found;
    },
  });
  return { store, requests, seen: seen.promise, answer: answer.resolve };
}

function countingRoot(): { readonly rootKey: RootKey; readonly calls: string[] } {
  const calls: string[] = [];
  const inner = root();
  const rootKey: RootKey = {
    get id() {
      return inner.id;
    },
    generate(context) {
      calls.push('generate');
      return inner.generate(context);
    },
    unwrap(wrapped, context) {
      calls.push('unwrap');
      return inner.unwrap(wrapped, context);
    },
  };
  return { rootKey, calls };
}

async function write(bytes: Uint8Array, key: ObjectKey = layout.keyring): Promise<void> {
  await base.put(key, bytes, { mode: 'overwrite' });
}

async function storedKeyring(): Promise<Uint8Array> {
  const found = await base.get(layout.keyring);
  if (typeof found !== 'object') throw new Error('no keyring is stored');
  return found.body;
}

async function rotateInStore(): Promise<void> {
  const keyring = await openKeyring({ bytes: await storedKeyring(), tenant: 'acme', rootKeys: [root()] });
  const rotated = rotateKeyring(keyring, { random, created: 1 });
  await write(await sealKeyring({ keyring: rotated, tenant: 'acme', rootKey: root(), random }));
}

const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });

describe('KeyringCache.load', () => {
  it('finds nothing, and writes nothing, where nothing is', async () => {
    expect(await keyrings().load()).toBeUndefined();
    expect(await base.get(layout.keyring)).toBeUndefined();
  });

  it('creates a keyring when asked to, and finds it ever after', async () => {
    const created = await keyrings().load({ create: true });
    expect(created?.epoch).toBe(1);
    expect(created?.names.mode).toBe('encrypted');
    if (created === undefined) throw new Error('nothing was created');
    const object = seal({
      keys: created.keys,
      name,
      content: Uint8Array.of(1),
      version: newVersion({ mtime: 1, random }),
      random,
    });
    const found = await keyrings().load();
    if (found === undefined) throw new Error('nothing was found');
    expect(open({ keys: found.keys, name, object }).content).toEqual(Uint8Array.of(1));
    expect(found.names.encodeDirectory(['a', 'b'])).toBe(created.names.encodeDirectory(['a', 'b']));
  });

  it('needs one GET and one unwrap to find it', async () => {
    await keyrings().load({ create: true });
    const [{ store, requests }, { rootKey, calls }] = [tapped(), countingRoot()];
    const warm = keyrings({ store, rootKeys: [rootKey] });
    await warm.load();
    await warm.load({ create: true });
    expect(requests).toEqual(['get']);
    expect(calls).toEqual(['unwrap']);
  });

  it('needs one generate to create it, and one unwrap to prove that it opens', async () => {
    const [{ store, requests }, { rootKey, calls }] = [tapped(), countingRoot()];
    await keyrings({ store, rootKeys: [rootKey] }).load({ create: true });
    expect(requests).toEqual(['get', 'list', 'put']);
    expect(calls).toEqual(['generate', 'unwrap']);
  });

  it('makes one keyring when ten processes race for it', async () => {
    const stores = Array.from({ length: 10 }, () => keyrings());
    const loaded = await Promise.all(stores.map((store) => store.load({ create: true })));
    expect(new Set(loaded.map((keyring) => keyring?.keys.keyringId.join())).size).toBe(1);
    expect(new Set(loaded.map((keyring) => keyring?.keys.active.keyId.join())).size).toBe(1);
    const ring = await openKeyring({ bytes: await storedKeyring(), tenant: 'acme', rootKeys: [root()] });
    expect(loaded[0]?.keys.keyringId).toEqual(ring.keyringId);
  });

  it('serves concurrent calls with one load', async () => {
    await keyrings().load({ create: true });
    const [{ store, requests }, { rootKey, calls }] = [tapped(), countingRoot()];
    const shared = keyrings({ store, rootKeys: [rootKey] });
    const loaded = await Promise.all(Array.from({ length: 20 }, () => shared.load({ create: true })));
    expect(new Set(loaded).size).toBe(1);
    expect([requests, calls]).toEqual([['get'], ['unwrap']]);
  });

  it('creates for the one who asks although a look without creating is under way', async () => {
    const shared = keyrings();
    const [looked, created] = await Promise.all([shared.load(), shared.load({ create: true })]);
    expect(looked).toBeUndefined();
    expect(created?.epoch).toBe(1);
  });

  it('does not answer with the absence that a load begun earlier has seen', async () => {
    const [seen, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { store } = tapped({
      async get(...args) {
        const stored = await base.get(...args);
        seen.resolve();
        await answer.promise;
        return stored;
      },
    });
    const shared = keyrings({ store });
    const earlier = shared.load();
    await seen.promise;
    await keyrings().load({ create: true });
    const later = shared.load();
    answer.resolve();
    expect(await later).toBeDefined();
    await earlier.catch(() => undefined);
  });

  it('writes names in the configured mode at creation', async () => {
    const created = await keyrings({ nameMode: 'plain' }).load({ create: true });
    expect(created?.names.mode).toBe('plain');
    expect((await keyrings().load())?.names.mode).toBe('plain');
  });

  it('refuses a stored name mode that is not the configured one', async () => {
    await keyrings({ nameMode: 'plain' }).load({ create: true });
    await expect(keyrings({ nameMode: 'encrypted' }).load()).rejects.toEqual(refusal('misconfigured'));
  });

  it('wraps with the first root key and unwraps with any', async () => {
    const second = envRootKey(input('root2'));
    await keyrings({ rootKeys: [second, root()] }).load({ create: true });
    expect(await keyrings({ rootKeys: [root(), second] }).load()).toBeDefined();
    await expect(keyrings().load()).rejects.toEqual(refusal('key_unavailable'));
  });

  it('refuses to create without a root key', async () => {
    await expect(keyrings({ rootKeys: [] }).load({ create: true })).rejects.toEqual(refusal('misconfigured'));
  });

  it.each([true, false])('refuses data without a keyring, create: %s', async (create) => {
    await write(Uint8Array.of(1), file);
    await expect(keyrings().load({ create })).rejects.toEqual(refusal('key_unavailable'));
    expect(await base.get(layout.keyring)).toBeUndefined();
  });

  it('creates beside the objects of other tenants and of no file', async () => {
    await write(Uint8Array.of(1), 'p/tenants/acme2/data/file' as ObjectKey);
    await write(Uint8Array.of(1), layout.probe);
    expect(await keyrings().load({ create: true })).toBeDefined();
  });

  it('finds the keyring that appears together with data after its first look', async () => {
    let looks = 0;
    const { store } = tapped({
      async get(key, options) {
        const found = await base.get(key, options);
        if (looks++ === 0) {
          await keyrings().load({ create: true });
          await write(Uint8Array.of(1), file);
        }
        return found;
      },
    });
    expect((await keyrings({ store }).load())?.epoch).toBe(1);
  });

  it('looks through pages on which nothing is shown', async () => {
    const { store } = tapped({
      async *list(options) {
        yield { objects: [], servedAt: 0 };
        yield* base.list(options);
      },
    });
    await write(Uint8Array.of(1), file);
    await expect(keyrings({ store }).load({ create: true })).rejects.toEqual(refusal('key_unavailable'));
  });

  it('refuses a destroyed tenant', async () => {
    await write(SHRED_MARKER);
    await expect(keyrings().load({ create: true })).rejects.toEqual(refusal('key_unavailable'));
    expect(await storedKeyring()).toEqual(SHRED_MARKER);
  });

  it('refuses an object that is larger than a keyring can be', async () => {
    await write(new Uint8Array(16_385));
    const tooLarge = await keyrings()
      .load()
      .catch((error: unknown) => error);
    expect(tooLarge).toEqual(refusal('integrity'));
    await write(new Uint8Array(16_384));
    const changed = await keyrings()
      .load()
      .catch((error: unknown) => error);
    const told = ({ message, details, cause }: MemoryError) => ({ message, details, cause });
    expect(told(tooLarge as MemoryError)).toEqual(told(changed as MemoryError));
  });

  it('refuses the keyring of another tenant', async () => {
    await write(vectorBytes('globex'));
    await expect(keyrings().load()).rejects.toEqual(refusal('integrity'));
  });

  it('finds every key of the ring by its id, the last one active', async () => {
    await write(vectorBytes('two'));
    const loaded = await keyrings().load();
    expect(loaded?.keys.active.version).toBe(2);
    expect(loaded?.keys.find(fromHex(format1.keys['keyId1'] ?? ''))?.version).toBe(1);
    expect(loaded?.keys.find(fromHex(format1.keys['keyId2'] ?? ''))?.version).toBe(2);
    expect(loaded?.keys.find(input('zero16'))).toBeUndefined();
  });
});

describe('KeyringCache.load after a lost answer', () => {
  const lost = () => new MemoryError('outcome_unknown', 'the answer was lost');

  it('goes on with its own keyring when the write had landed', async () => {
    const { store, requests } = tapped({
      async put(...args) {
        await base.put(...args);
        throw lost();
      },
    });
    const { rootKey, calls } = countingRoot();
    expect((await keyrings({ store, rootKeys: [rootKey] }).load({ create: true }))?.epoch).toBe(1);
    expect(requests).toEqual(['get', 'list', 'put', 'get']);
    expect(calls).toEqual(['generate', 'unwrap']);
    expect(await keyrings().load()).toBeDefined();
  });

  it('takes its own keyring for its own when an earlier attempt met the condition', async () => {
    const { store } = tapped({
      async put(...args) {
        await base.put(...args);
        throw resentConflict();
      },
    });
    expect((await keyrings({ store }).load({ create: true }))?.epoch).toBe(1);
  });

  it('sends the same bytes again when the write had not landed', async () => {
    const sent: string[] = [];
    const { store } = tapped({
      async put(key, body, options) {
        sent.push(Buffer.from(body).toString('hex'));
        if (sent.length === 1) throw lost();
        return base.put(key, body, options);
      },
    });
    expect((await keyrings({ store }).load({ create: true }))?.epoch).toBe(1);
    expect(sent).toHaveLength(2);
    expect(new Set(sent).size).toBe(1);
  });

  it('uses the keyring that is there when another one won', async () => {
    const { store } = tapped({
      async put() {
        await keyrings().load({ create: true });
        throw lost();
      },
    });
    const loaded = await keyrings({ store }).load({ create: true });
    const ring = await openKeyring({ bytes: await storedKeyring(), tenant: 'acme', rootKeys: [root()] });
    expect(loaded?.keys.keyringId).toEqual(ring.keyringId);
  });

  it('refuses the keyring that is there when it does not open', async () => {
    const { store } = tapped({
      async put() {
        await write(vectorBytes('globex'));
        throw lost();
      },
    });
    await expect(keyrings({ store }).load({ create: true })).rejects.toEqual(refusal('integrity'));
  });

  it('ends as unavailable when no attempt can be confirmed', async () => {
    let attempts = 0;
    const { store } = tapped({
      async put() {
        attempts += 1;
        throw lost();
      },
    });
    await expect(keyrings({ store }).load({ create: true })).rejects.toEqual(refusal('unavailable'));
    expect(attempts).toBe(3);
  });
});

describe('KeyringCache and its time to live', () => {
  it.each([
    ['both clocks', 300_000, 300_000],
    ['the wall clock alone, as after a freeze', 300_000, 0],
    ['the monotonic clock alone', 0, 300_000],
    ['a wall clock that was set back', -1, 10],
  ])('reads and unwraps again after it by %s', async (_, wall, steady) => {
    await keyrings().load({ create: true });
    const [{ store, requests }, { rootKey, calls }, clocks] = [tapped(), countingRoot(), handClocks()];
    const cached = keyrings({ store, rootKeys: [rootKey], ...clocks });
    const first = await cached.load();
    clocks.time.wall += wall;
    clocks.time.steady += steady;
    expect(await cached.load()).toBe(first);
    expect(requests).toEqual(['get', 'get']);
    expect(calls).toEqual(['unwrap', 'unwrap']);
  });

  it('serves from the cache until then', async () => {
    const [{ store, requests }, clocks] = [tapped(), handClocks()];
    const cached = keyrings({ store, ttlMs: 1_000, ...clocks });
    await cached.load({ create: true });
    const before = requests.length;
    clocks.advance(799);
    await cached.load();
    expect(requests).toHaveLength(before);
    clocks.advance(201);
    await cached.load();
    expect(requests).toHaveLength(before + 1);
  });

  it('is loaded ahead once in the last fifth of it, and nobody waits for that', async () => {
    await keyrings().load({ create: true });
    const [clocks, { rootKey, calls }] = [handClocks(), countingRoot()];
    const late = Promise.withResolvers<void>();
    const slow: RootKey = {
      id: rootKey.id,
      generate: rootKey.generate,
      async unwrap(...asked) {
        if (calls.length > 0) await late.promise;
        return rootKey.unwrap(...asked);
      },
    };
    const { store, requests } = tapped();
    const cached = keyrings({ store, rootKeys: [slow], ttlMs: 100_000, ...clocks });
    const first = await cached.load();
    clocks.advance(80_000);
    for (let call = 0; call < 5; call++) expect(await cached.load()).toBe(first);
    await vi.waitFor(() => expect(requests).toEqual(['get', 'get']));
    clocks.advance(19_999);
    expect(await cached.load()).toBe(first);
    clocks.advance(1);
    const waiting = cached.load();
    expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits');
    late.resolve();
    expect(await waiting).toBe(first);
    // It is as old as the beginning of its load, which lies 20 s back.
    clocks.advance(59_999);
    await cached.load();
    clocks.advance(20_001);
    expect(calls).toEqual(['unwrap', 'unwrap']);
    await cached.load();
    expect(calls).toEqual(['unwrap', 'unwrap', 'unwrap']);
    expect(requests).toEqual(['get', 'get', 'get']);
  });

  it('ends as before for a root key that refuses a load ahead', async () => {
    await keyrings().load({ create: true });
    const [clocks, inner] = [handClocks(), root()];
    let refusal: MemoryError | undefined;
    const revoked: RootKey = {
      id: inner.id,
      generate: inner.generate,
      unwrap: (...asked) => (refusal === undefined ? inner.unwrap(...asked) : Promise.reject(refusal)),
    };
    const { store, requests } = tapped();
    const cached = keyrings({ store, rootKeys: [revoked], ttlMs: 100_000, ...clocks });
    const loaded = await cached.load();
    refusal = new MemoryError('unavailable', 'down');
    clocks.advance(80_000);
    // One that may pass is tried again every ten seconds, and takes nothing away.
    for (let at = 80; at < 100; at++) {
      expect(await cached.load()).toBe(loaded);
      await vi.waitFor(() => expect(requests).toHaveLength(at < 90 ? 2 : 3));
      await new Promise((resolve) => setImmediate(resolve));
      clocks.advance(1_000);
    }
    await expect(cached.load()).rejects.toEqual(refusal);
    refusal = undefined;
    clocks.advance(1_000);
    expect(await cached.load()).toBe(loaded);
    refusal = new MemoryError('access_denied', 'revoked');
    clocks.advance(80_000);
    await cached.load();
    await vi.waitFor(() => expect(() => loaded?.keys.active).toThrow('revoked'));
    await expect(cached.load()).rejects.toEqual(refusal);
  });

  it('counts from the start of the load', async () => {
    await keyrings().load({ create: true });
    const clocks = handClocks();
    const { store, requests } = tapped({
      async get(...args) {
        clocks.advance(600);
        return base.get(...args);
      },
    });
    const cached = keyrings({ store, ttlMs: 1_000, ...clocks });
    await cached.load();
    clocks.advance(400);
    await cached.load();
    expect(requests).toEqual(['get', 'get']);
  });

  it('no longer serves a key that its root key refuses', async () => {
    await keyrings().load({ create: true });
    const clocks = handClocks();
    const inner = root();
    let revoked = false;
    const rootKey: RootKey = {
      id: inner.id,
      generate: inner.generate,
      async unwrap(...args) {
        if (revoked) throw new MemoryError('access_denied', 'revoked');
        return inner.unwrap(...args);
      },
    };
    const cached = keyrings({ rootKeys: [rootKey], ...clocks });
    await cached.load();
    revoked = true;
    clocks.advance(300_000);
    await expect(cached.load()).rejects.toEqual(refusal('access_denied'));
  });

  it.each([-1, 900_001, Number.NaN])('refuses %d ms', (ttlMs) => {
    expect(() => keyrings({ ttlMs })).toThrow(refusal('misconfigured'));
    expect(() => keyrings({ ttlMs })).toThrow('the time to live of a keyring');
  });

  it.each([
    [999, 1],
    [1_000, 2],
  ])('of 0 ms shares a load that takes %i ms among those who wait, and reads %i times', async (ms, reads) => {
    await keyrings().load({ create: true });
    const clocks = handClocks();
    const { store, requests } = tapped({
      async get(...args) {
        if (requests.length === 1) clocks.advance(ms);
        return base.get(...args);
      },
    });
    const cached = keyrings({ store, ttlMs: 0, ...clocks });
    const [first, second] = await Promise.all([cached.load(), cached.load()]);
    expect(first).toBe(second);
    expect(requests).toHaveLength(reads);
  });

  it('takes the answer of a load of its own, however long that takes', async () => {
    await keyrings().load({ create: true });
    const clocks = handClocks();
    const { store, requests } = tapped({
      async get(...args) {
        clocks.advance(60_000);
        return base.get(...args);
      },
    });
    expect((await keyrings({ store, ttlMs: 0, ...clocks }).load())?.epoch).toBe(1);
    expect(requests).toEqual(['get']);
  });

  it('finds nothing by one look', async () => {
    const { store, requests } = tapped();
    expect(await keyrings({ store }).load()).toBeUndefined();
    expect(requests).toEqual(['get', 'list']);
  });
});

describe('KeyringCache and failures', () => {
  function failing(code: 'unavailable' | 'aborted' | 'access_denied') {
    const state = { fails: true };
    const tap = tapped({
      async get(...args) {
        if (state.fails) throw new MemoryError(code, 'no');
        return base.get(...args);
      },
    });
    return { ...tap, state };
  }

  it.each([
    ['a second', 'that may pass by itself', 'unavailable', 1_000],
    ['ten seconds', 'that does not', 'access_denied', 10_000],
  ] as const)('remembers for %s one %s', async (_, __, code, rememberedMs) => {
    const [{ store, requests, state }, clocks] = [failing(code), handClocks()];
    const cached = keyrings({ store, ...clocks });
    await expect(cached.load()).rejects.toEqual(refusal(code));
    state.fails = false;
    clocks.advance(rememberedMs - 1);
    await expect(cached.load()).rejects.toEqual(refusal(code));
    expect(requests).toEqual(['get']);
    clocks.advance(1);
    expect(await cached.load()).toBeUndefined();
  });

  it('shares one among those who wait for it', async () => {
    const { store, requests } = failing('access_denied');
    const store1 = keyrings({ store });
    const results = await Promise.allSettled([store1.load(), store1.load(), store1.load({ create: true })]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(requests).toEqual(['get']);
  });

  it('is forgotten on demand', async () => {
    const [{ store, requests, state }, clocks] = [failing('access_denied'), handClocks()];
    const cached = keyrings({ store, ...clocks });
    await expect(cached.load()).rejects.toEqual(refusal('access_denied'));
    state.fails = false;
    await expect(cached.load()).rejects.toEqual(refusal('access_denied'));
    expect(requests).toEqual(['get']);
    cached.forgetFailure();
    expect(await cached.load()).toBeUndefined();
  });

  it('does not remember an abort', async () => {
    const { store, state } = failing('aborted');
    const store1 = keyrings({ store });
    await expect(store1.load()).rejects.toEqual(refusal('aborted'));
    state.fails = false;
    expect(await store1.load()).toBeUndefined();
  });

  /** A store whose first read waits until it is let go or aborted. */
  function held() {
    const gate = Promise.withResolvers<void>();
    const seen: AbortSignal[] = [];
    const tap = tapped({
      async get(key, options) {
        const signal = options?.signal;
        if (signal !== undefined && seen.push(signal) === 1) {
          const aborted = new Promise<never>((_, reject) => {
            signal.addEventListener('abort', () =>
              reject(new MemoryError('aborted', 'the request was aborted')),
            );
          });
          await Promise.race([gate.promise, aborted]);
        }
        return base.get(key, options);
      },
    });
    return { ...tap, seen, release: gate.resolve };
  }

  it('lets one who waits abort without failing the others', async () => {
    await keyrings().load({ create: true });
    const { store, requests, seen, release } = held();
    const shared = keyrings({ store });
    const controller = new AbortController();
    const leaving = shared.load({ signal: controller.signal });
    const staying = shared.load({ signal: new AbortController().signal });
    controller.abort();
    await expect(leaving).rejects.toEqual(refusal('aborted'));
    release();
    expect((await staying)?.epoch).toBe(1);
    expect(seen[0]?.aborted).toBe(false);
    expect(requests).toEqual(['get']);
  });

  it('aborts the load itself when its last caller has left, and starts again for the next', async () => {
    await keyrings().load({ create: true });
    const { store, requests, seen } = held();
    const shared = keyrings({ store });
    const controllers = [new AbortController(), new AbortController()];
    const waiting = controllers.map(({ signal }) => shared.load({ signal }));
    const left = Promise.allSettled(waiting);
    await expect.poll(() => seen.length).toBe(1);
    for (const controller of controllers) controller.abort();
    expect((await left).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(seen[0]?.aborted).toBe(true);
    expect((await shared.load())?.epoch).toBe(1);
    expect(requests).toEqual(['get', 'get']);
  });

  it('rejects at once when the signal has fired already', async () => {
    const shared = keyrings();
    await expect(shared.load({ signal: AbortSignal.abort() })).rejects.toEqual(refusal('aborted'));
    expect(await shared.load()).toBeUndefined();
  });

  it.each(['get', 'unwrap'])('takes what an abandoned load finds late in %s for nothing', async (place) => {
    await write(vectorBytes('one'));
    const gate = Promise.withResolvers<void>();
    let arrived = 0;
    // The first call waits at the gate, deaf to its signal.
    const holdAt = async (here: string): Promise<void> => {
      if (here === place && arrived++ === 0) await gate.promise;
    };
    const { store } = tapped({
      async get(key, options) {
        const found = await base.get(key, options);
        await holdAt('get');
        return found;
      },
    });
    const inner = root();
    const rootKey: RootKey = {
      id: inner.id,
      generate: inner.generate,
      async unwrap(...args) {
        await holdAt('unwrap');
        return inner.unwrap(...args);
      },
    };
    const shared = keyrings({ store, rootKeys: [rootKey], ttlMs: 0 });
    const [first, second] = [new AbortController(), new AbortController()];
    const leaving = shared.load({ signal: first.signal });
    await expect.poll(() => arrived).toBe(1);
    first.abort();
    await expect(leaving).rejects.toEqual(refusal('aborted'));
    // The abandoned load holds epoch 1; had it counted, it would be refused or refuse the one before it.
    gate.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await write(vectorBytes('replaced'));
    expect((await shared.load({ signal: second.signal }))?.epoch).toBe(9);
  });
});

describe('KeyringCache and what it has seen', () => {
  it.each(format1.sequences)(
    'answers $expect when $first is followed by $then',
    async ({ first, then, expect: outcome }) => {
      const clocks = handClocks();
      const store = keyrings(clocks);
      const read = async (id: string): Promise<string> => {
        await write(vectorBytes(id));
        clocks.advance(300_000);
        const answer = await store.load().then(
          () => 'ok',
          (error: unknown) => (error instanceof MemoryError ? error.code : String(error)),
        );
        return answer;
      };
      expect(await read(first)).toBe(first === 'tombstone' ? 'key_unavailable' : 'ok');
      expect(await read(then)).toBe(outcome);
    },
  );

  it.each(added.readings)(
    'answers $answers to $keyrings where the least epoch is $leastEpoch',
    async ({ leastEpoch, keyrings: ids, answers }) => {
      const clocks = handClocks();
      const store = keyrings({ ...clocks, minimumEpoch: leastEpoch });
      const given: string[] = [];
      for (const id of ids) {
        await write(vectorBytes(id));
        clocks.advance(300_000);
        given.push(
          await store.load().then(
            () => 'ok',
            (error: unknown) => (error instanceof MemoryError ? error.code : String(error)),
          ),
        );
      }
      expect(given).toEqual(answers);
    },
  );

  it('does not create again what is gone', async () => {
    const clocks = handClocks();
    const store = keyrings(clocks);
    await store.load({ create: true });
    await base.delete([{ key: layout.keyring }]);
    clocks.advance(300_000);
    await expect(store.load({ create: true })).rejects.toEqual(refusal('key_unavailable'));
    expect(await base.get(layout.keyring)).toBeUndefined();
  });

  it('keeps what it gave out usable across a rotation', async () => {
    const clocks = handClocks();
    const store = keyrings(clocks);
    const before = await store.load({ create: true });
    await rotateInStore();
    clocks.advance(300_000);
    const after = await store.load();
    expect([before?.epoch, after?.epoch]).toEqual([1, 2]);
    if (before === undefined || after === undefined) throw new Error('no keyring');
    const object = seal({
      keys: before.keys,
      name,
      content: Uint8Array.of(1),
      version: newVersion({ mtime: 1, random }),
      random,
    });
    expect(open({ keys: after.keys, name, object }).content).toEqual(Uint8Array.of(1));
  });
});

describe('KeyringCache.look', () => {
  it('reads a rotated keyring before its time to live ends', async () => {
    const store = keyrings(handClocks());
    const before = await store.load({ create: true });
    await rotateInStore();
    expect((await store.load())?.epoch).toBe(1);
    const after = await store.look();
    expect(after?.epoch).toBe(2);
    expect(await store.load()).toBe(after);
    expect(after?.keys.find(before?.keys.active.keyId ?? input('zero16'))).toBeDefined();
  });

  it('reads each time, however soon', async () => {
    const [{ store, requests }, clocks] = [tapped(), handClocks()];
    const looked = keyrings({ store, ...clocks });
    await looked.load({ create: true });
    requests.length = 0;
    for (const epoch of [2, 3, 4]) {
      await rotateInStore();
      expect((await looked.look())?.epoch).toBe(epoch);
    }
    expect(requests).toEqual(['get', 'get', 'get']);
  });

  it('gives all who ask at once what it reads, by one read', async () => {
    const { store, requests } = tapped();
    const shared = keyrings({ store });
    await shared.load({ create: true });
    await rotateInStore();
    requests.length = 0;
    const looked = await Promise.all(Array.from({ length: 5 }, () => shared.look()));
    expect(looked.map((keyring) => keyring?.epoch)).toEqual([2, 2, 2, 2, 2]);
    expect(requests).toEqual(['get']);
  });

  it('reads after a read that was under way when it was asked, not with it', async () => {
    await write(vectorBytes('one'));
    const { store, requests, seen, answer } = tappedLate();
    const shared = keyrings({ store });
    const loading = shared.load();
    await seen;
    await write(vectorBytes('two'));
    const looking = [shared.look(), shared.look()];
    answer();
    expect((await loading)?.epoch).toBe(1);
    expect((await Promise.all(looking)).map((keyring) => keyring?.epoch)).toEqual([2, 2]);
    expect(requests).toEqual(['get', 'get']);
  });

  it('takes no answer for its own that a process which stood still waited for since long before', async () => {
    await write(vectorBytes('one'));
    const clocks = handClocks();
    const { store, requests, seen, answer } = tappedLate();
    const cached = keyrings({ store, ttlMs: 60_000, ...clocks });
    const early = cached.load();
    await seen;
    await write(vectorBytes('two'));
    clocks.advance(60_001);
    const late = cached.load();
    answer();
    expect((await early)?.epoch).toBe(1);
    expect((await late)?.epoch).toBe(2);
    expect(requests).toEqual(['get', 'get']);
  });

  it('keeps the cache when the store is unavailable for a moment', async () => {
    let fails = false;
    const { store } = tapped({
      async get(...args) {
        if (fails) throw new MemoryError('unavailable', 'no');
        return base.get(...args);
      },
    });
    const cached = keyrings({ store });
    const before = await cached.load({ create: true });
    fails = true;
    await expect(cached.look()).rejects.toEqual(refusal('unavailable'));
    expect(await cached.load()).toBe(before);
  });

  it('stops serving from the cache when the keyring was rolled back', async () => {
    await write(vectorBytes('two'));
    const store = keyrings();
    await store.load();
    await write(vectorBytes('one'));
    await expect(store.look()).rejects.toEqual(refusal('integrity'));
    await expect(store.load()).rejects.toEqual(refusal('integrity'));
  });
});

describe('KeyringCache.lookFor', () => {
  const made = (number: number): Uint8Array => new Uint8Array(16).fill(number).with(0, number >> 8);
  async function activeInStore(): Promise<Uint8Array> {
    const ring = await openKeyring({ bytes: await storedKeyring(), tenant: 'acme', rootKeys: [root()] });
    return ring.tenantKeys.at(-1)?.keyId ?? made(0);
  }
  async function searched(options: Partial<KeyringCacheOptions> = {}) {
    const [{ store, requests }, clocks] = [tapped(), handClocks()];
    const keyring = keyrings({ store, ...clocks, ...options });
    await keyring.load({ create: true });
    requests.length = 0;
    return { keyring, requests, clocks };
  }

  it('finds the key of each of many rotations in a row at once', async () => {
    const { keyring, requests } = await searched();
    for (let rotation = 1; rotation <= 5; rotation++) {
      await rotateInStore();
      const keyId = await activeInStore();
      const found = await keyring.lookFor(keyId);
      expect(typeof found === 'object' && found.keys.find(keyId)).toBeDefined();
    }
    expect(requests).toHaveLength(5);
  });

  it('looks once for a key that the keyring lacks, and remembers it', async () => {
    const { keyring, requests, clocks } = await searched();
    for (let read = 0; read < 3; read++) {
      const found = await keyring.lookFor(made(1));
      expect(typeof found === 'object' && found.epoch).toBe(1);
      clocks.advance(40_000);
    }
    expect(requests).toHaveLength(1);
  });

  it('finds the key of a rotation after junk under made-up keys', async () => {
    const { keyring } = await searched();
    for (let junk = 1; junk <= 200; junk++) await keyring.lookFor(made(junk));
    await rotateInStore();
    expect(await keyring.lookFor(await activeInStore())).toMatchObject({ epoch: 2 });
  });

  it('withholds a look after a flood of made-up keys, for 30 s, and never calls a key missing then', async () => {
    const { keyring, requests, clocks } = await searched();
    for (let junk = 1; junk <= 300; junk++) await keyring.lookFor(made(junk));
    expect(requests).toHaveLength(256);
    await rotateInStore();
    const keyId = await activeInStore();
    expect(await keyring.lookFor(keyId)).toBe('withheld');
    clocks.advance(29_999);
    expect(await keyring.lookFor(keyId)).toBe('withheld');
    clocks.advance(1);
    expect(await keyring.lookFor(keyId)).toMatchObject({ epoch: 2 });
    expect(requests).toHaveLength(257);
    expect(await keyring.lookFor(made(1_000))).toBe('withheld');
  });

  it('withholds it per time to live where that is shorter', async () => {
    const { keyring, clocks } = await searched({ ttlMs: 400 });
    for (let junk = 1; junk <= 256; junk++) await keyring.lookFor(made(junk));
    expect(await keyring.lookFor(made(1_000))).toBe('withheld');
    clocks.advance(400);
    expect(await keyring.lookFor(made(1_000))).toMatchObject({ epoch: 1 });
  });

  it('does not take a key for missing when the look failed', async () => {
    let fails = true;
    const { store } = tapped({
      async get(...args) {
        if (fails) throw new MemoryError('unavailable', 'no');
        return base.get(...args);
      },
    });
    await keyrings().load({ create: true });
    const keyring = keyrings({ store, ...handClocks() });
    await rotateInStore();
    const keyId = await activeInStore();
    await expect(keyring.lookFor(keyId)).rejects.toEqual(refusal('unavailable'));
    fails = false;
    expect(await keyring.lookFor(keyId)).toMatchObject({ epoch: 2 });
  });
});

describe('KeyringCache.sendBy', () => {
  it.each([
    [0, 15_000],
    [60_000, 15_000],
    [300_000, 75_000],
    [900_000, 225_000],
  ])('is a quarter of the time to live, 15 s at least: %d ms', (ttlMs, limit) => {
    const clocks = handClocks();
    const bound = keyrings({ ...clocks, ttlMs }).sendBy();
    clocks.advance(limit - 1);
    expect(bound.isPast()).toBe(false);
    clocks.advance(1);
    expect(bound.isPast()).toBe(true);
  });

  it.each([
    ['the wall clock alone, as after a freeze', 75_000, 0],
    ['the monotonic clock alone', 0, 75_000],
    ['a wall clock that was set back', -1, 10],
  ])('passes by %s, and stays past', (_, wall, steady) => {
    const clocks = handClocks();
    const bound = keyrings(clocks).sendBy();
    clocks.time.wall += wall;
    clocks.time.steady += steady;
    expect(bound.isPast()).toBe(true);
    clocks.time.wall -= wall;
    expect(bound.isPast()).toBe(true);
  });

  it.each([0, 1, 60_000, 120_000, 300_000, 900_000])(
    'ends before a key may be retired that was active until then: %d ms',
    async (ttlMs) => {
      const clocks = handClocks();
      const keyring = keyrings({ ...clocks, ttlMs });
      const loaded = await keyring.load({ create: true });
      const retiredAt = clocks.time.wall + 2 * Math.max(ttlMs, 60_000);
      await base.delete([{ key: layout.keyring }]);
      let last = clocks.time.wall;
      for (let step = 0; step < 2_000; step++) {
        try {
          expect(loaded?.keys.active).toBeDefined();
        } catch {
          break;
        }
        const bound = keyring.sendBy();
        const since = clocks.time.wall;
        for (let ms = 1_000; ; ms += 1_000) {
          clocks.time.wall = since + ms;
          if (bound.isPast()) break;
          last = Math.max(last, clocks.time.wall);
        }
        clocks.time.wall = since + 1_000;
        clocks.time.steady += 1_000;
      }
      // A second for servers that tell whole ones, and more for clocks that run apart.
      expect(last).toBeLessThan(retiredAt - 1_000);
    },
  );
});

describe('KeyringCache.close', () => {
  it('overwrites the keys and refuses every further use of them', async () => {
    const store = keyrings();
    const loaded = await store.load({ create: true });
    if (loaded === undefined) throw new Error('nothing was created');
    const { active } = loaded.keys;
    expect(active.wrapKey.some((byte) => byte !== 0)).toBe(true);
    store.close();
    expect(active.wrapKey).toEqual(new Uint8Array(32));
    const aborted = refusal('aborted');
    expect(() => loaded.keys.active).toThrow(aborted);
    expect(() => loaded.keys.find(active.keyId)).toThrow(aborted);
    expect(() => loaded.names.encodeDirectory(['a'])).toThrow(aborted);
    expect(() =>
      seal({
        keys: loaded.keys,
        name,
        content: Uint8Array.of(1),
        version: newVersion({ mtime: 1, random }),
        random,
      }),
    ).toThrow(aborted);
    await expect(store.load()).rejects.toEqual(aborted);
    await expect(store.look()).rejects.toEqual(aborted);
    await expect(store.lookFor(active.keyId)).rejects.toEqual(aborted);
  });

  it('is not needed for the secrets the keys were derived from', async () => {
    const keyring = await openKeyring({ bytes: vectorBytes('two'), tenant: 'acme', rootKeys: [root()] });
    const { loaded } = activate(keyring, { tenant: 'acme' });
    expect(keyring.nameKey).toEqual(new Uint8Array(32));
    expect(keyring.tenantKeys.map(({ secret }) => secret)).toEqual([new Uint8Array(32), new Uint8Array(32)]);
    expect(loaded.names.encodeDirectory(['notes'])).toBe(format1.names[0]?.text);
  });

  it('overwrites the keys of every rotation it met', async () => {
    const store = keyrings();
    const first = (await store.load({ create: true }))?.keys.active;
    await rotateInStore();
    const second = (await store.look())?.keys.active;
    store.close();
    expect(first?.wrapKey).toEqual(new Uint8Array(32));
    expect(second?.wrapKey).toEqual(new Uint8Array(32));
  });

  it('ends a load that is under way', async () => {
    const store = keyrings();
    const loading = store.load({ create: true });
    store.close();
    await expect(loading).rejects.toEqual(refusal('aborted'));
  });
});
