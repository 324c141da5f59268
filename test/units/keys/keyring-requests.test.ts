import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { SHRED_MARKER } from '../../../src/format/keyring-bytes.ts';
import { createLayout, parseTenantId } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { rewrapKeyring, rotateKeyring } from '../../../src/keys/keyring.ts';
import { createKeyringCache, type KeyringCacheOptions } from '../../../src/keys/keyring-cache.ts';
import { createKeyringEditor, type KeyringEditorOptions } from '../../../src/keys/keyring-editor.ts';
import { createRollbackGuard } from '../../../src/keys/rollback-guard.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { type Around, interceptStore } from '../../stage/store-wrappers.ts';

const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });
const MINUTE = 60_000;
const START = 1_700_000_000_000;

/** Three clocks that are moved apart: this machine's two, and the server's, which tells whole seconds. */
let time: { wall: number; steady: number; server: number };
let base: ObjectStore;
/** The signals and size limits that requests to the store and the root key came with. */
let seen: { what: string; signal: AbortSignal | undefined; maxBytes?: number | undefined }[];

beforeAll(loadSodium);
beforeEach(() => {
  time = { wall: START, steady: 5_000, server: START };
  seen = [];
  base = openSqliteObjectStore({ path: ':memory:', clock: () => Math.floor(time.server / 1_000) * 1_000 });
});
afterEach(() => base[Symbol.asyncDispose]());

/** Notes what each request came with. */
function watched(): ObjectStore {
  return {
    ...base,
    get(key, options) {
      seen.push({ what: 'get', signal: options?.signal, maxBytes: options?.maxBytes });
      return base.get(key, options);
    },
    head(key, options) {
      seen.push({ what: 'head', signal: options?.signal });
      return base.head(key, options);
    },
    put(key, body, options) {
      seen.push({ what: 'put', signal: options.signal });
      return base.put(key, body, options);
    },
    list(options) {
      seen.push({ what: 'list', signal: options.signal });
      return base.list(options);
    },
  };
}

const inner = envRootKey(new Uint8Array(32).fill(1));
const rootKey: RootKey = {
  get id() {
    return inner.id;
  },
  generate(context, options) {
    seen.push({ what: 'generate', signal: options?.signal });
    return inner.generate(context, options);
  },
  unwrap(wrapped, context, options) {
    seen.push({ what: 'unwrap', signal: options?.signal });
    return inner.unwrap(wrapped, context, options);
  },
};

const clocks = { clock: () => time.wall, monotonic: () => time.steady };
const caching = (options: Partial<KeyringCacheOptions> = {}) =>
  createKeyringCache({ store: base, layout, rootKeys: [rootKey], random, ...clocks, ...options });
const editing = (options: Partial<KeyringEditorOptions> = {}) =>
  createKeyringEditor({ store: base, layout, rootKeys: [rootKey], clock: clocks.clock, random, ...options });

async function created(): Promise<void> {
  const keyrings = caching();
  await keyrings.load({ create: true });
  keyrings.close();
  seen = [];
}

const rotate = () => editing().change(({ keyring }) => rotateKeyring(keyring, { random, created: 1 }));
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
const pass = (ms: number): void => {
  time.wall += ms;
  time.steady += ms;
};
const code = (error: unknown): unknown => (error instanceof MemoryError ? error.code : error);
const what = (): readonly string[] => seen.map((request) => request.what);

