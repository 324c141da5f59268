import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';

const temporary: string[] = [];
afterAll(() => {
  for (const folder of temporary) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'open-memory-'));
  temporary.push(folder);
  return folder;
}

const rootKey = new Uint8Array(32).fill(1);

describe('openMemory', () => {
  it.each([
    [{ sore: 'memory:' }, 'sore is not an option. Did you mean store?'],
    [{ keyring: { ttl: 1 } }, 'keyring.ttl is not an option. Did you mean keyring.ttlMs?'],
    [{ wording: 'docs' }, 'wording must be doc or sdk.'],
    [{ concurrency: 257 }, 'concurrency must be a whole number from 1 to 256.'],
    [{ limits: { fileBytes: '5' } }, 'limits.fileBytes must be a whole number from 1 to 1073741823.'],
    [{ s3: { guarded: 'yes' } }, 's3.guarded must be true or false.'],
    [{ tenant: 5 }, 'tenant must be a text.'],
  ])('refuses %j', async (wrong, message) => {
    const options = { store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32), ...wrong };
    await expect(openMemory(options as MemoryOptions)).rejects.toMatchObject({
      code: 'misconfigured',
      message,
    });
  });
});

describe('a memory that cannot be opened', () => {
  type Given = Partial<MemoryOptions>;
  const tenant = 'acme';

  /** A tenant with one file; whatever is given is changed in the store then. */
  async function storeWith(change: 'nothing' | 'no keyring' | 'damage' = 'nothing') {
    const store = openSqliteObjectStore({ path: ':memory:' });
    const memory = await openMemory({ store, tenant, rootKey });
    await memory.execute({ command: 'create', path: '/memories/a', file_text: 'x' });
    await memory.close();
    const key = 'keyrings/acme' as ObjectKey;
    const keyring = await store.get(key);
    if (change === 'no keyring') await store.delete([{ key }]);
    if (change === 'damage') {
      if (typeof keyring !== 'object') throw new Error('there is no keyring');
      const body = keyring.body.with(-1, (keyring.body.at(-1) ?? 0) ^ 1);
      await store.put(key, body, { mode: 'overwrite' });
    }
    return store;
  }

  function otherFile(): string {
    const path = join(newFolder(), 'notes.txt');
    writeFileSync(path, 'no database, but a text that is long enough to be looked at as one'.repeat(20));
    return path;
  }

  const unreached = {
    store: 's3://bucket',
    s3: { endpoint: 'http://127.0.0.1:9', region: 'us-east-1' },
    credentials: { accessKeyId: 'a', secretAccessKey: 's' },
  };

  it.each<[string, () => Given | Promise<Given>, string, RegExp]>([
    ['no options', () => ({}), 'misconfigured', /^store is not set: memory:, sqlite:PATH or s3:/],
    ['no tenant', () => ({ store: 'memory:', rootKey }), 'misconfigured', /^tenant is not set: /],
    [
      'no root key',
      () => ({ store: 'memory:', tenant }),
      'misconfigured',
      /^rootKey is not set\. .*openssl rand -base64 32/,
    ],
    [
      'a folder that is not there',
      () => ({ store: 'sqlite:/no/such/folder/x', tenant, rootKey }),
      'misconfigured',
      /create the directory or correct the path\.$/,
    ],
    [
      'another file',
      () => ({ store: `sqlite:${otherFile()}`, tenant, rootKey }),
      'misconfigured',
      /: correct the path\.$/,
    ],
    [
      'a server that is not there',
      () => ({ ...unreached, tenant, rootKey }),
      'unavailable',
      /: check the endpoint and the network\.$/,
    ],
    [
      'another root key',
      async () => ({ store: await storeWith(), tenant, rootKey: rootKey.with(0, 9) }),
      'key_unavailable',
      /: configure the root key this tenant was created with, or the one that wraps its keyring now\.$/,
    ],
    [
      'another name mode',
      async () => ({ store: await storeWith(), tenant, rootKey, names: 'plain' }),
      'misconfigured',
      /: set names to that, or leave it out\.$/,
    ],
    [
      'a keyring that is gone',
      async () => ({ store: await storeWith('no keyring'), tenant, rootKey }),
      'key_unavailable',
      /; restore the keyring object from a backup\.$/,
    ],
    [
      'a damaged keyring',
      async () => ({ store: await storeWith('damage'), tenant, rootKey }),
      'integrity',
      /; restore it from a backup\.$/,
    ],
    [
      'a keyring below the pinned epoch',
      async () => ({ store: await storeWith(), tenant, rootKey, keyring: { minimumEpoch: 5 } }),
      'integrity',
      /; restore it from a backup\.$/,
    ],
  ])('because of %s says what to do next, alone and in a pool', async (_, given, code, message) => {
    // A caller without types leaves out what it likes.
    const options = (await given()) as MemoryOptions;
    const told = { code, message: expect.stringMatching(message) };
    await expect(openMemory(options)).rejects.toMatchObject(told);
    if (options.store === undefined || options.rootKey === undefined || options.tenant === undefined) return;
    const { tenant: of, ...shared } = options;
    await using pool = createMemoryPool(shared);
    await expect(pool.open(of)).rejects.toMatchObject(told);
  });

  it('closes what it had opened', async () => {
    const store = await storeWith();
    await expect(openMemory({ store, tenant, rootKey: rootKey.with(0, 9) })).rejects.toThrow();
    await using memory = await openMemory({ store, tenant, rootKey });
    expect(await memory.execute({ command: 'view', path: '/memories/a' })).toMatchObject({ isError: false });
  });

  it('closes each store that it had opened where one of its mounts cannot be', async () => {
    const close = vi.spyOn(DatabaseSync.prototype, 'close');
    const mounts = [
      { at: '/memories/one', store: 'memory:', tenant: 'org', rootKey },
      { at: '/memories/two', store: `sqlite:${join(newFolder(), 'not/there/x')}`, tenant: 'org', rootKey },
    ];
    try {
      await expect(openMemory({ store: 'memory:', tenant, rootKey, mounts })).rejects.toThrow();
      expect(close).toHaveBeenCalledTimes(2);
    } finally {
      close.mockRestore();
    }
  });

  it('opens at once where it is lazy, and fails the first command', async () => {
    await using memory = await openMemory({ ...unreached, tenant, rootKey, lazy: true });
    const result = await memory.execute({ command: 'view', path: '/memories' });
    expect(result).toMatchObject({ isError: true, error: { code: 'unavailable' } });
  });

  it('has written nothing for a tenant that was never written for', async () => {
    const store = openSqliteObjectStore({ path: ':memory:' });
    await (await openMemory({ store, tenant: 'unknown', rootKey })).close();
    for await (const { objects } of store.list({ prefix: '' })) expect(objects).toEqual([]);
  });

  it('makes the file of a store that is new', async () => {
    const path = join(newFolder(), 'memory.db');
    await (await openMemory({ store: `sqlite:${path}`, tenant, rootKey })).close();
    expect(existsSync(path)).toBe(true);
  });
});

describe('the options of a pool', () => {
  it('are refused where they are unknown, like those of open', async () => {
    const options = { store: 'memory:', rootKey };
    const refused = (message: string) => expect.objectContaining({ code: 'misconfigured', message });
    expect(() => createMemoryPool({ ...options, tenant: 'acme' } as typeof options)).toThrow(
      refused('tenant is not an option of a pool: give it to open.'),
    );
    await using pool = createMemoryPool(options);
    await expect(pool.open('acme', { credential: async () => ({}) } as object)).rejects.toEqual(
      refused('credential is not an option of open. Did you mean credentials?'),
    );
  });
});
