import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import {
  createMemoryPool,
  createTenantPool,
  type MemoryPool,
  type PoolOpenOptions,
} from '../../../src/open/pool.ts';
import type { ListedObject, ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { type Around, interceptStore, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

const rootKey = new Uint8Array(32).fill(3);
const path = '/memories/f';

let store: ObjectStore;
let calls: StoreCall[];
let around: Around;
let pool: MemoryPool;

beforeEach(async () => {
  store = await openSqliteObjectStore({ path: ':memory:' });
  calls = [];
  around = recordInto(calls);
  pool = createMemoryPool({
    store: interceptStore(store, (call, proceed) => around(call, proceed)),
    rootKey,
  });
});

afterEach(async () => {
  await pool.close();
  await store[Symbol.asyncDispose]();
});

const create = (memory: Memory, text: string, at = path) =>
  memory.execute({ command: 'create', path: at, file_text: text });

/** How often a keyring was read since `calls` was emptied. */
const keyringReads = (): number =>
  calls.filter((call) => call.verb === 'get' && call.key.startsWith('keyrings/')).length;

async function textOf(memory: Memory, at = path): Promise<string> {
  const { content } = await memory.execute({ command: 'view', path: at });
  return String(content);
}

const shown = (text: string, at = path): string =>
  `Here's the content of ${at} with line numbers:\n     1\t${text}`;
const missing = `The path ${path} does not exist. Please provide a valid path.`;

describe('createMemoryPool', () => {
  it('gives every tenant a memory of its own, with the same root key and the same paths', async () => {
    const tenants = Array.from({ length: 25 }, (_, i) => `tenant-${i}`);
    const memories = await Promise.all(tenants.map((tenant) => pool.open(tenant)));
    await Promise.all(memories.map((memory, i) => create(memory, `text of ${i}`)));
    expect(await Promise.all(memories.map((memory) => textOf(memory)))).toEqual(
      tenants.map((_, i) => shown(`text of ${i}`)),
    );
  });

  it('never shows, changes or deletes what belongs to another tenant', async () => {
    const [a, b] = [await pool.open('a'), await pool.open('b')];
    await create(a, 'of a');
    expect(await textOf(b)).toBe(missing);
    expect(await textOf(b, '/memories')).toMatch(/:\n0B\t\/memories$/);
    for (const input of [
      { command: 'str_replace', path, old_str: 'of a', new_str: 'of b' },
      { command: 'insert', path, insert_line: 0, insert_text: 'x' },
      { command: 'delete', path },
      { command: 'rename', old_path: path, new_path: '/memories/g' },
    ]) {
      expect(await b.execute(input)).toMatchObject({ isError: true, error: { code: 'not_found' } });
    }
    await create(b, 'of b');
    await b.execute({ command: 'delete', path });
    expect(await textOf(a)).toBe(shown('of a'));
  });

  it('reads nothing that was copied from another tenant in the store', async () => {
    const [a, b] = [await pool.open('a'), await pool.open('b')];
    await create(a, 'of a');
    await create(b, 'of b');
    const [[from], [to]] = await Promise.all([dataObjects('a'), dataObjects('b')]);
    if (from === undefined || to === undefined) throw new Error('nothing was stored');
    const copied = await store.get(from.key);
    if (typeof copied !== 'object') throw new Error('nothing to copy');
    await store.put(to.key, copied.body, { mode: 'overwrite' });
    const result = await b.execute({ command: 'view', path });
    expect(result).toMatchObject({
      isError: true,
      content: `Error: The path ${path} could not be read`,
      error: { code: 'integrity' },
    });
  });

  it('keeps no two tenants apart by a prefix of a name only', async () => {
    const [short, long] = [await pool.open('acme'), await pool.open('acme-2')];
    await create(long, 'long');
    expect(await textOf(short, '/memories')).toMatch(/:\n0B\t\/memories$/);
  });

  it.each(['', 'A', '-a', 'a/b', '..', '*', 'a'.repeat(64), 'ä', 'a b', 'a\n'])(
    'refuses %j as a tenant',
    async (tenant) => {
      await expect(pool.open(tenant)).rejects.toMatchObject({ code: 'misconfigured' });
      expect(calls).toEqual([]);
    },
  );

  it('takes no missing tenant for all of them', async () => {
    await expect(pool.open(undefined as unknown as string)).rejects.toMatchObject({ code: 'misconfigured' });
    await expect(openMemory({ store, rootKey } as MemoryOptions)).rejects.toMatchObject({
      code: 'misconfigured',
    });
  });

  it('is misconfigured at once without a root key or with a wrong one', () => {
    expect(() => createMemoryPool({ store, rootKey: 'not base64' })).toThrow(
      expect.objectContaining({ code: 'misconfigured' }),
    );
    expect(() => createMemoryPool({ store, rootKey: [] })).toThrow(
      expect.objectContaining({ code: 'misconfigured' }),
    );
  });
});

describe('a tenant opened twice', () => {
  it('shares one order of commands', async () => {
    const [one, two] = [await pool.open('a'), await pool.open('a')];
    const results = await Promise.all([
      create(one, 'first\n'),
      two.execute({ command: 'insert', path, insert_line: 1, insert_text: 'second' }),
      one.execute({ command: 'rename', old_path: path, new_path: '/memories/g' }),
      two.execute({ command: 'view', path: '/memories/g' }),
    ]);
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false]);
    expect(results[3]?.content).toBe(
      "Here's the content of /memories/g with line numbers:\n     1\tfirst\n     2\tsecond\n     3\t",
    );
  });

  it('loads its keyring once', async () => {
    const one = await pool.open('a');
    await create(one, 'x');
    calls.length = 0;
    const two = await pool.open('a');
    expect(await textOf(two)).toBe(shown('x'));
    expect(keyringReads()).toBe(0);
  });

  it('stays warm when one or all of its memories are closed', async () => {
    const [one, two] = [await pool.open('a'), await pool.open('a')];
    await create(one, 'x');
    await one.close();
    expect(await one.execute({ command: 'view', path })).toMatchObject({
      isError: true,
      error: { code: 'aborted' },
    });
    expect(await textOf(two)).toBe(shown('x'));
    await two.close();
    calls.length = 0;
    expect(await textOf(await pool.open('a'))).toBe(shown('x'));
    expect(keyringReads()).toBe(0);
  });
});

