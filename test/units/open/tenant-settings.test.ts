import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keyHolderOf, MemoryError } from '../../../src/errors.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions, TenantSettings, TenantSource } from '../../../src/open/options/options.ts';
import {
  createMemoryPool,
  createTenantPool,
  type MemoryPool,
  type PoolOptions,
} from '../../../src/open/pool.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { silentLogger } from '../../stage/silent-logger.ts';
import { TOKEN } from '../policy/made-up-token.ts';

const MINUTE = 60_000;
const POOL_KEY = new Uint8Array(32).fill(1);
const keyOf = (n: number) => new Uint8Array(32).fill(n);
const refusal = (code: string, message?: string) =>
  expect.objectContaining({
    name: 'MemoryError',
    code,
    ...(message && { message: expect.stringContaining(message) }),
  });

let store: ObjectStore;
let settings: Record<string, TenantSettings | undefined>;
let asked: string[];
let pools: MemoryPool[];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.UTC(2026, 10, 28) });
  store = openSqliteObjectStore({ path: ':memory:' });
  [settings, asked, pools] = [{}, [], []];
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(pools.map((pool) => pool.close()));
  await store[Symbol.asyncDispose]();
});

const pass = (ms: number): void => void vi.advanceTimersByTime(ms);
const ask: TenantSource = async (tenant) => {
  asked.push(tenant);
  return settings[tenant];
};
function poolOf(tenants: TenantSource = ask, more: Partial<PoolOptions> = {}): MemoryPool {
  const pool = createMemoryPool({ store, rootKey: POOL_KEY, logger: silentLogger, tenants, ...more });
  pools.push(pool);
  return pool;
}

/** Settings as a mapper of tables makes them: no member is the object's own. */
class Row {
  get readOnly(): boolean {
    return true;
  }
}

/** A root key whose state nobody sees. */
class HiddenKey implements RootKey {
  readonly id = 'hidden';
  readonly #inner: RootKey;
  constructor(n: number) {
    this.#inner = envRootKey(keyOf(n));
  }
  generate(...asked: Parameters<RootKey['generate']>): ReturnType<RootKey['generate']> {
    return this.#inner.generate(...asked);
  }
  unwrap(...asked: Parameters<RootKey['unwrap']>): ReturnType<RootKey['unwrap']> {
    return this.#inner.unwrap(...asked);
  }
}