describe('a request for the keyring', () => {
  it('carries the signal of who waits for it, to the store and to the root key', async () => {
    const caller = new AbortController();
    const keyrings = caching({ store: watched() });
    await keyrings.load({ create: true, signal: caller.signal });
    await keyrings.look({ signal: caller.signal });
    expect(what()).toEqual(['get', 'list', 'generate', 'unwrap', 'put', 'get', 'unwrap']);
    expect(seen.map(({ signal }) => signal?.aborted)).toEqual(seen.map(() => false));
    keyrings.close();
    expect(seen.slice(-2).every(({ signal }) => signal instanceof AbortSignal)).toBe(true);
  });

  it('carries the signal of the one who edits', async () => {
    await created();
    const { signal } = new AbortController();
    const editor = editing({ store: watched() });
    await editor.read({ signal });
    await editor.change(({ keyring }) => rewrapKeyring(keyring), { signal });
    expect(what()).toEqual(['get', 'unwrap', 'get', 'unwrap', 'generate', 'unwrap', 'put', 'head']);
    expect(seen.every((request) => request.signal === signal)).toBe(true);
  });

  it('reads no more than the largest keyring there can be', async () => {
    await created();
    const keyrings = caching({ store: watched() });
    await keyrings.load();
    await editing({ store: watched() }).read();
    const limits = seen.filter((request) => request.what === 'get').map(({ maxBytes }) => maxBytes);
    expect(limits).toEqual([16_384, 16_384]);
    keyrings.close();
  });

  it('asks no root key once its caller has left', async () => {
    await created();
    const [arrived, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const store = interceptStore(base, async (_, proceed) => {
      const found = await proceed();
      arrived.resolve();
      await answer.promise;
      return found;
    });
    const caller = new AbortController();
    const loading = caching({ store }).load({ signal: caller.signal });
    await arrived.promise;
    caller.abort();
    await expect(loading).rejects.toEqual(refusal('aborted'));
    answer.resolve();
    await settle();
    expect(what()).toEqual([]);
  });

  it('is answered with what the store said when a first keyring could not be written', async () => {
    const refused: Around = (call, proceed) =>
      call.verb === 'put' ? Promise.reject(new MemoryError('access_denied', 'no')) : proceed();
    const loading = caching({ store: interceptStore(base, refused) }).load({ create: true });
    await expect(loading).rejects.toEqual(refusal('access_denied'));
  });

  it('ends after eight reads of a keyring that changed at every one', async () => {
    await created();
    const guard = createRollbackGuard();
    let reads = 0;
    const store = interceptStore(base, async (call, proceed) => {
      const found = await proceed();
      if (call.verb === 'get') {
        reads += 1;
        await rotate();
        const other = caching({ guard });
        await other.load();
        other.close();
      }
      return found;
    });
    await expect(caching({ store, guard }).load()).rejects.toEqual(refusal('unavailable'));
    expect(reads).toBe(8);
  });

  it('makes no keyring where the marker of a shredded tenant has been', async () => {
    await base.put(layout.keyring, SHRED_MARKER, { mode: 'create' });
    const keyrings = caching();
    await expect(keyrings.load()).rejects.toEqual(refusal('key_unavailable'));
    await base.delete([{ key: layout.keyring }]);
    pass(10_000);
    await expect(keyrings.load({ create: true })).rejects.toEqual(refusal('key_unavailable'));
    expect(await base.get(layout.keyring)).toBeUndefined();
  });
});

describe('the time of a cached keyring', () => {
  it('counts from the beginning of a load, also where that finds what is cached', async () => {
    await created();
    let slowMs = 0;
    const store = interceptStore(base, (_, proceed) => {
      pass(slowMs);
      return proceed();
    });
    const keyrings = caching({ store, ttlMs: 1_000 });
    await keyrings.load();
    pass(1_000);
    slowMs = 600;
    await keyrings.load();
    pass(400);
    slowMs = 0;
    seen = [];
    await keyrings.load();
    expect(what()).toEqual(['unwrap']);
    keyrings.close();
  });

  it('is renewed by one request in the background, however many objects are sealed meanwhile', async () => {
    await created();
    let [gets, down] = [0, false];
    const store = interceptStore(base, (_, proceed) => {
      gets += 1;
      return down ? Promise.reject(new MemoryError('unavailable', 'no')) : proceed();
    });
    const keyrings = caching({ store });
    const loaded = await keyrings.load();
    down = true;
    pass(5 * MINUTE);
    for (let sealed = 0; sealed < 5; sealed++) {
      expect(loaded?.keys.active.version).toBe(1);
      await settle();
    }
    expect(gets).toBe(2);
    pass(10_000);
    expect(loaded?.keys.active.version).toBe(1);
    await expect.poll(() => gets).toBe(3);
    keyrings.close();
  });

  it('is not renewed by who seals within thirty seconds of the last look, however short it is', async () => {
    await created();
    const keyrings = caching({ store: watched(), ttlMs: 1_000 });
    const loaded = await keyrings.load();
    pass(29_999);
    expect(loaded?.keys.active.version).toBe(1);
    await settle();
    expect(what()).toEqual(['get', 'unwrap']);
    pass(1);
    expect(loaded?.keys.active.version).toBe(1);
    await expect.poll(what).toEqual(['get', 'unwrap', 'get', 'unwrap']);
    keyrings.close();
  });
});

describe('a failure', () => {
  it('is forgotten once a look has found that there is no keyring', async () => {
    let down = true;
    const store = interceptStore(base, (_, proceed) =>
      down ? Promise.reject(new MemoryError('unavailable', 'no')) : proceed(),
    );
    const keyrings = caching({ store });
    await expect(keyrings.load()).rejects.toEqual(refusal('unavailable'));
    down = false;
    expect(await keyrings.look()).toBeUndefined();
    expect(await keyrings.load()).toBeUndefined();
  });

  it('of a load that all its callers have left is not remembered, and takes no keys away', async () => {
    await created();
    const answer = Promise.withResolvers<never>();
    let held = false;
    let asked = 0;
    const store = interceptStore(base, (_, proceed) => {
      if (!held) return proceed();
      asked += 1;
      return answer.promise;
    });
    const keyrings = caching({ store });
    const loaded = await keyrings.load();
    held = true;
    const caller = new AbortController();
    const looking = keyrings.look({ signal: caller.signal });
    await expect.poll(() => asked).toBe(1);
    caller.abort();
    await expect(looking).rejects.toEqual(refusal('aborted'));
    held = false;
    answer.reject(new MemoryError('access_denied', 'no'));
    await settle();
    expect(loaded?.keys.active.version).toBe(1);
    pass(5 * MINUTE);
    expect((await keyrings.load())?.epoch).toBe(1);
    keyrings.close();
  });
});

describe('the search for a key', () => {
  const keyId = new Uint8Array(16).fill(7);

  it('carries the signal of who asks for a key that is known to be missing', async () => {
    await created();
    const keyrings = caching({ store: watched() });
    await keyrings.lookFor(keyId);
    pass(5 * MINUTE);
    await expect(keyrings.lookFor(keyId, { signal: AbortSignal.abort() })).rejects.toEqual(
      refusal('aborted'),
    );
    keyrings.close();
  });

  it('does not take a key for missing where there is no keyring at all', async () => {
    const keyrings = caching();
    expect(await keyrings.lookFor(keyId)).toBe('no_keyring');
    await created();
    await rotate();
    const { keyring } = (await editing().read()) ?? {};
    const active = keyring?.tenantKeys.at(-1)?.keyId ?? keyId;
    const found = await base.get(layout.keyring);
    const body = typeof found === 'object' ? found.body : new Uint8Array();
    await base.delete([{ key: layout.keyring }]);
    expect(await keyrings.lookFor(active)).toBe('no_keyring');
    await base.put(layout.keyring, body, { mode: 'create' });
    expect(await keyrings.lookFor(active)).toMatchObject({ epoch: 2 });
    keyrings.close();
  });
});

describe('loads that meet', () => {
  /** A store whose reads wait, each until it is let go. */
  function gated() {
    const gates: PromiseWithResolvers<void>[] = [];
    const store = interceptStore(base, async (call, proceed) => {
      const found = await proceed();
      if (call.verb !== 'get') return found;
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return found;
    });
    const letGo = async (index: number): Promise<void> => {
      await expect.poll(() => gates.length).toBeGreaterThan(index);
      gates[index]?.resolve();
    };
    return { store, letGo, reads: () => gates.length };
  }

  it('find no keyring by two reads, when the second began after the call', async () => {
    const { store, letGo, reads } = gated();
    const keyrings = caching({ store });
    const loading = [keyrings.load(), keyrings.load()];
    await expect.poll(reads).toBe(1);
    const looking = keyrings.look();
    await letGo(0);
    await letGo(1);
    expect(await Promise.all([...loading, looking])).toEqual([undefined, undefined, undefined]);
    expect(reads()).toBe(2);
  });

  it('make a keyring for the one who asks for it, however many reads of others it joins before', async () => {
    const { store, letGo, reads } = gated();
    const keyrings = caching({ store });
    const [first, making] = [keyrings.load(), keyrings.load({ create: true })];
    await expect.poll(reads).toBe(1);
    const second = keyrings.look();
    for (const index of [0, 1, 2]) await letGo(index);
    expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
    expect(await making).toMatchObject({ epoch: 1 });
    keyrings.close();
  });

  it('share the running one, also when an older one ends that all its callers have left', async () => {
    await created();
    const { store, letGo, reads } = gated();
    const keyrings = caching({ store });
    const caller = new AbortController();
    const left = keyrings.load({ signal: caller.signal });
    await expect.poll(reads).toBe(1);
    caller.abort();
    await expect(left).rejects.toEqual(refusal('aborted'));
    const running = keyrings.load();
    await expect.poll(reads).toBe(2);
    await letGo(0);
    await settle();
    const joining = keyrings.load();
    await settle();
    expect(reads()).toBe(2);
    await letGo(1);
    expect(await joining).toBe(await running);
    keyrings.close();
  });

  it('end with a close, also those that would read once more', async () => {
    const { store, letGo, reads } = gated();
    const keyrings = caching({ store });
    const ending = Promise.allSettled([keyrings.load(), keyrings.load({ create: true })]);
    await expect.poll(reads).toBe(1);
    keyrings.close();
    await letGo(0);
    expect((await ending).map((end) => end.status === 'rejected' && code(end.reason))).toEqual([
      'aborted',
      'aborted',
    ]);
    await settle();
    expect(reads()).toBe(1);
    expect(await base.get(layout.keyring)).toBeUndefined();
  });
});

describe('cached keys', () => {
  const errors = [
    ['integrity', 'no longer'],
    ['key_unavailable', 'no longer'],
    ['unsupported_format', 'no longer'],
    ['misconfigured', 'no longer'],
    ['access_denied', 'no longer'],
    ['unavailable', 'still'],
    ['timeout', 'still'],
    ['outcome_unknown', 'still'],
  ] as const;

  it.each(errors)('after %s are used %s', async (errorCode, verdict) => {
    await created();
    let fails = false;
    const store = interceptStore(base, (_, proceed) =>
      fails ? Promise.reject(new MemoryError(errorCode, 'no')) : proceed(),
    );
    const keyrings = caching({ store });
    const loaded = await keyrings.load();
    fails = true;
    await expect(keyrings.look()).rejects.toEqual(refusal(errorCode));
    const use = (): unknown => loaded?.keys.active.version;
    if (verdict === 'still') expect(use()).toBe(1);
    else expect(use).toThrow(refusal(errorCode) as Error);
    keyrings.close();
  });
});

describe('a record of the keyring', () => {
  it("tells its age by the server's clock alone", async () => {
    await created();
    time.server = START + 90_500;
    time.wall = START + 7_000_000;
    time.steady += 1;
    expect(await editing().read()).toMatchObject({ writtenAt: START, ageMs: 90_000 });
  });

  it("says of a key when it was made, by this machine's clock", async () => {
    time.server = START + 90_500;
    await created();
    expect((await editing().read())?.keyring.tenantKeys).toMatchObject([{ version: 1, created: START }]);
  });

  it('is not of a negative age where the server was set back', async () => {
    await created();
    time.server = START - 5_000;
    expect(await editing().read()).toMatchObject({ writtenAt: START, ageMs: 0 });
  });

  const change = (around: Around) =>
    editing({ store: interceptStore(base, around) }).change(({ keyring }) => rewrapKeyring(keyring));
  const atHead =
    (answer: <T>(proceed: () => Promise<T>) => Promise<T>): Around =>
    (call, proceed) =>
      call.verb === 'head' ? answer(proceed) : proceed();

  it("that was written tells when, by the server's clock", async () => {
    await created();
    time.server = START + 10_999;
    time.wall = START + 5_000_000;
    const later: Around = atHead((proceed) => {
      time.server += 3_000;
      return proceed();
    });
    const { record } = await change(later);
    expect(record).toMatchObject({ writtenAt: START + 10_000, ageMs: 3_000 });
    const setBack: Around = atHead((proceed) => {
      time.server -= 5_000;
      return proceed();
    });
    expect((await change(setBack)).record).toMatchObject({ writtenAt: START + 13_000, ageMs: 0 });
  });

  it.each([
    ['cannot be asked', () => Promise.reject(new MemoryError('unavailable', 'no'))],
    [
      'tells of a later write',
      async <T>(proceed: () => Promise<T>): Promise<T> => {
        await rotate();
        return proceed();
      },
    ],
  ])('that was written tells it by its own clock where the server %s', async (_, answer) => {
    await created();
    time.wall = START + 5_000_000;
    const { record, changed } = await change(atHead(answer));
    expect(changed).toBe(true);
    expect(record).toMatchObject({ writtenAt: START + 5_000_000, ageMs: 0, keyring: { epoch: 2 } });
  });
});

describe('a change of the keyring', () => {
  it('is refused where no root key is configured to wrap it', async () => {
    await created();
    const rootKeys = [rootKey];
    const editor = editing({ rootKeys });
    const changing = editor.change(({ keyring }) => {
      rootKeys.length = 0;
      return rewrapKeyring(keyring);
    });
    await expect(changing).rejects.toEqual(refusal('misconfigured'));
  });

  it('ends after 32 rounds that other processes won', async () => {
    await created();
    let rounds = 0;
    const store = interceptStore(base, async (call, proceed) => {
      if (call.verb === 'put') {
        rounds += 1;
        await editing().change(({ keyring }) => rewrapKeyring(keyring));
      }
      return proceed();
    });
    const changing = editing({ store }).change(({ keyring }) => rewrapKeyring(keyring));
    await expect(changing).rejects.toEqual(refusal('unavailable'));
    expect(rounds).toBe(32);
  });

  it('leaves the keys that stay as they are', async () => {
    await created();
    const { record } = await editing().change(({ keyring }) => rewrapKeyring(keyring));
    const { nameKey, tenantKeys } = record.keyring;
    const keys = [nameKey, ...tenantKeys.flatMap(({ secret, wrapKey }) => [secret, wrapKey])];
    expect(keys.map((key) => key.some((byte) => byte !== 0))).toEqual([true, true, true]);
  });
});