describe('a pool with room for few tenants', () => {
  const small = (maxTenants: number): MemoryPool =>
    createMemoryPool({
      store: interceptStore(store, (call, proceed) => around(call, proceed)),
      rootKey,
      maxTenants,
    });

  /** Opens, writes and closes, tenant by tenant. */
  async function use(from: MemoryPool, tenants: readonly string[]): Promise<void> {
    for (const tenant of tenants) {
      const memory = await from.open(tenant);
      await memory.execute({ command: 'view', path });
      await memory.close();
    }
  }

  it('cools down the one that was used least recently, and warms it up again when it is asked for', async () => {
    for (const tenant of ['a', 'b', 'c']) await create(await pool.open(tenant), `of ${tenant}`);
    await using few = small(2);
    await use(few, ['a', 'b', 'a', 'c']);
    calls.length = 0;
    await use(few, ['a', 'c']);
    expect(keyringReads()).toBe(0);
    const b = await few.open('b');
    expect(await textOf(b)).toBe(shown('of b'));
    expect(keyringReads()).toBe(1);
  });

  it('reckons a tenant as used when its memory is closed, not when it was opened', async () => {
    for (const tenant of ['a', 'b', 'c']) await create(await pool.open(tenant), `of ${tenant}`);
    await using few = small(2);
    const [a, b] = [await few.open('a'), await few.open('b')];
    await Promise.all([textOf(a), textOf(b)]);
    await b.close();
    await a.close();
    await use(few, ['c']);
    calls.length = 0;
    await use(few, ['a']);
    expect(keyringReads()).toBe(0);
  });

  it('wipes the keys of a tenant that cooled down', async () => {
    for (const tenant of ['a', 'b']) await create(await pool.open(tenant), 'x');
    await using few = createTenantPool({ store, rootKey, maxTenants: 1 });
    const a = await few.open('a');
    const wrapKey = (await a.context.keyrings.load())?.keys.active.wrapKey ?? new Uint8Array();
    expect(wrapKey.some((byte) => byte !== 0)).toBe(true);
    await a.memory.close();
    await (await few.open('b')).memory.close();
    expect(wrapKey).toEqual(new Uint8Array(32));
  });

  it('never cools down a tenant that a caller has open, however many those are', async () => {
    await using few = small(1);
    const tenants = Array.from({ length: 8 }, (_, i) => `tenant-${i}`);
    const memories = await Promise.all(tenants.map((tenant) => few.open(tenant)));
    await Promise.all(memories.map((memory, i) => create(memory, `text of ${i}`)));
    calls.length = 0;
    expect(await Promise.all(memories.map((memory) => textOf(memory)))).toEqual(
      tenants.map((_, i) => shown(`text of ${i}`)),
    );
    expect(keyringReads()).toBe(0);
  });

  it('keeps the higher minimum epoch of a tenant that cooled down', async () => {
    await create(await pool.open('a'), 'x');
    await using few = small(1);
    await expect(few.open('a', { minimumEpoch: 9 })).rejects.toMatchObject({ code: 'integrity' });
    await use(few, ['b']);
    await expect(few.open('a', { minimumEpoch: 1 })).rejects.toMatchObject({ code: 'integrity' });
  });

  it('keeps the minimum epoch of a tenant that cools down while its settings are read', async () => {
    for (const tenant of ['a', 'b']) await create(await pool.open(tenant), 'x');
    const read = Promise.withResolvers<undefined>();
    const tenants = (tenant: string) => (tenant === 'a' ? read.promise : undefined);
    await using few = createMemoryPool({ store, rootKey, maxTenants: 1, tenants });
    const opening = few.open('a', { minimumEpoch: 9 });
    await few.open('b');
    read.resolve(undefined);
    await expect(opening).rejects.toMatchObject({ code: 'integrity' });
  });

  it.each(['', 'x'.repeat(257)])(
    'refuses %j as an actor by its name, and asks the store for nothing',
    async (actor) => {
      await expect(pool.open('a', { actor })).rejects.toMatchObject({
        code: 'misconfigured',
        message: expect.stringMatching(/^actor /),
      });
      expect(calls).toEqual([]);
    },
  );

  it.each([0, -1, 1.5, 100_001, Number.NaN])('refuses room for %s tenants', (maxTenants) => {
    expect(() => createMemoryPool({ store, rootKey, maxTenants })).toThrow(
      expect.objectContaining({ code: 'misconfigured' }),
    );
  });
});

