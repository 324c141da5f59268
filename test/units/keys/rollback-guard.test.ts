import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readKeyStatus } from '../../../src/admin/keys/key-status.ts';
import { MemoryError } from '../../../src/errors.ts';
import type { Keyring } from '../../../src/format/keyring-bytes.ts';
import { SHRED_MARKER } from '../../../src/format/keyring-bytes.ts';
import { createLayout, parseTenantId } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { openKeyring, rewrapKeyring, rotateKeyring } from '../../../src/keys/keyring.ts';
import { createKeyringCache, type KeyringCache } from '../../../src/keys/keyring-cache.ts';
import { createKeyringEditor } from '../../../src/keys/keyring-editor.ts';
import {
  createRollbackGuard,
  createRollbackGuards,
  type OpenedKeyring,
  type RollbackGuard,
} from '../../../src/keys/rollback-guard.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { input } from '../../format/format-vectors.ts';
import { vectorBytes } from '../../format/vector-parts.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';

const rootKeys = [envRootKey(input('root'))];
const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });

beforeAll(loadSodium);

async function opened(id: string): Promise<OpenedKeyring> {
  const bytes = vectorBytes(id);
  return { keyring: await openKeyring({ bytes, tenant: 'acme', rootKeys }), bytes };
}

describe('RollbackGuard.admit', () => {
  it('has seen nothing at first', () => {
    expect(createRollbackGuard().begin()).toEqual({ newest: undefined, shredded: false });
  });

  it('says of an older keyring that it was overtaken when the newer one was seen while it was read', async () => {
    const guard = createRollbackGuard();
    const before = guard.begin();
    expect(guard.admit(await opened('two'), before)).toBe('newest');
    expect(guard.admit(await opened('one'), before)).toBe('overtaken');
    expect(guard.begin().newest?.epoch).toBe((await opened('two')).keyring.epoch);
  });

  it('refuses it when the newer one was seen before it was read', async () => {
    const guard = createRollbackGuard();
    const early = guard.begin();
    guard.admit(await opened('two'), early);
    const older = await opened('one');
    expect(() => guard.admit(older, guard.begin())).toThrow(refusal('integrity') as Error);
  });

  it('says of a keyring that it was overtaken by a marker that was met meanwhile, and refuses later ones', async () => {
    const guard = createRollbackGuard();
    const before = guard.begin();
    guard.shredded();
    const one = await opened('one');
    expect(guard.admit(one, before)).toBe('overtaken');
    expect(() => guard.admit(one, guard.begin())).toThrow(refusal('integrity') as Error);
  });

  it('refuses another keyring of the same epoch, also one that was read at the same time', async () => {
    const guard = createRollbackGuard();
    const before = guard.begin();
    const one = await opened('one');
    guard.admit(one, before);
    const other = { ...one, bytes: one.bytes.with(-1, (one.bytes.at(-1) ?? 0) ^ 1) };
    expect(() => guard.admit(other, before)).toThrow(refusal('integrity') as Error);
    expect(guard.admit(one, before)).toBe('newest');
  });

  it('refuses what lies below the highest of its pins', async () => {
    const guard = createRollbackGuard();
    const one = await opened('one');
    guard.pin(one.keyring.epoch);
    expect(guard.admit(one, guard.begin())).toBe('newest');
    guard.pin(one.keyring.epoch + 1);
    guard.pin(1);
    expect(guard.minimumEpoch).toBe(one.keyring.epoch + 1);
    expect(() => guard.admit(one, guard.begin())).toThrow(refusal('integrity') as Error);
  });
});

describe('createRollbackGuards', () => {
  it('gives each tenant its own, the same at every call', () => {
    const guardOf = createRollbackGuards(2);
    const a = guardOf('a');
    expect(guardOf('b')).not.toBe(a);
    expect(guardOf('a')).toBe(a);
  });

  it('forgets the one that was asked for longest ago', () => {
    const guardOf = createRollbackGuards(2);
    const [a, b] = [guardOf('a'), guardOf('b')];
    guardOf('a');
    guardOf('c');
    expect(guardOf('a')).toBe(a);
    expect(guardOf('b')).not.toBe(b);
  });

  it('takes back one that was forgotten and is in use', () => {
    const guardOf = createRollbackGuards(1);
    const a = guardOf('a');
    guardOf('b');
    expect(guardOf('a', a)).toBe(a);
    expect(guardOf('a')).toBe(a);
  });

  it('prefers the one that is in use to one that was made since', () => {
    const guardOf = createRollbackGuards(1);
    const a = guardOf('a');
    guardOf('b');
    expect(guardOf('a')).not.toBe(a);
    expect(guardOf('a', a)).toBe(a);
    expect(guardOf('a')).toBe(a);
  });
});

