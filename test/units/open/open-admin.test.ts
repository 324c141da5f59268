import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../../src/open/options/environment.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import type { TenantAdmin } from '../../../src/open/tenant-admin.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { startFakeKms } from '../../stage/fake-kms.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';

const ENV_KEY = Buffer.alloc(32, 7).toString('base64');
const FILES = { '/memories/a': 'text of a', '/memories/b/日本.md': 'text of b' };
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });
const HOUR = 3_600_000;

let store: ObjectStore;
let folder: string;
/** How far the store's clock is ahead of this machine's. */
let ahead: number;

beforeEach(() => {
  ahead = 0;
  store = openSqliteObjectStore({ path: ':memory:', clock: () => Date.now() + ahead });
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-admin-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const options = (more: Partial<MemoryOptions> = {}): MemoryOptions => ({
  store,
  tenant: 'acme',
  rootKey: ENV_KEY,
  ...more,
});

async function stock(more: Partial<MemoryOptions> = {}): Promise<void> {
  await using memory = await openMemory(options(more));
  for (const [path, text] of Object.entries(FILES)) {
    expect(await memory.execute({ command: 'create', path, file_text: text })).toMatchObject({
      isError: false,
    });
  }
}

async function within<T>(
  work: (admin: TenantAdmin) => Promise<T>,
  more: Partial<MemoryOptions> = {},
): Promise<T> {
  await using admin = await openAdmin(options(more));
  return await work(admin);
}

async function read(path: string, more: Partial<MemoryOptions> = {}): Promise<string> {
  await using memory = await openMemory(options({ ...more, lazy: true }));
  const result = await memory.execute({ command: 'view', path });
  return result.isError ? result.error.code : String(result.content);
}

describe('TenantAdmin', () => {
  it('rotates, migrates and retires, and everything reads back', async () => {
    await stock();
    await within(async (admin) => {
      expect(await admin.rotate()).toMatchObject({ rotated: true, version: 2 });
      const written = Date.now();
      expect(await admin.migrate()).toMatchObject({ rebound: 0, young: 2, retired: [] });
      ahead = 61_000;
      const early = await admin.migrate();
      expect(early).toMatchObject({ rebound: 2, young: 0, retired: [], problems: [] });
      expect(Math.abs((early.retireAfter ?? 0) - (written + HOUR / 2))).toBeLessThan(HOUR / 60);
      ahead = HOUR / 2 + 60_000;
      expect(await admin.migrate()).toMatchObject({ retired: [1], retireAfter: undefined });
      expect(await admin.keyStatus()).toMatchObject({ keys: [{ version: 2, active: true }], epoch: 3 });
      expect((await admin.verify()).findings).toEqual([]);
    });
    expect(await read('/memories/a')).toContain('text of a');
  });

  it.each(['encrypted', 'plain'] as const)('translates names that are %s', async (names) => {
    await stock({ names });
    await within(async (admin) => {
      for (const path of Object.keys(FILES)) {
        const key = await admin.encodeName(path);
        expect(await store.head(key as never)).toBeDefined();
        expect(key.endsWith(`${path.replace('/memories', '')}.sealed`)).toBe(names === 'plain');
        expect(await admin.decodeName(key)).toBe(path);
      }
      const data = 'tenants/acme/data/';
      const foreign = [
        '',
        'tenants/acme/journal/register',
        'tenants/other/data/a.sealed',
        data,
        `${data}/x.sealed`,
        `${data}a`,
        `${data}a.sealed/`,
        `${data}a.sealed/b.sealed`,
      ];
      for (const key of [
        ...foreign,
        ...(names === 'plain' ? [] : [`${data}a.sealed`, `${data}YWJj.sealed`]),
      ]) {
        expect(await admin.decodeName(key)).toBeUndefined();
      }
      await expect(admin.encodeName('/elsewhere')).rejects.toEqual(refusal('invalid_path'));
      await expect(admin.encodeName('/memories')).rejects.toEqual(refusal('is_directory'));
    });
  });

  it('knows no names of a tenant that was never there', async () => {
    await within(async (admin) => {
      expect(await admin.keyStatus()).toEqual({ state: 'absent' });
      await expect(admin.encodeName('/memories/a')).rejects.toEqual(refusal('not_found'));
      await expect(admin.rotate()).rejects.toEqual(refusal('key_unavailable'));
      expect(await admin.migrate()).toMatchObject({ objects: 0, versions: [] });
    });
  });

  it('exports into a new folder', async () => {
    await stock();
    const to = join(folder, 'exported');
    await within(async (admin) => {
      expect(await admin.export({ to })).toMatchObject({ files: 2, findings: [] });
    });
    expect(readFileSync(join(to, 'b/日本.md'), 'utf8')).toBe('text of b');
  });

  it('forgets the keys of a tenant that it has shredded', async () => {
    await stock();
    await within(async (admin) => {
      await admin.encodeName('/memories/a');
      expect(await admin.shred({ ttlMs: 0 })).toMatchObject({ marked: true, objects: 2 });
      await expect(admin.encodeName('/memories/a')).rejects.toEqual(refusal('key_unavailable'));
      expect(await admin.keyStatus()).toEqual({ state: 'shredded' });
    });
  });

  it('refuses times to live out of range', async () => {
    await within(async (admin) => {
      for (const ttlMs of [0, 59_999, 900_001, 60_000.5]) {
        await expect(admin.migrate({ ttlMs })).rejects.toEqual(refusal('misconfigured'));
      }
      await expect(admin.shred({ ttlMs: 900_001 })).rejects.toEqual(refusal('misconfigured'));
    });
  });

  it('stops where the signal fires', async () => {
    await stock();
    const signal = AbortSignal.abort();
    await within(async (admin) => {
      await expect(admin.rotate({ signal })).rejects.toEqual(refusal('aborted'));
      await expect(admin.migrate({ signal })).rejects.toEqual(refusal('aborted'));
      await expect(admin.shred({ signal })).rejects.toEqual(refusal('aborted'));
      expect(await admin.keyStatus()).toMatchObject({ state: 'open', epoch: 1 });
    });
  });
});

describe('an admin with an actor', () => {
  it('writes its name into the history of what a repair renames', async () => {
    const history = { days: 30 };
    await stock({ history });
    // Two places of one millisecond are left undecided.
    ahead = 1_000;
    const stuck = interceptStore(store, (call, proceed) =>
      call.verb === 'delete' ? Promise.reject(new MemoryError('unavailable', 'down')) : proceed(),
    );
    await using renamer = await openMemory(options({ store: stuck, history }));
    const rename = { command: 'rename', old_path: '/memories/a', new_path: '/memories/c' } as const;
    expect(await renamer.execute(rename)).toMatchObject({ isError: true });
    ahead = HOUR;
    await within(
      async (admin) => {
        expect((await admin.verify({ repair: true })).findings).toMatchObject([
          { kind: 'duplicate', state: 'removed' },
        ]);
        const entries = await admin.history.list();
        expect(entries.find(({ kind }) => kind === 'renamed')).toMatchObject({ writer: 'officer' });
      },
      { actor: 'officer' },
    );
  });
});

describe('the change from an environment root key to KMS', () => {
  it('leaves every memory readable at every step', async () => {
    await using kms = await startFakeKms();
    vi.stubEnv('AWS_ENDPOINT_URL', undefined);
    vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDFROMTHEENVIRONMENT');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const kmsKey = `aws-kms:${kms.createKey()}`;
    await stock();
    const [before, during, after] = [[ENV_KEY], [kmsKey, ENV_KEY], [kmsKey]].map((rootKey) => ({ rootKey }));

    expect(await read('/memories/a', during)).toContain('text of a');
    await within(async (admin) => {
      expect(await admin.keyStatus()).toMatchObject({ wrappedByFirst: false });
      expect(await admin.rewrapRoot()).toMatchObject({ rewrapped: true, rootId: kmsKey, epoch: 2 });
      expect(await admin.rewrapRoot()).toMatchObject({ rewrapped: false, epoch: 2 });
      expect(await admin.keyStatus()).toMatchObject({ wrappedByFirst: true, rootId: kmsKey });
    }, during);
    expect(await read('/memories/a', during)).toContain('text of a');
    expect(await read('/memories/a', after)).toContain('text of a');
    expect(await read('/memories/a', before)).toBe('key_unavailable');
    await within(async (admin) => {
      expect(await admin.keyStatus()).toMatchObject({ state: 'locked', rootId: kmsKey });
    }, before);
    await within(async (admin) => {
      expect(await admin.rotate()).toMatchObject({ rotated: true });
    }, after);
    expect(await read('/memories/a', after)).toContain('text of a');
    expect(new Set(kms.requests.map(({ operation }) => operation))).toEqual(
      new Set(['GenerateDataKey', 'Decrypt']),
    );
  });
});

describe('what an admin has seen of the keyring', () => {
  it('counts for all it does: an older one that is put back is refused by each verb', async () => {
    await stock();
    const key = 'keyrings/acme' as ObjectKey;
    const before = await store.get(key);
    if (typeof before !== 'object') throw new Error('there is no keyring');
    for (const see of [
      (admin: TenantAdmin) => admin.encodeName('/memories/a'),
      (admin: TenantAdmin) => admin.keyStatus(),
      (admin: TenantAdmin) => admin.rotate({ ifActive: 1_000 }),
    ]) {
      await within((admin) => admin.rotate({ force: true }));
      await within(async (admin) => {
        await see(admin);
        const newest = await store.get(key);
        await store.put(key, before.body, { mode: 'overwrite' });
        for (const verb of [
          admin.keyStatus(),
          admin.rotate({ force: true }),
          admin.rewrapRoot({ force: true }),
        ]) {
          await expect(verb).rejects.toEqual(refusal('integrity'));
        }
        await expect(admin.migrate()).rejects.toEqual(refusal('integrity'));
        if (typeof newest === 'object') await store.put(key, newest.body, { mode: 'overwrite' });
      });
    }
  });
});

describe('the keyring options', () => {
  it('pin an epoch, for one memory and for one tenant of a pool', async () => {
    await stock();
    const view = { command: 'view', path: '/memories/a' };
    expect(await read('/memories/a', { keyring: { minimumEpoch: 2 } })).toBe('integrity');
    await using pool = createMemoryPool({ store, rootKey: ENV_KEY });
    const trusting = await pool.open('acme');
    expect(await trusting.execute(view)).toMatchObject({ isError: false });
    const tooOld = { code: 'integrity' };
    await expect(pool.open('acme', { minimumEpoch: 2 })).rejects.toMatchObject(tooOld);
    // The higher one of two stays.
    await expect(pool.open('acme', { minimumEpoch: 1 })).rejects.toMatchObject(tooOld);
    await within((admin) => admin.rotate());
    expect(await read('/memories/a', { keyring: { minimumEpoch: 2 } })).toContain('text of a');
    await expect(pool.open('acme', { minimumEpoch: 3 })).rejects.toMatchObject(tooOld);
  });

  it('limit how long keys stay in the cache', async () => {
    await stock();
    await using cached = await openMemory(options());
    await using uncached = await openMemory(options({ keyring: { ttlMs: 0 } }));
    const view = { command: 'view', path: '/memories/a' };
    for (const memory of [cached, uncached]) {
      expect(await memory.execute(view)).toMatchObject({ isError: false });
    }
    await within((admin) => admin.shred({ ttlMs: 0 }));
    expect(await cached.execute(view)).toMatchObject({ isError: false });
    expect(await uncached.execute(view)).toMatchObject({ error: { code: 'key_unavailable' } });
  });

  it.each([
    { ttlMs: 900_001 },
    { ttlMs: -1 },
    { ttlMs: 1.5 },
    { minimumEpoch: 0 },
    { minimumEpoch: 2 ** 32 },
  ])('refuse %o', async (keyring) => {
    await expect(openMemory(options({ keyring }))).rejects.toEqual(refusal('misconfigured'));
  });

  it('are read from the environment too', async () => {
    await stock();
    const env = { SEALED_MEMORY_KEYRING_MIN_EPOCH: '2' };
    expect(await read('/memories/a', optionsFromEnvironment(env))).toBe('integrity');
    const overrides = { keyring: { minimumEpoch: 1 } };
    expect(await read('/memories/a', optionsFromEnvironment(env, overrides))).toContain('text of a');
    expect(() => optionsFromEnvironment({ SEALED_MEMORY_KEYRING_TTL_SECONDS: '901' })).toThrow(
      expect.objectContaining({
        message: 'SEALED_MEMORY_KEYRING_TTL_SECONDS must be a whole number from 0 to 900.',
      }),
    );
  });
});

describe('the expiry of an administration', () => {
  it('takes days for files where some are configured, and otherwise in a dry run alone', async () => {
    await stock();
    const none = /^expireAfterDays is not set, so reads are not recorded and nothing may expire\.$/;
    await within(async (admin) => {
      await expect(admin.expire({ afterDays: 30 })).rejects.toMatchObject({
        code: 'misconfigured',
        message: expect.stringMatching(none),
      });
      await expect(admin.expire({ afterDays: 30, dryRun: false })).rejects.toThrow(none);
      expect(await admin.expire({ afterDays: 30, dryRun: true })).toMatchObject({ deleted: 0 });
      expect(await admin.expire()).toMatchObject({ deleted: 0 });
    });
    await within(
      async (admin) => expect(await admin.expire({ afterDays: 30 })).toMatchObject({ deleted: 0 }),
      { expireAfterDays: 1 },
    );
  });
});

describe('the administration of a memory that is read-only', () => {
  it('writes nothing: what would is refused, and the rest works', async () => {
    await stock();
    const writes: string[] = [];
    const watched = interceptStore(store, ({ verb }, proceed) => {
      if (verb === 'put' || verb === 'delete') writes.push(verb);
      return proceed();
    });
    await within(
      async (admin) => {
        for (const write of [
          () => admin.rotate(),
          () => admin.migrate(),
          () => admin.rewrapRoot(),
          () => admin.shred(),
          () => admin.verify({ repair: true }),
          () => admin.checkpoint(),
          () => admin.switchHistory('on'),
          () => admin.expire(),
        ]) {
          await expect(write()).rejects.toEqual(refusal('read_only'));
        }
        expect(await admin.verify()).toMatchObject({ files: 2 });
        expect(await admin.keyStatus()).toMatchObject({ state: 'open', epoch: 1 });
        expect(await admin.expire({ dryRun: true })).toMatchObject({ deleted: 0 });
      },
      { store: watched, readOnly: true, expireAfterDays: 1 },
    );
    expect(writes).toEqual([]);
  });
});