describe('new credentials of a tenant', () => {
  const credentials = (name: string) => async () => ({ accessKeyId: name, secretAccessKey: name });

  it('leave it warm, whichever object they are', async () => {
    await create(await pool.open('a', { credentials: credentials('first') }), 'x');
    calls.length = 0;
    for (let i = 0; i < 3; i++) {
      const memory = await pool.open('a', { credentials: credentials('fresh') });
      expect(await textOf(memory)).toBe(shown('x'));
      await memory.close();
    }
    expect(keyringReads()).toBe(0);
  });

  it('with a higher epoch wipe the keys from before with the last memory that uses them', async () => {
    await using own = createTenantPool({ store, rootKey, lazy: true });
    const old = await own.open('a', { credentials: credentials('first') });
    await create(old.memory, 'x');
    const wrapKey = (await old.context.keyrings.load())?.keys.active.wrapKey ?? new Uint8Array();
    const fresh = await own.open('a', { credentials: credentials('second'), minimumEpoch: 2 });
    expect(wrapKey.some((byte) => byte !== 0)).toBe(true);
    await old.memory.close();
    expect(wrapKey).toEqual(new Uint8Array(32));
    expect(await fresh.memory.execute({ command: 'view', path })).toMatchObject({
      error: { code: 'integrity' },
    });
  });

  it('are tried at once after the ones before were refused', async () => {
    await create(await pool.open('a'), 'x');
    await using own = createMemoryPool({
      store: interceptStore(store, (call, proceed) => around(call, proceed)),
      rootKey,
      lazy: true,
    });
    around = async () => {
      throw new MemoryError('access_denied', 'these credentials have ended');
    };
    const refused = await own.open('a', { credentials: credentials('ended') });
    expect(await refused.execute({ command: 'view', path })).toMatchObject({
      error: { code: 'access_denied' },
    });
    around = recordInto(calls);
    expect(await textOf(await own.open('a', { credentials: credentials('fresh') }))).toBe(shown('x'));
  });

  it('under another key make a keyring of their own, and leave the other warm', async () => {
    const reader = { credentials: credentials('reader'), credentialsKey: 'reader' };
    const old = await pool.open('a', { credentials: credentials('writer'), credentialsKey: 'writer' });
    await create(old, 'x');
    calls.length = 0;
    const fresh = await pool.open('a', reader);
    expect(await textOf(fresh)).toBe(shown('x'));
    expect(keyringReads()).toBe(1);
    await fresh.close();
    expect(await textOf(old)).toBe(shown('x'));
    expect(await textOf(await pool.open('a', reader))).toBe(shown('x'));
    expect(keyringReads()).toBe(1);
  });

  it('share one order of commands with those of another key', async () => {
    const [one, two] = await Promise.all(
      ['1', '2'].map((key) => pool.open('a', { credentials: credentials(key), credentialsKey: key })),
    );
    if (one === undefined || two === undefined) throw new Error('nothing was opened');
    const results = await Promise.all([
      create(one, 'first\n'),
      two.execute({ command: 'insert', path, insert_line: 1, insert_text: 'second' }),
      one.execute({ command: 'rename', old_path: path, new_path: '/memories/g' }),
    ]);
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false]);
  });

  it('are not those of a call without any', async () => {
    await create(await pool.open('a', { credentials: credentials('tenant') }), 'x');
    calls.length = 0;
    expect(await textOf(await pool.open('a'))).toBe(shown('x'));
    expect(keyringReads()).toBe(1);
  });

  it('stay warm under sixteen keys, the least recently used one is wiped first', async () => {
    const openWith = (key: number) =>
      pool.open('a', { credentials: credentials('x'), credentialsKey: String(key) });
    await create(await openWith(0), 'x');
    const use = async (key: number): Promise<void> => {
      const memory = await openWith(key);
      expect(await textOf(memory)).toBe(shown('x'));
      await memory.close();
    };
    // The first one is in use and stays.
    for (let key = 1; key <= 16; key++) await use(key);
    calls.length = 0;
    for (let key = 2; key <= 16; key++) await use(key);
    await use(0);
    expect(keyringReads()).toBe(0);
    await use(1);
    expect(keyringReads()).toBe(1);
    // The pool goes by a memory's last use, and not by when it was opened first.
    await use(3);
    calls.length = 0;
    await use(2);
    expect(keyringReads()).toBe(1);
    await use(3);
    expect(keyringReads()).toBe(1);
  });

  it('fail no more than the call where the store cannot be opened', async () => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    try {
      await using own = createMemoryPool({ store: 'sqlite:/no/such/folder/x', rootKey });
      const opening = ['one', 'two'].map((accessKeyId) =>
        own.open('a', { credentials: { accessKeyId, secretAccessKey: 's' } }),
      );
      for (const each of await Promise.allSettled(opening)) {
        expect(each).toMatchObject({ status: 'rejected', reason: { code: 'misconfigured' } });
      }
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off('unhandledRejection', hear);
    }
    expect(unhandled).toEqual([]);
  });

  it('change nothing for another tenant', async () => {
    const b = await pool.open('b');
    await create(b, 'of b');
    await pool.open('a', { credentials: credentials('first') });
    await pool.open('a', { credentials: credentials('second') });
    calls.length = 0;
    expect(await textOf(b)).toBe(shown('of b'));
    expect(keyringReads()).toBe(0);
  });

  it('may take turns at once', async () => {
    const opened = await Promise.all(
      ['1', '2', '1', '3'].map((name) => pool.open('a', { credentials: credentials(name) })),
    );
    const results = await Promise.all(opened.map((memory, i) => create(memory, 'x', `/memories/${i}`)));
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false]);
  });
});