describe('the settings of a tenant', () => {
  it('count for it alone: keys, limits, policy, mounts, and whether it is written at all', async () => {
    settings = {
      keyed: { rootKey: keyOf(7) },
      small: { limits: { fileBytes: 10 } },
      strict: { policy: 'secrets' },
      shown: { mounts: [{ at: '/memories/handbook', tenant: 'org', readOnly: true, expires: false }] },
      closed: { readOnly: true },
    };
    const pool = poolOf();
    const org = await pool.open('org');
    await org.files.write('/memories/rules.md', 'be kind');
    for (const tenant of ['plain', 'keyed', 'small', 'strict', 'shown']) {
      const { files } = await pool.open(tenant);
      await files.write('/memories/a.md', 'hello');
      const long = files.write('/memories/long.md', 'x'.repeat(11));
      await (tenant === 'small' ? expect(long).rejects.toEqual(refusal('limit_exceeded')) : long);
      const leak = files.write('/memories/leak.md', `key ${TOKEN}`);
      if (tenant === 'strict') await expect(leak).rejects.toEqual(refusal('policy_refused'));
      else if (tenant === 'small') await expect(leak).rejects.toEqual(refusal('limit_exceeded'));
      else await leak;
      const shared = await files.read('/memories/handbook/rules.md');
      expect(shared?.text()).toBe(tenant === 'shown' ? 'be kind' : undefined);
    }
    const closed = await pool.open('closed');
    await expect(closed.files.write('/memories/a.md', 'a')).rejects.toEqual(refusal('read_only'));
    const others = createMemoryPool({ store, rootKey: POOL_KEY, logger: silentLogger });
    pools.push(others);
    await expect(others.open('keyed')).rejects.toEqual(refusal('key_unavailable'));
    await expect(others.open('plain')).resolves.toBeDefined();
  });

  it('are asked for once in five minutes, by however many calls, and beside the answer in the last of them', async () => {
    const pool = poolOf();
    const memories = await Promise.all(Array.from({ length: 50 }, () => pool.open('acme')));
    expect(asked).toEqual(['acme']);
    pass(4 * MINUTE - 1);
    await Promise.all(memories.map(({ files }) => files.exists('/memories/a.md')));
    expect(asked).toHaveLength(1);
    pass(1);
    await Promise.all(memories.map(({ files }) => files.exists('/memories/a.md')));
    expect(asked).toHaveLength(2);
    pass(5 * MINUTE);
    await Promise.all(memories.map(({ files }) => files.exists('/memories/a.md')));
    expect(asked).toHaveLength(3);
  });

  it('take hold in open memories, call by call, while these go on', async () => {
    const pool = poolOf();
    const memory = await pool.open('acme', { actor: 'ann' });
    const tool = memory.tool();
    await memory.files.write('/memories/a.md', 'one');
    settings = { acme: { readOnly: true, history: { days: 3 } } };
    await memory.files.write('/memories/a.md', 'two', { mode: 'replace' });
    pass(5 * MINUTE);
    const writing = memory.files.write('/memories/a.md', 'three', { mode: 'replace' });
    await expect(writing).rejects.toEqual(refusal('read_only'));
    expect((await memory.files.read('/memories/a.md'))?.text()).toBe('two');
    await expect(tool.run({ command: 'delete', path: '/memories/a.md' })).rejects.toThrow('can be read only');
    await expect(memory.sessions.append({ projectKey: 'p', sessionId: 's' }, ['{}'])).rejects.toEqual(
      refusal('read_only'),
    );
    settings = {};
    pass(5 * MINUTE);
    await memory.files.write('/memories/a.md', 'four', { mode: 'replace' });
    expect((await memory.files.read('/memories/a.md'))?.text()).toBe('four');
    await memory.close();
    await expect(memory.files.read('/memories/a.md')).rejects.toEqual(refusal('aborted'));
  });

  it('end a listing on the tree on which it began', async () => {
    const pool = poolOf();
    const { files } = await pool.open('acme');
    for (let i = 0; i < 1_005; i++) await files.write(`/memories/f${i}.md`, '');
    const listing = files.list('/memories')[Symbol.asyncIterator]();
    const paths = [(await listing.next()).value?.path];
    settings = { acme: { limits: { files: 2_000 } } };
    pass(5 * MINUTE);
    await files.write('/memories/g.md', '');
    for (let next = await listing.next(); !next.done; next = await listing.next())
      paths.push(next.value.path);
    expect(new Set(paths).size).toBeGreaterThanOrEqual(1_005);
  });

  it('with another root key drop the keys of the last one at once, and no text opens without it', async () => {
    settings = { acme: { rootKey: [keyOf(7)] } };
    const pool = poolOf();
    const memory = await pool.open('acme');
    await memory.files.write('/memories/a.md', 'one');
    settings = { acme: { rootKey: [keyOf(8)] } };
    pass(5 * MINUTE);
    await expect(memory.files.read('/memories/a.md')).rejects.toEqual(refusal('key_unavailable'));
    await expect(pool.open('acme')).rejects.toEqual(refusal('key_unavailable'));
    settings = { acme: { rootKey: [keyOf(8), keyOf(7)] } };
    pass(5 * MINUTE);
    expect((await memory.files.read('/memories/a.md'))?.text()).toBe('one');
  });

  it('that cannot be read serve until their time is over, and are never the pool’s own then', async () => {
    settings = { acme: { readOnly: true } };
    let fails = false;
    const pool = poolOf(async (tenant) => {
      if (fails) throw new Error('throttled');
      return settings[tenant];
    });
    const memory = await pool.open('acme');
    fails = true;
    pass(5 * MINUTE - 1);
    await expect(memory.files.write('/memories/a.md', 'a')).rejects.toEqual(refusal('read_only'));
    pass(1);
    const failed = refusal('unavailable', 'The settings of tenant acme could not be read.');
    await expect(memory.files.write('/memories/a.md', 'a')).rejects.toEqual(failed);
    await expect(pool.open('acme')).rejects.toEqual(failed);
    await expect(pool.open('globex')).rejects.toEqual(refusal('unavailable'));
    expect(await memory.execute({ command: 'view', path: '/memories' })).toMatchObject({
      isError: true,
      content: 'Error: The memory is temporarily unavailable, try again',
    });
    fails = false;
    pass(1_000);
    await expect(memory.files.write('/memories/a.md', 'a')).rejects.toEqual(refusal('read_only'));
  });

  it('with another object as the root key drop the last one, though both look alike', async () => {
    settings = { acme: { rootKey: new HiddenKey(7) } };
    const { files } = await poolOf().open('acme');
    await files.write('/memories/a.md', 'one');
    settings = { acme: { rootKey: new HiddenKey(8) } };
    pass(5 * MINUTE);
    await expect(files.read('/memories/a.md')).rejects.toEqual(refusal('integrity'));
  });

  it.each([
    ['a missing file', new MemoryError('not_found', 'canary')],
    ['a read-only memory', new MemoryError('read_only', 'canary')],
    [
      'a key of another tenant',
      new MemoryError('key_unavailable', 'x', { details: { keyHolder: 'tenant' } }),
    ],
    ['settings there', new MemoryError('unavailable', 'x', { details: { keyHolder: 'tenant' } })],
    ['nothing', undefined],
    ['a text', 'canary'],
  ])('whose source fails for %s are unavailable, by the fault of whoever runs it', async (_, thrown) => {
    let fails = false;
    const { files } = await poolOf(() => {
      if (fails) throw thrown;
      return undefined;
    }).open('acme');
    fails = true;
    pass(5 * MINUTE);
    const failed = await files.exists('/memories/a.md').catch((error: unknown) => error);
    expect(failed).toEqual(refusal('unavailable', 'The settings of tenant acme could not be read.'));
    expect(keyHolderOf(failed)).toBeUndefined();
  });

  it('hold up no other tenant while one is not answered', async () => {
    const never = new Promise<TenantSettings>(() => {});
    const pool = poolOf((tenant) => (tenant === 'slow' ? never : undefined));
    void pool.open('slow').catch(() => {});
    const { files } = await pool.open('acme');
    await files.write('/memories/a.md', 'a');
    expect((await files.read('/memories/a.md'))?.text()).toBe('a');
  });

  it.each<readonly [string, unknown, string]>([
    [
      'a name that is none',
      { rootkey: keyOf(2) },
      'rootkey is not a setting of a tenant (acme). Did you mean rootKey?',
    ],
    ['an option of the pool', { store: 'memory:' }, 'store is not a setting of a tenant'],
    ['a wrong type', { readOnly: 'yes' }, 'readOnly in the settings of tenant acme must be true or false'],
    ['a number out of its bounds', { expireAfterDays: 0 }, 'expireAfterDays in the settings of tenant acme'],
    ['an unknown limit', { limits: { bytes: 3 } }, 'limits.bytes is not an option'],
    [
      'expiry turned on by the wrong name',
      { expires: true },
      'expires in the settings of tenant acme must be false',
    ],
    ['a number for a group', { limits: 5 }, 'limits in the settings of tenant acme must be an object'],
    ['nothing for a group', { history: null }, 'history in the settings of tenant acme must be an object'],
    ['a list for a group', { limits: [5] }, 'limits in the settings of tenant acme must be an object'],
    [
      'a text for mounts',
      { mounts: 'org' },
      'mounts in the settings of tenant acme must be a list of objects',
    ],
    [
      'a mount that is none',
      { mounts: [null] },
      'mounts in the settings of tenant acme must be a list of objects',
    ],
    ['nothing for a key', { rootKey: null }, 'rootKey in the settings of tenant acme'],
    ['nothing for a policy', { policy: null }, 'policy in the settings of tenant acme'],
    [
      'nothing for a flag',
      { readOnly: null },
      'readOnly in the settings of tenant acme must be true or false',
    ],
    ['nothing for a model', { model: null }, 'model in the settings of tenant acme must be a text'],
    ['no object', 'readOnly', 'The settings of tenant acme are no object'],
    ['a list', [], 'The settings of tenant acme are no object'],
    ['null', null, 'The settings of tenant acme are no object'],
    ['a map', new Map([['readOnly', true]]), 'The settings of tenant acme are no object such as JSON has'],
    ['inherited members', Object.create({ readOnly: true }), 'The settings of tenant acme are no object'],
    ['a row with getters', new Row(), 'The settings of tenant acme are no object'],
    ['a root key that is none', { rootKey: new Uint8Array(5) }, 'rootKey in the settings of tenant acme'],
    ['a budget of nothing', { tokensPerDay: 0 }, 'tokensPerDay in the settings of tenant acme'],
    ['no model', { model: '' }, 'model in the settings of tenant acme must not be empty'],
    ['an unknown effort', { effort: 'most' }, 'effort in the settings of tenant acme must be low or'],
    [
      'a mount whose expiry is open',
      { mounts: [{ at: '/memories/x', tenant: 'org' }] },
      'must say expires: true or false',
    ],
  ])('are refused with %s, and the others served', async (_, given, message) => {
    const pool = poolOf((tenant) => (tenant === 'acme' ? (given as never) : undefined));
    await expect(pool.open('acme')).rejects.toEqual(refusal('misconfigured', message));
    await expect(pool.open('globex')).resolves.toBeDefined();
  });

  it('without a root key of their own leave all tenants behind the one gate of the pool’s', async () => {
    const server = createServer((request) => request.resume()).listen(0, '127.0.0.1');
    let requests = 0;
    server.on('request', () => requests++);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    vi.stubEnv('VAULT_TOKEN', 'token');
    try {
      const pool = poolOf(() => ({ expireAfterDays: 9 }), {
        rootKey: `vault:http://127.0.0.1:${port}/transit/keys/k`,
      });
      const stop = new AbortController();
      const writes = Array.from({ length: 40 }, async (_, n) => {
        const { files } = await pool.open(`tenant-${n}`);
        await files.write('/memories/a.md', 'a', { signal: stop.signal });
      });
      await vi.waitFor(() => expect(requests).toBe(16), 10_000);
      await new Promise((resolve) => setImmediate(resolve));
      expect(requests).toBe(16);
      stop.abort();
      await Promise.allSettled(writes);
    } finally {
      vi.unstubAllEnvs();
      server.closeAllConnections();
      server.close();
    }
  });

  it('leave the tenant with its newest credentials, whichever memory goes over to them first', async () => {
    const used: unknown[] = [];
    const server = createServer((request, response) => {
      used.push(/Credential=(\w+)/.exec(request.headers.authorization ?? '')?.[1]);
      response.writeHead(403).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const credentials = (accessKeyId: string) => ({ accessKeyId, secretAccessKey: 'secret' });
    try {
      const pool = poolOf(ask, {
        store: 's3://memories',
        s3: { endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1' },
        lazy: true,
      });
      const old = await pool.open('acme', { credentials: credentials('OLD') });
      await pool.open('acme', { credentials: credentials('NEW') });
      await expect(old.files.read('/memories/a.md')).rejects.toEqual(refusal('access_denied'));
      used.length = 0;
      settings = { acme: { expireAfterDays: 9 } };
      pass(5 * MINUTE);
      await expect(old.files.read('/memories/a.md')).rejects.toEqual(refusal('access_denied'));
      expect(new Set(used)).toEqual(new Set(['NEW']));
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('count for a memory that is opened alone, while it is open, and for its administration', async () => {
    settings = { acme: { rootKey: keyOf(7) } };
    const options = { store, tenant: 'acme', rootKey: POOL_KEY, logger: silentLogger, tenants: ask };
    await using memory = await openMemory(options);
    await memory.files.write('/memories/a.md', 'one');
    await using admin = await openAdmin(options);
    expect((await admin.verify()).findings).toEqual([]);
    expect((await admin.rewrapRoot()).rewrapped).toBe(false);
    settings = { acme: { rootKey: keyOf(7), readOnly: true } };
    pass(5 * MINUTE);
    await expect(memory.files.write('/memories/b.md', 'b')).rejects.toEqual(refusal('read_only'));
    expect((await memory.files.read('/memories/a.md'))?.text()).toBe('one');
    await memory.close();
    await expect(openMemory({ ...options, tenant: undefined as never })).rejects.toEqual(
      refusal('misconfigured', 'tenant is not set'),
    );
  });

  it('say of a tenant whether it expires, and after how many days', async () => {
    settings = { kept: { expires: false }, short: { expireAfterDays: 2 } };
    const pool = createTenantPool(
      { store, rootKey: POOL_KEY, logger: silentLogger, tenants: ask, expireAfterDays: 30 },
      { opens: 'tenants' },
    );
    pools.push(pool as never);
    const marked: Record<string, number> = {};
    for (const tenant of ['kept', 'short', 'plain']) {
      const { memory } = await pool.open(tenant);
      await memory.files.write('/memories/a.md', 'a');
      await memory.close();
    }
    pass(5 * 24 * 60 * MINUTE);
    for (const tenant of ['kept', 'short', 'plain']) {
      const { memory, expire } = await pool.open(tenant);
      marked[tenant] = (await expire()).marked;
      await memory.close();
    }
    expect(marked).toEqual({ kept: 0, short: 1, plain: 0 });
  });

  it('mount no tenant whose files expire by its own, as a run of the expiry does not see the mount', async () => {
    const mounts = [{ at: '/memories/handbook', tenant: 'org', readOnly: true, expires: false }];
    settings = { acme: { mounts } };
    const pool = poolOf(ask, { expireAfterDays: 90 });
    await expect(pool.open('acme')).rejects.toEqual(
      refusal('misconfigured', 'say expires: false there as well'),
    );
    settings = { acme: { mounts: [...mounts] }, org: { expires: false } };
    pass(5 * MINUTE);
    await expect(pool.open('acme')).resolves.toBeDefined();
  });
});

describe('a mount of a tenant with a root key of its own', () => {
  const mounts = [{ at: '/memories/handbook', tenant: 'org', readOnly: true, expires: false }];
  const PATH = '/memories/handbook/rules.md';

  /** A root key that its owner may disable, and that counts what it is asked. */
  function serviceOf(n: number) {
    const inner = envRootKey(keyOf(n));
    const service = { isDisabled: false, asked: 0, key: {} as RootKey };
    const ask = (): RootKey => {
      service.asked++;
      if (service.isDisabled) throw new MemoryError('key_unavailable', 'disabled');
      return inner;
    };
    service.key = {
      id: `service-${n}`,
      generate: async (...given) => ask().generate(...given),
      unwrap: async (...given) => ask().unwrap(...given),
    };
    return service;
  }

  async function rewrap(rootKey: MemoryOptions['rootKey']): Promise<void> {
    await using admin = await openAdmin({ store, tenant: 'org', rootKey, logger: silentLogger });
    expect(await admin.rewrapRoot()).toMatchObject({ rewrapped: true });
  }

  /** Opens a memory in which it is mounted. */
  const MOUNTED: Readonly<Record<string, () => Promise<Memory>>> = {
    'in all memories of a pool': async () => poolOf(ask, { mounts, maxTenants: 1 }).open('acme'),
    'in the memory of one tenant': async () => {
      settings['acme'] = { mounts };
      return poolOf().open('acme');
    },
    'in a memory that is opened alone': async () => {
      const memory = await openMemory({
        ...{ store, tenant: 'acme', rootKey: POOL_KEY, logger: silentLogger, tenants: ask, mounts },
      });
      pools.push({ close: memory.close } as MemoryPool);
      return memory;
    },
  };

  describe.each(Object.keys(MOUNTED))('%s', (where) => {
    const read = async ({ files }: Memory): Promise<string | undefined> => (await files.read(PATH))?.text();
    let memory: Memory;
    beforeEach(async () => {
      settings = { org: { rootKey: keyOf(7), expires: false } };
      await using pool = poolOf();
      await (await pool.open('org')).files.write('/memories/rules.md', 'be kind');
      memory = (await MOUNTED[where]?.()) ?? expect.fail('no memory');
      expect(await read(memory)).toBe('be kind');
    });

    it('goes with it to another key within five minutes, and needs the last one no more', async () => {
      settings['org'] = { rootKey: [keyOf(8), keyOf(7)], expires: false };
      pass(5 * MINUTE);
      expect(await read(memory)).toBe('be kind');
      await rewrap([keyOf(8), keyOf(7)]);
      settings['org'] = { rootKey: keyOf(8), expires: false };
      pass(5 * MINUTE);
      expect(await read(memory)).toBe('be kind');
      expect(await Promise.all(Array.from({ length: 20 }, () => read(memory)))).toEqual(
        Array(20).fill('be kind'),
      );
    });

    it('opens nothing by a key that its settings no longer name, until they name it again', async () => {
      settings['org'] = { rootKey: keyOf(8), expires: false };
      pass(5 * MINUTE - 1);
      expect(await read(memory)).toBe('be kind');
      pass(1);
      const refused = Promise.allSettled(Array.from({ length: 20 }, () => read(memory)));
      const codes = (await refused).map((each) => each.status === 'rejected' && each.reason.code);
      expect(codes).toEqual(Array(20).fill('key_unavailable'));
      await expect(memory.files.stat(PATH)).rejects.toEqual(refusal('key_unavailable'));
      await memory.files.write('/memories/own.md', 'goes on');
      settings['org'] = { rootKey: [keyOf(8), keyOf(7)], expires: false };
      pass(5 * MINUTE);
      expect(await read(memory)).toBe('be kind');
    });

    it('is refused once its settings vanish or cannot be read, and comes back with them', async () => {
      const { org } = settings;
      settings['org'] = { expires: false };
      pass(5 * MINUTE);
      await expect(read(memory)).rejects.toEqual(refusal('key_unavailable'));
      settings['org'] = 'nothing' as TenantSettings;
      pass(5 * MINUTE);
      await expect(read(memory)).rejects.toEqual(refusal('misconfigured', 'tenant org'));
      settings['org'] = org;
      pass(5 * MINUTE);
      expect(await read(memory)).toBe('be kind');
    });

    it('whose key is disabled is refused within its time to live, and its owner asked once for it', async () => {
      const service = serviceOf(9);
      settings['org'] = { rootKey: [service.key, keyOf(7)], expires: false };
      await rewrap([service.key, keyOf(7)]);
      pass(5 * MINUTE);
      expect(await read(memory)).toBe('be kind');
      service.isDisabled = true;
      pass(5 * MINUTE);
      service.asked = 0;
      const refused = await read(memory).catch((error: unknown) => error);
      expect(refused).toEqual(refusal('key_unavailable', 'That tenant is mounted'));
      // The holder is not the one of the memory around it.
      expect(keyHolderOf(refused)).toBeUndefined();
      await expect(read(memory)).rejects.toEqual(refusal('key_unavailable'));
      expect(service.asked).toBe(1);
      service.isDisabled = false;
      pass(10_000);
      expect(await read(memory)).toBe('be kind');
    });
  });

  it('has what the last key opened wiped at once, under a listing that goes on', async () => {
    settings = { org: { rootKey: keyOf(7), expires: false } };
    const pool = poolOf(ask, { mounts });
    const org = await pool.open('org');
    for (let i = 0; i < 1_005; i++) await org.files.write(`/memories/f${i}.md`, '');
    const { files } = await pool.open('acme');
    const listing = files.list('/memories/handbook', { recursive: true })[Symbol.asyncIterator]();
    expect((await listing.next()).done).toBe(false);
    settings['org'] = { rootKey: keyOf(8), expires: false };
    pass(5 * MINUTE);
    await expect(files.stat(PATH)).rejects.toEqual(refusal('key_unavailable'));
    const rest = async (): Promise<void> => {
      while (!(await listing.next()).done);
    };
    await expect(rest()).rejects.toEqual(refusal('aborted'));
  });
});
