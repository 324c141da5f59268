import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLayout, type Layout, parseTenantId } from '../../src/format/object-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { createKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { createKeyringCache } from '../../src/keys/keyring-cache.ts';
import type { KeyringContext, RootKey } from '../../src/keys/root-key.ts';
import { openRootKeys } from '../../src/keys/root-keys.ts';
import { osRandom as random } from '../../src/store/os-random.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { drawsOf } from '../runner/draws.ts';
import { amount } from '../runner/thorough.ts';
import { type CustomerServices, startCustomerServices } from './customer-services.ts';

let services: CustomerServices;
let store: ObjectStore;

beforeEach(async () => {
  await loadSodium();
  services = await startCustomerServices();
  store = openSqliteObjectStore({ path: ':memory:' });
  for (const [name, value] of Object.entries(services.environment)) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await services[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const layoutOf = (tenant: string): Layout => createLayout({ prefix: '', tenant: parseTenantId(tenant) });
const ownOf = async (kind: 'KMS, disabled' | 'Transit, no policy'): Promise<RootKey> => {
  const [key] = openRootKeys([(await services.createKey(kind)).rootKey]).keys;
  if (key === undefined) throw new Error('there is no key');
  return key;
};

/** Makes a keyring as a stranger can who may use a key of his own, or this one in another context. */
async function keyringOf(tenant: string, rootKey: RootKey): Promise<Uint8Array> {
  const keyring = createKeyring({ nameMode: 'encrypted', random, created: 1 });
  return sealKeyring({ keyring, tenant, rootKey, random });
}

/** A key that says it is another, and uses the contexts that `turn` makes. */
const posing = (
  by: RootKey,
  { as, turn = (context) => context }: { as: RootKey; turn?: (context: KeyringContext) => KeyringContext },
): RootKey => ({
  id: as.id,
  generate: (context) => by.generate(turn(context)),
  unwrap: (wrapped, context) => by.unwrap(wrapped, turn(context)),
});

interface Scene {
  /** The key of the tenant acme, which is configured. */
  readonly own: RootKey;
  /** The key of another customer, in whichever service; in KMS it is another key of the same region. */
  readonly other: RootKey;
}

/** The keyrings that are put into the place of that of acme. */
const FORGERIES: Readonly<Record<string, (scene: Scene) => Promise<Uint8Array>>> = {
  'under another customer’s key': ({ other }) => keyringOf('acme', other),
  'of another customer’s tenant': ({ other }) => keyringOf('globex', other),
  'under another customer’s key that takes the name of this one': ({ own, other }) =>
    keyringOf('acme', posing(other, { as: own })),
  'of another tenant under the same key': ({ own }) => keyringOf('globex', own),
  'whose key was wrapped for another tenant': ({ own }) =>
    keyringOf('acme', posing(own, { as: own, turn: (context) => ({ ...context, tenant: 'globex' }) })),
  'whose key was wrapped for another keyring': ({ own }) =>
    keyringOf(
      'acme',
      posing(own, { as: own, turn: (context) => ({ ...context, keyring: 'QEFCQ0RFRkdISUpLTE1OTw' }) }),
    ),
  'under a key of another account, which has the same name': ({ own, other }) => {
    const moved = own.id.replace('111122223333', '444455556666').replace('/keys/', '/other/keys/');
    return keyringOf('acme', { ...posing(other, { as: own }), id: moved });
  },
};
const FORGED = Object.entries(FORGERIES);
const REFUSED = ['integrity', 'key_unavailable'];

/** The attempts that are made at once, each on a bucket of its own. */
const AT_ONCE = 8;
const attempts = amount({ usual: 300, thorough: 10_000 });

it(`a keyring of another key, context or account is refused in ${attempts} of ${attempts} attempts`, {
  timeout: 600_000,
}, async () => {
  const draw = drawsOf('keyrings of strangers');
  const pick = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(draw() * items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  };
  const keys = await Promise.all(
    (['KMS, disabled', 'Transit, no policy'] as const).flatMap((kind) => [ownOf(kind), ownOf(kind)]),
  );
  const found = new Map<string, number>();

  /** Puts a keyring into the place of that of acme in a bucket, and answers what a process makes of it. */
  async function attack(attempt: number): Promise<void> {
    const own = pick(keys);
    const other = pick(keys.filter((key) => key !== own));
    // Another customer's key, which the list of a process may hold, opens what it wrapped: see below.
    const rootKeys = draw() < 0.5 ? [own] : keys.filter((key) => key !== other);
    const layout = createLayout({ prefix: `bucket-${attempt % AT_ONCE}`, tenant: parseTenantId('acme') });
    const [name, forge] = FORGED[attempt % FORGED.length] ?? expect.fail('there is nothing to forge');
    await store.put(layout.keyring, await forge({ own, other }), { mode: 'overwrite' });
    const cache = createKeyringCache({ store, layout, rootKeys });
    const said = await cache.load().then(
      () => 'opened',
      (error: { readonly code?: string }) => error.code ?? String(error),
    );
    cache.close();
    const verdict = REFUSED.includes(said) ? 'refused' : `${said}: ${name}`;
    found.set(verdict, (found.get(verdict) ?? 0) + 1);
  }

  for (let first = 0; first < attempts; first += AT_ONCE) {
    const length = Math.min(AT_ONCE, attempts - first);
    await Promise.all(Array.from({ length }, (_, index) => attack(first + index)));
  }
  expect([...found]).toEqual([['refused', attempts]]);
});

it('opens, as documented, under any key of the list, with which a tenant is opened', async () => {
  const [own, other] = [await ownOf('KMS, disabled'), await ownOf('Transit, no policy')];
  await store.put(layoutOf('acme').keyring, await keyringOf('acme', other), { mode: 'overwrite' });
  const epochUnder = async (rootKeys: readonly RootKey[]) => {
    const cache = createKeyringCache({ store, layout: layoutOf('acme'), rootKeys });
    return cache.load().then(
      (loaded) => loaded?.epoch,
      (error: { readonly code?: string }) => error.code,
    );
  };
  expect(await epochUnder([own])).toBe('key_unavailable');
  expect(await epochUnder([own, other])).toBe(1);
});

it('a keyring of the tenant’s own key and context is opened, whichever service holds the key', async () => {
  for (const kind of ['KMS, disabled', 'Transit, no policy'] as const) {
    const own = await ownOf(kind);
    const layout = layoutOf('acme');
    await store.put(layout.keyring, await keyringOf('acme', own), { mode: 'overwrite' });
    const cache = createKeyringCache({ store, layout, rootKeys: [own] });
    expect((await cache.load())?.epoch).toBe(1);
    cache.close();
  }
});