describe('a keyring that is put back', () => {
  const keyring = 'keyrings/a' as ObjectKey;

  async function storedKeyring(): Promise<Uint8Array> {
    const found = await store.get(keyring);
    if (typeof found !== 'object') throw new Error('there is no keyring');
    return found.body;
  }

  async function rotate(): Promise<void> {
    await using admin = await openAdmin({ store, rootKey, tenant: 'a' });
    expect(await admin.rotate()).toMatchObject({ rotated: true });
  }

  /** A tenant whose rotation the pool has seen, and whose keyring from before it lies in the store again. */
  async function rolledBack(from: MemoryPool, options: PoolOpenOptions = {}): Promise<void> {
    await create(await pool.open('a'), 'x');
    const before = await storedKeyring();
    await rotate();
    const memory = await from.open('a', options);
    expect(await textOf(memory)).toBe(shown('x'));
    await memory.close();
    await store.put(keyring, before, { mode: 'overwrite' });
  }

  const refused = { isError: true, error: { code: 'integrity' } };
  const credentials = (name: string) => async () => ({ accessKeyId: name, secretAccessKey: name });

  it('is refused under new credentials, too, and seals nothing', async () => {
    await using fresh = createMemoryPool({ store, rootKey, lazy: true });
    await rolledBack(fresh, { credentials: credentials('first'), credentialsKey: 'first' });
    const memory = await fresh.open('a', { credentials: credentials('second'), credentialsKey: 'second' });
    expect(await create(memory, 'y', '/memories/new')).toMatchObject(refused);
    expect(await memory.execute({ command: 'view', path })).toMatchObject(refused);
    expect(await dataObjects('a')).toHaveLength(1);
  });

  it('is refused after the tenant has cooled down and was warmed up again', async () => {
    await using few = createMemoryPool({ store, rootKey, maxTenants: 1 });
    await rolledBack(few);
    await (await few.open('b')).close();
    await expect(few.open('a')).rejects.toMatchObject(refused.error);
    expect(await dataObjects('a')).toHaveLength(1);
  });

  it('and so is an older version of a file that the tenant has seen replaced before it cooled down', async () => {
    await using few = createMemoryPool({ store, rootKey, maxTenants: 1 });
    const memory = await few.open('a');
    await create(memory, 'x');
    const [file] = await dataObjects('a');
    const before = file && (await store.get(file.key));
    if (typeof before !== 'object') throw new Error('there is no file');
    await memory.execute({ command: 'str_replace', path, old_str: 'x', new_str: 'y' });
    await memory.close();
    await (await few.open('b')).close();
    await store.put(file?.key as ObjectKey, before.body, { mode: 'overwrite' });
    const again = await few.open('a');
    expect(await again.execute({ command: 'view', path })).toMatchObject(refused);
  });

  it('is refused to a caller that opens it with a pin that it does not reach', async () => {
    await using fresh = createMemoryPool({ store, rootKey });
    await rolledBack(fresh);
    const opening = fresh.open('a', { minimumEpoch: 1, credentials: credentials('other') });
    await expect(opening).rejects.toMatchObject(refused.error);
  });

  it('is all that another pool has ever seen', async () => {
    await using fresh = createMemoryPool({ store, rootKey });
    await rolledBack(fresh);
    await using other = createMemoryPool({ store, rootKey });
    expect(await textOf(await other.open('a'))).toBe(shown('x'));
  });
});

