import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Keyring } from '../../../src/format/keyring-bytes.ts';
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
import type { TenantKey } from '../../../src/format/wrap.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { createKeyring, forget, rotateKeyring } from '../../../src/keys/keyring.ts';
import {
  createKeyringCache,
  type KeyringCache,
  type KeyringCacheOptions,
  type LoadedKeyring,
} from '../../../src/keys/keyring-cache.ts';
import { createKeyringEditor, type KeyringEditor } from '../../../src/keys/keyring-editor.ts';
import { activate } from '../../../src/keys/loaded-keyring.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { interceptStore, noAnswer } from '../../stage/store-wrappers.ts';

const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
const rootKeys = [envRootKey(new Uint8Array(32).fill(1))];
const name = '/memories/a' as LogicalName;
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });
const MINUTE = 60_000;

let base: ObjectStore;
let time: { wall: number; steady: number };
let down: boolean;
let reads: number;
const opened: KeyringCache[] = [];

beforeAll(loadSodium);
beforeEach(() => {
  base = openSqliteObjectStore({ path: ':memory:' });
  time = { wall: 1_700_000_000_000, steady: 5_000 };
  down = false;
  reads = 0;
});
afterEach(async () => {
  for (const keyrings of opened.splice(0)) keyrings.close();
  await base[Symbol.asyncDispose]();
});

function keyringsWith(options: Partial<KeyringCacheOptions> = {}): KeyringCache {
  const store = interceptStore(base, (call, proceed) => {
    if (call.verb === 'get') reads += 1;
    return down ? Promise.reject(noAnswer()) : proceed();
  });
  const keyrings = createKeyringCache({
    store,
    layout,
    rootKeys,
    random,
    clock: () => time.wall,
    monotonic: () => time.steady,
    ...options,
  });
  opened.push(keyrings);
  return keyrings;
}

async function created(options: Partial<KeyringCacheOptions> = {}) {
  const keyrings = keyringsWith(options);
  const loaded = await keyrings.load({ create: true });
  if (loaded === undefined) throw new Error('nothing was created');
  reads = 0;
  return { keyrings, loaded };
}

function editor(): KeyringEditor {
  return createKeyringEditor({ store: base, layout, rootKeys, clock: () => time.wall, random });
}

const rotate = () => editor().change(({ keyring }) => rotateKeyring(keyring, { random, created: 1 }));

function pass(ms: number): void {
  time.wall += ms;
  time.steady += ms;
}

const sealed = ({ keys }: LoadedKeyring): Uint8Array =>
  seal({ keys, name, content: Uint8Array.of(1, 2, 3), version: newVersion({ mtime: 1, random }), random });
const reopened = ({ keys }: LoadedKeyring, object: Uint8Array): Uint8Array =>
  open({ keys, name, object }).content;
const isOverwritten = ({ wrapKey }: TenantKey): boolean => wrapKey.every((byte) => byte === 0);

