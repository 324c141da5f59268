import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { Keyring } from '../../../src/format/keyring-bytes.ts';
import { createLayout, parseTenantId } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { forget, openKeyring, rotateKeyring, sealKeyring } from '../../../src/keys/keyring.ts';
import {
  createKeyringCache,
  type KeyringCache,
  type KeyringCacheOptions,
} from '../../../src/keys/keyring-cache.ts';
import { createKeyringEditor, type KeyringEditor } from '../../../src/keys/keyring-editor.ts';
import { createRollbackGuard } from '../../../src/keys/rollback-guard.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { type Around, atFirst, interceptStore, noAnswer } from '../../stage/store-wrappers.ts';

/** Every array that a key was put into, besides those of the compiled library. */
const made = vi.hoisted(() => new Set<Uint8Array>());

vi.mock(import('../../../src/format/encoding.ts'), async (original) => {
  const real = await original();
  const holdsKey = (bytes: Uint8Array): boolean =>
    [...made].some((key) => !isZero(key) && Buffer.from(bytes).includes(Buffer.from(key)));
  return {
    ...real,
    copyOfKey: (...input) => noted(real.copyOfKey(...input)),
    concat: (...parts) => {
      const whole = real.concat(...parts);
      return holdsKey(whole) ? noted(whole) : whole;
    },
  };
});

/** Nonces and ids, which are shorter than a key, are public. */
function noted(bytes: Uint8Array): Uint8Array {
  if (bytes.length >= 31) made.add(bytes);
  return bytes;
}

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);
const left = (): readonly string[] =>
  [...made].filter((bytes) => !isZero(bytes)).map((bytes) => Buffer.from(bytes).toString('hex'));
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });
const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });

/** Wraps by turning the bits around: what it hands out is noted, and nothing else is made. */
const rootKey: RootKey = {
  id: 'test:root',
  async generate() {
    const key = random(32);
    return { key, wrapped: key.map((byte) => byte ^ 0xff) };
  },
  unwrap: async (wrapped) => noted(wrapped.map((byte) => byte ^ 0xff)),
};
const rootKeys = [rootKey];

let base: ObjectStore;
let now: number;

beforeAll(loadSodium);
beforeEach(() => {
  made.clear();
  base = openSqliteObjectStore({ path: ':memory:' });
  now = 1_700_000_000_000;
});
afterEach(() => base[Symbol.asyncDispose]());

function cache(options: Partial<KeyringCacheOptions> = {}, around?: Around): KeyringCache {
  const store = around === undefined ? base : interceptStore(base, around);
  return createKeyringCache({
    store,
    layout,
    rootKeys,
    random,
    clock: () => now,
    monotonic: () => now,
    ...options,
  });
}

async function create(options: Partial<KeyringCacheOptions> = {}): Promise<Uint8Array> {
  const keyrings = cache(options);
  await keyrings.load({ create: true });
  keyrings.close();
  made.clear();
  return stored();
}

async function stored(): Promise<Uint8Array> {
  const found = await base.get(layout.keyring);
  if (typeof found !== 'object') throw new Error('there is no keyring');
  return found.body;
}

const put = (bytes: Uint8Array) => base.put(layout.keyring, bytes, { mode: 'overwrite' });
const editor = (): KeyringEditor =>
  createKeyringEditor({ store: base, layout, rootKeys, clock: () => now, random });

async function rotate(): Promise<void> {
  const { record } = await editor().change(({ keyring }) => rotateKeyring(keyring, { random, created: 1 }));
  forget(record.keyring);
}

describe('the watch of these tests', () => {
  it('sees the keys of a keyring that is in use', async () => {
    await create();
    const keyrings = cache();
    const loaded = await keyrings.load();
    const wrapKey = Buffer.from(loaded?.keys.active.wrapKey ?? []).toString('hex');
    expect(left()).toContain(wrapKey);
    // One wrap key and the three of the names: the keyring's own secrets are overwritten already.
    expect(left()).toHaveLength(4);
    keyrings.close();
  });
});