describe('MemoryPool.close', () => {
  it('lets commands under way end, closes every memory and refuses to open more', async () => {
    const memories = await Promise.all(['a', 'b'].map((tenant) => pool.open(tenant)));
    const running = Promise.all(memories.map((memory) => create(memory, 'x')));
    await pool.close();
    expect((await running).map(({ isError }) => isError)).toEqual([false, false]);
    for (const memory of memories) {
      expect(await memory.execute({ command: 'view', path })).toMatchObject({ error: { code: 'aborted' } });
    }
    await expect(pool.open('a')).rejects.toMatchObject({ code: 'aborted' });
    await pool.close();
  });

  it('closes memories from before a higher epoch was asked for, and wipes their keys', async () => {
    const own = createTenantPool({ store, rootKey, lazy: true });
    const old = await own.open('a');
    await create(old.memory, 'x');
    const wrapKey = (await old.context.keyrings.load())?.keys.active.wrapKey ?? new Uint8Array();
    await own.open('a', { minimumEpoch: 2 });
    await own.close();
    expect(await old.memory.execute({ command: 'view', path })).toMatchObject({ error: { code: 'aborted' } });
    expect(wrapKey).toEqual(new Uint8Array(32));
  });

  it('refuses all that comes later, and asks the store for nothing more', async () => {
    await create(await pool.open('a'), 'x');
    const own = createTenantPool({ store: interceptStore(store, recordInto(calls)), rootKey });
    expect(await own.tenants()).toEqual(['a']);
    await own.close();
    calls.length = 0;
    const closed = { code: 'aborted', message: expect.stringContaining('the pool is closed') };
    await expect(own.tenants()).rejects.toMatchObject(closed);
    await expect(own.open('a')).rejects.toMatchObject(closed);
    await expect(own.open('Not A Tenant')).rejects.toMatchObject(closed);
    expect(calls).toEqual([]);
  });

  it('refuses a memory that is being opened meanwhile', async () => {
    const opening = pool.open('a');
    const refused = expect(opening).rejects.toMatchObject({ code: 'aborted' });
    await pool.close();
    await refused;
  });

  it('leaves a store that the caller opened to the caller', async () => {
    await create(await pool.open('a'), 'x');
    await pool.close();
    await using again = createMemoryPool({ store, rootKey });
    expect(await textOf(await again.open('a'))).toBe(shown('x'));
  });

  it('ends a pool that was not used', async () => {
    await createMemoryPool({ store: 'memory:', rootKey }).close();
  });
});

async function dataObjects(tenant: string): Promise<readonly ListedObject[]> {
  const found: ListedObject[] = [];
  for await (const { objects } of store.list({ prefix: `tenants/${tenant}/data/` })) found.push(...objects);
  return found;
}