/** Lets a load in the background come to its end. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('a keyring that a process has held for long', () => {
  it.each([
    ['5 min, the default', undefined, (25 / 3) * MINUTE],
    ['15 min', 15 * MINUTE, 25 * MINUTE],
    ['0', 0, MINUTE],
  ])('seals nothing from 5/3 of the time to live on, a minute at least: %s', async (_, ttlMs, limit) => {
    const { loaded } = await created(ttlMs === undefined ? {} : { ttlMs });
    down = true;
    const object = sealed(loaded);
    pass(limit - 1);
    expect(reopened(loaded, sealed(loaded))).toEqual(Uint8Array.of(1, 2, 3));
    pass(1);
    expect(() => sealed(loaded)).toThrow(
      expect.objectContaining({ code: 'unavailable', retry: 'later' }) as Error,
    );
    expect(reopened(loaded, object)).toEqual(Uint8Array.of(1, 2, 3));
    await settle();
  });

  it.each([
    ['the wall clock, as after a freeze', { wall: 60 * MINUTE, steady: 0 }],
    ['the steady clock, when the wall clock was set back meanwhile', { wall: 0, steady: 60 * MINUTE }],
    ['a wall clock that was set back', { wall: -1, steady: 0 }],
  ])('is too old by %s', async (_, { wall, steady }) => {
    const { loaded } = await created();
    down = true;
    time.wall += wall;
    time.steady += steady;
    expect(() => sealed(loaded)).toThrow(refusal('unavailable') as Error);
    await settle();
  });

  it('is loaded again in the background when a long command goes on sealing', async () => {
    const { keyrings, loaded } = await created();
    pass(4 * MINUTE);
    sealed(loaded);
    await settle();
    expect(reads).toBe(0);
    pass(2 * MINUTE);
    sealed(loaded);
    await settle();
    expect(reads).toBe(1);
    pass(4 * MINUTE);
    expect(reopened(loaded, sealed(loaded))).toEqual(Uint8Array.of(1, 2, 3));
    await keyrings.load();
  });

  it('seals again after it was loaded again', async () => {
    const { keyrings, loaded } = await created();
    pass(60 * MINUTE);
    expect(await keyrings.load()).toBe(loaded);
    expect(reopened(loaded, sealed(loaded))).toEqual(Uint8Array.of(1, 2, 3));
  });

  it('seals with the key of a rotation that was found meanwhile, in commands that began before it', async () => {
    const { keyrings, loaded } = await created();
    const before = sealed(loaded);
    await rotate();
    pass(6 * MINUTE);
    const later = await keyrings.load();
    expect([loaded.epoch, later?.epoch]).toEqual([1, 2]);
    expect(loaded.keys.active.version).toBe(2);
    expect(reopened(loaded, before)).toEqual(reopened(loaded, sealed(loaded)));
  });
});

describe('keys that leave the process', () => {
  it('are overwritten when a later write takes their place', async () => {
    const { keyrings, loaded } = await created();
    const { active } = loaded.keys;
    await rotate();
    pass(6 * MINUTE);
    const later = await keyrings.load();
    expect(isOverwritten(active)).toBe(true);
    expect(later?.keys.find(active.keyId)?.version).toBe(1);
    expect(later?.keys.find(active.keyId)?.wrapKey.every((byte) => byte === 0)).toBe(false);
  });

  it('are gone for good once retired', async () => {
    const { keyrings, loaded } = await created();
    const { keyId } = loaded.keys.active;
    const object = sealed(loaded);
    await rotate();
    await editor().change(({ keyring }) => ({
      ...keyring,
      epoch: keyring.epoch + 1,
      tenantKeys: keyring.tenantKeys.slice(-1),
    }));
    pass(6 * MINUTE);
    await keyrings.load();
    expect(loaded.keys.find(keyId)).toBeUndefined();
    expect(() => reopened(loaded, object)).toThrow(refusal('integrity') as Error);
  });

  it.each([
    ['the tenant was destroyed', 'key_unavailable', async () => void (await put(SHRED_MARKER))],
    ['the keyring was exchanged', 'integrity', async () => void (await put(new Uint8Array(200)))],
  ])(
    'are overwritten when %s, and a caller that still holds them gets the reason',
    async (_, code, change) => {
      const { keyrings, loaded } = await created();
      const { active } = loaded.keys;
      const object = sealed(loaded);
      await change();
      pass(5 * MINUTE);
      await expect(keyrings.load()).rejects.toEqual(refusal(code));
      expect(isOverwritten(active)).toBe(true);
      expect(() => sealed(loaded)).toThrow(refusal(code) as Error);
      expect(() => reopened(loaded, object)).toThrow(refusal(code) as Error);
      expect(() => loaded.names.encodeDirectory(['a'])).toThrow(refusal(code) as Error);
    },
  );

  it('stay while the store cannot be reached', async () => {
    const { keyrings, loaded } = await created();
    const object = sealed(loaded);
    pass(5 * MINUTE);
    down = true;
    await expect(keyrings.load()).rejects.toEqual(refusal('outcome_unknown'));
    expect(reopened(loaded, object)).toEqual(Uint8Array.of(1, 2, 3));
  });

  it('are overwritten by a close', async () => {
    const { keyrings, loaded } = await created();
    const { active } = loaded.keys;
    keyrings.close();
    expect(isOverwritten(active)).toBe(true);
    expect(() => sealed(loaded)).toThrow(refusal('aborted') as Error);
  });

  async function put(body: Uint8Array): Promise<void> {
    await base.put(layout.keyring, body, { mode: 'overwrite' });
  }
});

describe('activate', () => {
  const parts = (nameMode: 'plain' | 'encrypted'): Keyring => createKeyring({ nameMode, random, created: 1 });
  const copyOf = ({ nameKey, tenantKeys, ...rest }: Keyring): Keyring => ({
    ...rest,
    nameKey: nameKey.slice(),
    tenantKeys: tenantKeys.map((key) => ({
      ...key,
      secret: key.secret.slice(),
      wrapKey: key.wrapKey.slice(),
    })),
  });

  it('refuses a keyring without a key, and hands the last key of another out where nothing stops it', () => {
    expect(() => activate({ ...parts('plain'), tenantKeys: [] }, { tenant: 'acme' })).toThrow(
      refusal('integrity') as Error,
    );
    const keyring = parts('plain');
    expect(activate(keyring, { tenant: 'acme' }).loaded.keys.active).toBe(keyring.tenantKeys[0]);
  });

  it('keeps no secret that it was given', () => {
    const keyring = parts('encrypted');
    activate(keyring, { tenant: 'acme' });
    const secrets = [keyring.nameKey, ...keyring.tenantKeys.map(({ secret }) => secret)];
    expect(secrets.flatMap((bytes) => [...bytes]).every((byte) => byte === 0)).toBe(true);
  });

  it('takes over the names of the write before, and refuses another name key or mode', () => {
    const first = parts('encrypted');
    const [second, otherMode] = [copyOf(first), { ...copyOf(first), nameMode: 'plain' as const }];
    const predecessor = activate(first, { tenant: 'acme' });
    const life = activate(second, { tenant: 'acme', predecessor });
    expect(life.loaded.names).toBe(predecessor.loaded.names);
    for (const other of [parts('encrypted'), otherMode]) {
      expect(() => activate(other, { tenant: 'acme', predecessor })).toThrow(refusal('integrity') as Error);
      expect(other.tenantKeys.every(isOverwritten)).toBe(true);
    }
  });
});

describe('forget', () => {
  it('overwrites all that is secret', () => {
    const keyring = createKeyring({ nameMode: 'plain', random, created: 1 });
    forget(keyring);
    const secrets = [
      keyring.nameKey,
      ...keyring.tenantKeys.flatMap(({ secret, wrapKey }) => [secret, wrapKey]),
    ];
    expect(secrets.flatMap((bytes) => [...bytes]).every((byte) => byte === 0)).toBe(true);
  });
});

describe('a pinned epoch', () => {
  it('refuses a keyring from before, and takes one from then on', async () => {
    await created();
    await expect(keyringsWith({ minimumEpoch: 2 }).load()).rejects.toEqual(refusal('integrity'));
    await rotate();
    expect((await keyringsWith({ minimumEpoch: 2 }).load())?.epoch).toBe(2);
  });

  it('makes no keyring where one must have been', async () => {
    await expect(keyringsWith({ minimumEpoch: 2 }).load({ create: true })).rejects.toEqual(
      refusal('key_unavailable'),
    );
    expect(await base.get(layout.keyring)).toBeUndefined();
    expect((await keyringsWith({ minimumEpoch: 1 }).load({ create: true }))?.epoch).toBe(1);
  });

  it.each([0, -1, 1.5, 2 ** 32, Number.NaN])('cannot be %s', (minimumEpoch) => {
    expect(() => keyringsWith({ minimumEpoch })).toThrow(refusal('misconfigured') as Error);
    expect(() => keyringsWith({ minimumEpoch })).toThrow('the minimum epoch');
  });
});

describe('a keyring that was deleted', () => {
  it('is not created again beside data, and the message says what to restore', async () => {
    await created();
    await base.put(`${layout.data}x` as ObjectKey, Uint8Array.of(1), { mode: 'create' });
    await base.delete([{ key: layout.keyring }]);
    await expect(keyringsWith().load({ create: true })).rejects.toEqual(
      expect.objectContaining({
        code: 'key_unavailable',
        message: 'The tenant has data but no keyring; restore the keyring object from a backup.',
      }),
    );
    expect(await base.get(layout.keyring)).toBeUndefined();
  });
});
