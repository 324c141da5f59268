import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openMounts } from '../../../src/open/mounts.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions, MountOptions } from '../../../src/open/options/options.ts';
import { readMounts } from '../../../src/open/options/settings.ts';
import {
  createMemoryPool,
  createTenantPool,
  type MemoryPool,
  type PoolOptions,
} from '../../../src/open/pool.ts';
import { shared } from '../../../src/store/open-store.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { createVersionCaches } from '../../../src/tree/version-cache.ts';
import { startFakeKms } from '../../stage/fake-kms.ts';
import { silentLogger } from '../../stage/silent-logger.ts';
import { interceptStore, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

const rootKey = new Uint8Array(32).fill(3);
const KNOWN = { accessKeyId: 'AKID', secretAccessKey: 'secret' };
const HANDBOOK = { at: '/memories/handbook', tenant: 'org', readOnly: true };

let store: ObjectStore;
let calls: StoreCall[];
const pools: MemoryPool[] = [];

beforeEach(async () => {
  store = openSqliteObjectStore({ path: ':memory:' });
  calls = [];
  const org = await openMemory({ store, tenant: 'org', rootKey });
  await org.files.write('/memories/rules.md', 'be kind');
  await org.close();
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await store[Symbol.asyncDispose]();
});

function poolOf(options: Partial<PoolOptions> = {}): MemoryPool {
  const watched = interceptStore(store, recordInto(calls));
  const pool = createMemoryPool({ store: watched, rootKey, mounts: [HANDBOOK], ...options });
  pools.push(pool);
  return pool;
}

const keyringReads = (tenant: string): number =>
  calls.filter((call) => call.verb === 'get' && call.key.endsWith(`keyrings/${tenant}`)).length;

describe('a pool with mounts', () => {
  it('shows them in the memory of every tenant, each beside its own files, opened once', async () => {
    const pool = poolOf();
    const tenants = ['a', 'b', 'c', 'd'];
    const memories = await Promise.all(tenants.map((tenant) => pool.open(tenant)));
    for (const [index, { files }] of memories.entries()) {
      await files.write('/memories/own', `of ${index}`);
      expect((await files.read('/memories/handbook/rules.md'))?.text()).toBe('be kind');
    }
    for (const [index, { files }] of memories.entries()) {
      const paths: string[] = [];
      for await (const { path } of files.list('/memories', { recursive: true })) paths.push(path);
      expect(paths.sort()).toEqual(['/memories/handbook/rules.md', '/memories/own']);
      expect((await files.read('/memories/own'))?.text()).toBe(`of ${index}`);
    }
    expect(keyringReads('org')).toBe(1);
  });

  it('writes nothing to a read-only one, whose owner writes through the same pool', async () => {
    const pool = poolOf();
    const [customer, org] = [await pool.open('customer'), await pool.open('org')];
    const refused = await customer.execute({
      command: 'create',
      path: '/memories/handbook/x',
      file_text: 'x',
    });
    expect(refused).toMatchObject({ isError: true, error: { code: 'read_only' } });
    await org.files.write('/memories/rules.md', 'be kind and brief');
    expect((await customer.files.read('/memories/handbook/rules.md'))?.text()).toBe('be kind and brief');
  });

  it('asks KMS for each by the credentials of its own tenant, or by those that the mount has', async () => {
    await using kms = await startFakeKms();
    vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
    try {
      const keys = {
        rootKey: `aws-kms:${kms.createKey()}`,
        store: openSqliteObjectStore({ path: ':memory:' }),
      };
      const credentialsOf = (tenant: string) => ({ accessKeyId: `AKID${tenant}`, secretAccessKey: 'secret' });
      for (const tenant of ['org', 'team']) {
        await using memory = await openMemory({ ...keys, tenant, credentials: credentialsOf('US') });
        await memory.files.write('/memories/rules.md', 'be kind');
        kms.allowOnly(credentialsOf(tenant).accessKeyId, tenant);
      }
      const team = { at: '/memories/team', tenant: 'team', credentials: credentialsOf('team') };
      const options = { ...keys, mounts: [HANDBOOK, team], credentials: credentialsOf('US') };
      for (const tenants of [undefined, () => undefined]) {
        await using pool = createTenantPool(
          { ...options, tenants },
          { mountCredentials: (tenant) => credentialsOf(tenant) },
        );
        const before = kms.requests.length;
        const { memory } = await pool.open('acme');
        for (const at of ['handbook', 'team']) {
          expect((await memory.files.read(`/memories/${at}/rules.md`))?.text()).toBe('be kind');
        }
        const asked = kms.requests.slice(before).map(({ accessKeyId }) => accessKeyId);
        expect(asked.sort()).toEqual(['AKIDorg', 'AKIDteam']);
      }
      await keys.store[Symbol.asyncDispose]();
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('shows a tenant whose settings name mounts those alone', async () => {
    await using team = await openMemory({ store, tenant: 'team', rootKey });
    await team.files.write('/memories/plan.md', 'to win');
    const mounts = [{ at: '/memories/team', tenant: 'team', readOnly: true, expires: false }];
    const settings = new Map([
      ['acme', { mounts }],
      ['alone', { mounts: [] }],
    ]);
    const pool = poolOf({ tenants: (tenant) => settings.get(tenant) });
    const seen: Record<string, readonly string[]> = {};
    for (const tenant of ['acme', 'alone', 'other']) {
      const { files } = await pool.open(tenant);
      const paths: string[] = [];
      for await (const { path } of files.list('/memories', { recursive: true })) paths.push(path);
      seen[tenant] = paths;
    }
    const other = ['/memories/handbook/rules.md'];
    expect(seen).toEqual({ acme: ['/memories/team/plan.md'], alone: [], other });
  });

  it.each([
    ['no credentials', {}, {}, 0],
    ['those of the memory alone', { credentials: KNOWN }, {}, 0],
    ['its own', {}, { credentials: KNOWN }, 1],
    ['its own beside those of the memory', { credentials: KNOWN }, { credentials: KNOWN }, 1],
  ])(
    'reaches the store anew for a mount with credentials of its own alone: %s',
    async (_, ofMemory, ofMount, times) => {
      const points = readMounts({ store, rootKey, ...ofMemory, mounts: [{ ...HANDBOOK, ...ofMount }] });
      const base = shared(store);
      const withCredentials = vi.fn(() => base);
      const mounts = await openMounts(points, {
        base: { ...base, withCredentials },
        openCache: createVersionCaches(0),
        isReadOnly: false,
      });
      await mounts.reach();
      await mounts.close();
      expect(withCredentials).toHaveBeenCalledTimes(times);
    },
  );

  it('stays mounted while tenants are evicted and opened again', async () => {
    const pool = poolOf({ maxTenants: 1 });
    for (const tenant of ['a', 'b', 'a', 'c']) {
      await using memory = await pool.open(tenant);
      expect(await memory.files.exists('/memories/handbook/rules.md')).toBe(true);
    }
  });

  it('leaves them closed where it opens tenants alone', async () => {
    const mounts = [HANDBOOK, { at: '/memories/gone', tenant: 'gone', store: 'sqlite:/no/such/folder/x' }];
    const watched = interceptStore(store, recordInto(calls));
    await using pool = createTenantPool({ store: watched, rootKey, mounts }, { opens: 'tenants' });
    const { memory } = await pool.open('a');
    expect(await memory.files.exists('/memories/handbook/rules.md')).toBe(false);
    expect(keyringReads('org')).toBe(0);
    await using mounted = createTenantPool({ store: watched, rootKey, mounts });
    await expect(mounted.open('a')).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('closes with itself each store that it opened, and no store of the caller', async () => {
    const close = vi.spyOn(DatabaseSync.prototype, 'close');
    const own = { at: '/memories/own', store: 'memory:', tenant: 'own' };
    const shared = { rootKey, mounts: [own, { at: '/memories/beside', tenant: 'beside' }] };
    try {
      for (const [options, most] of [
        [{ ...shared, store: 'memory:' }, 2],
        [{ ...shared, store }, 1],
        [{ rootKey, store: 'memory:' }, 1],
        [{ rootKey, store }, 0],
      ] as const) {
        const pool = createMemoryPool(options);
        for (const tenant of ['a', 'b']) await pool.open(tenant);
        expect(close).not.toHaveBeenCalled();
        await pool.close();
        await pool.close();
        expect(close).toHaveBeenCalledTimes(most);
        close.mockClear();
      }
    } finally {
      close.mockRestore();
    }
  });

  it('refuses at once what cannot be mounted, and at the opening what cannot be opened', async () => {
    for (const wrong of [
      { ...HANDBOOK, at: '/memories/a/b' },
      { at: '/memories/a' } as MountOptions,
      { ...HANDBOOK, onExists: 'overwrite' },
      { ...HANDBOOK, mounts: [HANDBOOK] },
    ]) {
      expect(() => poolOf({ mounts: [wrong] })).toThrow(expect.objectContaining({ code: 'misconfigured' }));
    }
    const pool = poolOf({ mounts: [{ ...HANDBOOK, rootKey: new Uint8Array(32).fill(9) }] });
    await expect(pool.open('a')).rejects.toMatchObject({ code: 'key_unavailable' });
  });
});

describe('a read-only mount of a tenant that does not exist', () => {
  const TYPO = { ...HANDBOOK, tenant: 'ogr' };

  it('is warned of once, and one that exists or may begin is not', async () => {
    const warn = vi.fn();
    const logger = { ...silentLogger, warn };
    const pool = poolOf({ mounts: [TYPO], logger });
    for (const tenant of ['a', 'b']) await (await pool.open(tenant)).close();
    const told = 'Nothing was ever written for the tenant ogr, which is only read here: is its name right?';
    expect(warn.mock.calls).toEqual([[told, undefined]]);
    warn.mockClear();
    for (const mount of [HANDBOOK, { at: '/memories/drafts', tenant: 'drafts' }]) {
      const begins = poolOf({ mounts: [mount], logger });
      await (await begins.open('a')).close();
    }
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('a memory that is read-only beside a mount that is not', () => {
  const WRITABLE = { at: '/memories/drafts', tenant: 'drafts' };
  const HALF = expect.stringContaining('read-only, and takes writes below a mount that is not, of drafts: ');

  it.each<[string, (options: PoolOptions) => Promise<unknown>]>([
    [
      'openMemory',
      async (options) => {
        await using memory = await openMemory({ ...options, tenant: 'a' });
        await memory.files.write('/memories/drafts/a', 'x');
      },
    ],
    [
      'a pool',
      async (options) => {
        await using pool = createMemoryPool(options);
        for (const tenant of ['a', 'b']) await pool.open(tenant);
      },
    ],
  ])('says so once when it is opened: %s', async (_, open) => {
    const warnings = async (options: Partial<MemoryOptions>): Promise<readonly unknown[]> => {
      const warn = vi.fn();
      const logger = { ...silentLogger, warn };
      await open({ store, rootKey, readOnly: true, logger, ...options });
      return warn.mock.calls;
    };
    expect(await warnings({ mounts: [HANDBOOK, WRITABLE] })).toEqual([[HALF, undefined]]);
    expect(await warnings({ mounts: [WRITABLE], readOnly: false })).toEqual([]);
  });

  it('says nothing where no mount takes writes', async () => {
    const warn = vi.fn();
    const logger = { ...silentLogger, warn };
    await using _ = await openMemory({
      store,
      rootKey,
      tenant: 'a',
      readOnly: true,
      logger,
      mounts: [HANDBOOK],
    });
    expect(warn).not.toHaveBeenCalled();
  });
});
