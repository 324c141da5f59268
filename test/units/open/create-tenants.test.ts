import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LocalWorker, startLocalWorker, timeOf } from '../../../infra/local/lambda/local-worker.ts';
import { createLayout, parseTenantId } from '../../../src/format/object-keys.ts';
import type { LogFields } from '../../../src/logger.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { silentLogger } from '../../stage/silent-logger.ts';
import { interceptStore, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

const rootKey = new Uint8Array(32).fill(3);
const UNKNOWN = expect.objectContaining({ name: 'MemoryError', code: 'tenant_unknown', retry: 'never' });

let store: ObjectStore;
let told: (readonly [string, LogFields | undefined])[];
beforeEach(() => {
  store = openSqliteObjectStore({ path: ':memory:' });
  told = [];
});
afterEach(() => store[Symbol.asyncDispose]());

const options = (more: Partial<MemoryOptions> = {}): MemoryOptions => ({
  store,
  tenant: 'acme',
  rootKey,
  logger: { ...silentLogger, info: (message, fields) => void told.push([message, fields]) },
  ...more,
});
const begin = async (tenant = 'acme', more: Partial<MemoryOptions> = {}): Promise<void> => {
  await using memory = await openMemory(options({ tenant, ...more }));
  await memory.files.write('/memories/a.md', 'a');
};

describe('a tenant for whom nothing was ever written', () => {
  it('is begun by the first write, which the log tells once', async () => {
    await begin();
    await begin();
    expect(told).toEqual([['a tenant was begun', undefined]]);
  });

  it('is not begun with createTenants: false, and the store is asked for no change', async () => {
    const calls: StoreCall[] = [];
    const watched = interceptStore(store, recordInto(calls));
    await expect(openMemory(options({ store: watched, createTenants: false }))).rejects.toEqual(UNKNOWN);
    const memory = await openMemory(options({ store: watched, createTenants: false, lazy: true }));
    await expect(memory.files.write('/memories/a.md', 'a')).rejects.toEqual(UNKNOWN);
    await expect(memory.files.read('/memories/a.md')).rejects.toEqual(UNKNOWN);
    expect(await memory.execute({ command: 'view', path: '/memories' })).toMatchObject({
      isError: true,
      content: 'Error: The path /memories could not be read',
    });
    await memory.close();
    expect(calls.map(({ verb }) => verb).filter((verb) => verb !== 'get' && verb !== 'list')).toEqual([]);
    expect(told).toEqual([]);
  });

  it('is refused where it is only read, and where it is mounted', async () => {
    await begin();
    const mounts = [{ at: '/memories/handbook', tenant: 'orgg', readOnly: true }];
    await expect(openMemory(options({ mounts, createTenants: false }))).rejects.toEqual(UNKNOWN);
    const mistyped = options({ tenant: 'acmee', readOnly: true, createTenants: false });
    await expect(openMemory(mistyped)).rejects.toEqual(UNKNOWN);
  });

  it('is refused by a pool, which opens the others', async () => {
    await begin();
    const { tenant: _, ...rest } = options({ createTenants: false });
    await using pool = createMemoryPool(rest);
    await expect(pool.open('acmee')).rejects.toEqual(UNKNOWN);
    const memory = await pool.open('acme');
    await memory.files.write('/memories/b.md', 'b');
    expect((await memory.files.read('/memories/a.md'))?.text()).toBe('a');
  });

  it('is begun by its administration all the same', async () => {
    await using admin = await openAdmin(options({ createTenants: false }));
    await admin.switchHistory('on');
    await using memory = await openMemory(options({ createTenants: false }));
    await memory.files.write('/memories/a.md', 'a');
    expect(told).toEqual([['a tenant was begun', undefined]]);
  });

  it('is told from one whose keyring is gone', async () => {
    await begin();
    await store.delete([{ key: createLayout({ prefix: '', tenant: parseTenantId('acme') }).keyring }]);
    await expect(openMemory(options({ createTenants: false }))).rejects.toMatchObject({
      code: 'key_unavailable',
    });
  });
});

describe('a worker that begins no tenant', () => {
  const TURN = { tenant: 'acme', turn: 'turn-1', prompt: 'hello' };
  let site: LocalWorker;
  beforeEach(async () => {
    site = await startLocalWorker(store, undefined, { memory: { store, rootKey, createTenants: false } });
  });
  afterEach(() => site[Symbol.asyncDispose]());

  it('asks Claude nothing for an unknown one, and answers a caller that waits with 404', async () => {
    const event = { requestContext: {}, body: JSON.stringify(TURN) };
    expect(await site.worker.invoke(event, timeOf(60_000))).toMatchObject({
      statusCode: 404,
      body: '{"code":"tenant_unknown"}',
    });
    await expect(site.worker.invoke(TURN, timeOf(60_000))).rejects.toMatchObject({
      name: 'TurnFailed',
      message: 'tenant_unknown',
    });
    expect(site.scenes).toEqual([]);
    expect(site.lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ message: 'turn failed', code: 'tenant_unknown', tenant: 'acme' }),
    );
  });

  it('runs the turns of a known one', async () => {
    await begin();
    expect(await site.worker.invoke(TURN, timeOf(60_000))).toMatchObject({ outcome: 'answered' });
    expect(site.lines.join()).not.toContain('begun');
  });

  it('names the tenant that another one begins in its log', async () => {
    await using other = await startLocalWorker(store);
    await other.deliver([TURN]);
    const lines = other.lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === 'a tenant was begun');
    expect(lines).toEqual([expect.objectContaining({ level: 'info', tenant: 'acme' })]);
  });
});