describe('no key is left', () => {
  afterEach(() => {
    expect(made.size).toBeGreaterThan(0);
    expect(left()).toEqual([]);
  });

  it.each([
    ['another key', 'integrity', async () => noted(random(32))],
    ['nothing', 'access_denied', () => Promise.reject(new MemoryError('access_denied', 'no'))],
  ])('of a keyring that its root key opens to %s', async (_, code, unwrap) => {
    const keyrings = cache({ rootKeys: [{ ...rootKey, unwrap }] });
    await expect(keyrings.load({ create: true })).rejects.toEqual(refusal(code));
    expect(await base.get(layout.keyring)).toBeUndefined();
    keyrings.close();
  });

  it('of a keyring that was created, when its cache is closed', async () => {
    const keyrings = cache();
    await keyrings.load({ create: true });
    keyrings.close();
  });

  it('of one that was loaded, loaded again unchanged, rotated and loaded again', async () => {
    await create();
    const keyrings = cache();
    await keyrings.load();
    now += 300_000;
    await keyrings.load();
    await keyrings.look();
    await rotate();
    await keyrings.look();
    keyrings.close();
  });

  it('of one that another process replaced by a keyring with other names', async () => {
    const other = await create();
    await base.delete([{ key: layout.keyring }]);
    await create();
    const [ours, theirs] = await Promise.all([stored(), other].map(async (bytes) => open(await bytes)));
    if (ours === undefined || theirs === undefined) throw new Error('two keyrings were made');
    const mixed: Keyring = { ...theirs, keyringId: ours.keyringId, epoch: 2 };
    const keyrings = cache();
    await keyrings.load();
    await put(await sealKeyring({ keyring: mixed, tenant: 'acme', rootKey, random }));
    for (const keyring of [ours, theirs]) forget(keyring);
    await expect(keyrings.look()).rejects.toEqual(refusal('integrity'));
  });

  it('of one that was rolled back', async () => {
    const before = await create();
    const keyrings = cache();
    await rotate();
    await keyrings.load();
    await put(before);
    await expect(keyrings.look()).rejects.toEqual(refusal('integrity'));
  });

  it('of one below the pinned epoch', async () => {
    await create();
    await expect(cache({ minimumEpoch: 2 }).load()).rejects.toEqual(refusal('integrity'));
  });

  it('of one with the other name mode', async () => {
    await create({ nameMode: 'plain' });
    await expect(cache({ nameMode: 'encrypted' }).load()).rejects.toEqual(refusal('misconfigured'));
  });

  it('of one that was overtaken while it was read', async () => {
    await create();
    const guard = createRollbackGuard();
    const other = cache({ guard });
    const overtaking: Around = atFirst('get', async (proceed) => {
      const answer = await proceed();
      await rotate();
      await other.load();
      return answer;
    });
    const keyrings = cache({ guard }, overtaking);
    await keyrings.load();
    for (const each of [keyrings, other]) each.close();
  });

  it('of one whose caller had left when its root key answered', async () => {
    await create();
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: RootKey = {
      ...rootKey,
      async unwrap(...input) {
        asked.resolve();
        await answer.promise;
        return rootKey.unwrap(...input);
      },
    };
    const caller = new AbortController();
    const loading = cache({ rootKeys: [slow] }).load({ signal: caller.signal });
    await asked.promise;
    caller.abort();
    await expect(loading).rejects.toEqual(refusal('aborted'));
    answer.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it('of one whose cache was closed at any moment after its root key had answered', async () => {
    await create();
    for (let ticks = 0; ticks < 40; ticks++) {
      let closing: Promise<void> | undefined;
      const keyrings = cache({
        rootKeys: [
          {
            ...rootKey,
            async unwrap(...input) {
              const key = await rootKey.unwrap(...input);
              closing = closeAfter(ticks, keyrings);
              return key;
            },
          },
        ],
      });
      await keyrings.load().catch(() => undefined);
      await closing;
    }
  });

  async function closeAfter(ticks: number, keyrings: KeyringCache): Promise<void> {
    for (let tick = 0; tick < ticks; tick++) await undefined;
    keyrings.close();
  }

  it('of one that was made while another process won the race', async () => {
    const keyrings = cache({}, async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      const other = cache();
      await other.load({ create: true });
      other.close();
      return proceed();
    });
    await keyrings.load({ create: true });
    keyrings.close();
  });

  it.each([
    ['the store refuses it', new MemoryError('access_denied', 'no')],
    ['no attempt can be confirmed', noAnswer()],
  ])('of one that was made and never stored: %s', async (_, error) => {
    const keyrings = cache({}, (call, proceed) => (call.verb === 'put' ? Promise.reject(error) : proceed()));
    await expect(keyrings.load({ create: true })).rejects.toBeInstanceOf(MemoryError);
  });

  it.each([
    ['that fails', async () => Promise.reject(new MemoryError('unavailable', 'no'))],
    ['whose key is too short', async () => ({ key: random(31), wrapped: new Uint8Array(40) })],
    ['whose wrapped key is too long', async () => ({ key: random(32), wrapped: new Uint8Array(8_193) })],
  ])('of one that was made for a root key %s', async (_, generate) => {
    const keyrings = cache({ rootKeys: [{ ...rootKey, generate }] });
    await expect(keyrings.load({ create: true })).rejects.toBeInstanceOf(MemoryError);
  });

  it.each([
    ['too short', async () => random(31)],
    ['another', async () => random(32)],
  ])('of a root key whose answer is %s', async (_, unwrap) => {
    await create();
    await expect(cache({ rootKeys: [{ ...rootKey, unwrap }] }).load()).rejects.toEqual(refusal('integrity'));
  });

  it('of one that an editor read, declined to change, changed, and failed to change', async () => {
    await create();
    const record = await editor().read();
    if (record === undefined) throw new Error('there is no keyring');
    forget(record.keyring);
    forget((await editor().change(() => undefined)).record.keyring);
    await rotate();
    await rotate();
    const retired = await editor().change(({ keyring }) => ({
      ...keyring,
      epoch: keyring.epoch + 1,
      tenantKeys: keyring.tenantKeys.slice(-1),
    }));
    forget(retired.record.keyring);
    await expect(
      editor().change(() => {
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
  });

  it('of one that an editor read and that was rolled back', async () => {
    const before = await create();
    await rotate();
    const subject = editor();
    const record = await subject.read();
    if (record !== undefined) forget(record.keyring);
    await put(before);
    await expect(subject.read()).rejects.toEqual(refusal('integrity'));
  });

  const open = (bytes: Uint8Array): Promise<Keyring> => openKeyring({ bytes, tenant: 'acme', rootKeys });
});