describe('one guard for all that reads a keyring', () => {
  let base: ObjectStore;
  let guard: RollbackGuard;
  const caches: KeyringCache[] = [];

  beforeEach(async () => {
    base = openSqliteObjectStore({ path: ':memory:' });
    await cache(createRollbackGuard()).load({ create: true });
    guard = createRollbackGuard();
  });
  afterEach(async () => {
    for (const each of caches.splice(0)) each.close();
    await base[Symbol.asyncDispose]();
  });

  function cache(shared: RollbackGuard = guard, store: ObjectStore = base): KeyringCache {
    const made = createKeyringCache({ store, layout, rootKeys, guard: shared });
    caches.push(made);
    return made;
  }
  const editor = (shared?: RollbackGuard, store: ObjectStore = base) =>
    createKeyringEditor({ store, layout, rootKeys, guard: shared, clock: Date.now, random });
  const rotate = () => editor().change(({ keyring }) => rotateKeyring(keyring, { random, created: 1 }));
  async function stored(): Promise<Uint8Array> {
    const found = await base.get(layout.keyring);
    if (typeof found !== 'object') throw new Error('there is no keyring');
    return found.body;
  }
  const put = (bytes: Uint8Array) => base.put(layout.keyring, bytes, { mode: 'overwrite' });
  const status = () => readKeyStatus({ rootKeys, editor: editor(guard) });

  it.each([
    ['a cache', () => cache().load()],
    ['an editor', () => editor(guard).read()],
    ['the status', status],
  ])('knows what %s has seen', async (_, see) => {
    const before = await stored();
    await rotate();
    await see();
    await put(before);
    await expect(cache().load()).rejects.toEqual(refusal('integrity'));
    await expect(editor(guard).read()).rejects.toEqual(refusal('integrity'));
    await expect(status()).rejects.toEqual(refusal('integrity'));
  });

  it.each([
    [
      'a cache',
      () =>
        cache()
          .load()
          .catch(() => undefined),
    ],
    [
      'an editor',
      () =>
        editor(guard)
          .read()
          .catch(() => undefined),
    ],
    ['the status', status],
  ])('knows the marker that %s has met', async (_, see) => {
    const before = await stored();
    await put(SHRED_MARKER);
    await see();
    await put(before);
    await expect(cache().load()).rejects.toEqual(refusal('integrity'));
    await expect(editor(guard).read()).rejects.toEqual(refusal('integrity'));
    await expect(status()).rejects.toEqual(refusal('integrity'));
  });

  it('knows what an editor has written', async () => {
    const before = await stored();
    await editor(guard).change(({ keyring }) => rewrapKeyring(keyring));
    await put(before);
    await expect(cache().load()).rejects.toEqual(refusal('integrity'));
  });

  /** A store whose first answer of that verb waits until the rest of the process has seen a newer keyring. */
  function slow(verb: 'get' | 'put'): ObjectStore {
    let met = false;
    return interceptStore(base, async (call, proceed) => {
      const answer = await proceed();
      if (met || call.verb !== verb) return answer;
      met = true;
      await rotate();
      await cache().load();
      return answer;
    });
  }

  it('reads again what was overtaken while a cache read it, and raises no alarm', async () => {
    expect((await cache(guard, slow('get')).load())?.epoch).toBe(2);
  });

  it('reads again what was overtaken while an editor read it', async () => {
    expect((await editor(guard, slow('get')).read())?.keyring.epoch).toBe(2);
  });

  it('raises no alarm for a write that another process has built on before its answer came', async () => {
    const { changed } = await editor(guard, slow('put')).change(({ keyring }) => rewrapKeyring(keyring));
    expect(changed).toBe(true);
    expect(guard.begin().newest?.epoch).toBe(3);
    expect((await cache().load())?.epoch).toBe(3);
  });

  it('raises no alarm for a keyring that was rotated before the answer to its creation came', async () => {
    await base.delete([{ key: layout.keyring }]);
    expect((await cache(guard, slow('put')).load({ create: true }))?.epoch).toBe(2);
  });

  it('raises no alarm for a tenant whose keyring was made while a cache saw none', async () => {
    await base.delete([{ key: layout.keyring }]);
    let met = false;
    const store = interceptStore(base, async (call, proceed) => {
      const answer = await proceed();
      if (!met && call.verb === 'get') {
        met = true;
        await cache().load({ create: true });
      }
      return answer;
    });
    expect(await cache(guard, store).load({ create: true })).toMatchObject({ epoch: 1 });
  });

  it('ends as unavailable when a keyring is changed at every read', async () => {
    const store = interceptStore(base, async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'get') {
        await rotate();
        await cache().load();
      }
      return answer;
    });
    await expect(cache(guard, store).load()).rejects.toSatisfy(
      (error) => error instanceof MemoryError && error.code === 'unavailable',
    );
  });
});

describe('RollbackGuard.admit of another keyring', () => {
  const opened = (epoch: number, id = 1) => ({
    keyring: { epoch, keyringId: new Uint8Array(16).fill(id) } as unknown as Keyring,
    bytes: Uint8Array.of(epoch, id),
  });
  const refused = expect.objectContaining({ code: 'integrity' });

  it('refuses another keyring, be its epoch lower, the same or higher', () => {
    for (const epoch of [4, 5, 6]) {
      const guard = createRollbackGuard();
      guard.admit(opened(5), guard.begin());
      expect(() => guard.admit(opened(epoch, 2), guard.begin())).toThrow(refused);
    }
  });

  it('refuses a lower epoch, be its bytes those that it knows', () => {
    const guard = createRollbackGuard();
    const known = opened(5);
    guard.admit(known, guard.begin());
    const lower = { ...known, keyring: { ...known.keyring, epoch: 4 } };
    expect(() => guard.admit(lower, guard.begin())).toThrow(refused);
  });

  it('refuses it also where the one it knows was read meanwhile', () => {
    for (const epoch of [4, 5, 6]) {
      const guard = createRollbackGuard();
      const before = guard.begin();
      guard.admit(opened(5), guard.begin());
      expect(() => guard.admit(opened(epoch, 2), before)).toThrow(refused);
      expect(epoch < 5 ? guard.admit(opened(epoch), before) : 'overtaken').toBe('overtaken');
    }
  });
});
