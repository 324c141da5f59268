import { randomBytes } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { createMemoryPool } from '../../../../src/open/pool.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { createExpiry, type ExpirySummary } from '../../../../src/worker/expiry/expire-tenants.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';
import { interceptStore } from '../../../doubles/intercepted-store.ts';

const DAY = 86_400_000;
const rootKey = randomBytes(32).toString('base64');
const lines: string[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  lines.length = 0;
});

/** Every tenant has read its one file today. */
async function fill(store: ObjectStore, ...tenants: readonly string[]): Promise<void> {
  await using pool = createMemoryPool({ store, rootKey, expireAfterDays: 30 });
  for (const tenant of tenants) {
    const memory = await pool.open(tenant);
    const path = '/memories/a.md';
    await memory.execute({ command: 'create', path, file_text: 'text' });
    await memory.execute({ command: 'view', path });
  }
}

function expire(store: ObjectStore, remainingMs = 300_000): Promise<ExpirySummary> {
  const log = createJsonLogger({ write: (line) => lines.push(line) });
  const run = createExpiry({ memory: { store, rootKey, expireAfterDays: 30 }, logger: log });
  return run({}, { getRemainingTimeInMillis: () => remainingMs });
}

it('a tenant has its turn while more than thirty seconds are left, and not with thirty', async () => {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  await fill(store, 'acme', 'bolt');
  expect(await expire(store, 31_000)).toMatchObject({ tenants: 2, failed: 0, isPartial: false });
  expect(await expire(store, 30_000)).toMatchObject({ tenants: 0, failed: 0, isPartial: true });
});

it('a tenant whose store does not answer is left thirty seconds before the end', async () => {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  await fill(store, 'acme');
  const stuck = interceptStore(store, (call, proceed) =>
    call.verb === 'get' && call.key === 'keyrings/acme' ? new Promise(() => {}) : proceed(),
  );
  expect(await expire(stuck, 30_050)).toMatchObject({ tenants: 1, failed: 1 });
  expect(lines.join()).toContain('"code":"aborted"');
});

it('tenants have their turn from a random one on, and all of them', async () => {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  await fill(store, 'a', 'b', 'c', 'd');
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  await expire(store);
  const order = lines.map((line) => JSON.parse(line)).flatMap(({ tenant }) => tenant ?? []);
  expect(order).toEqual(['c', 'd', 'a', 'b']);
});

it('records that went are counted over all tenants', async () => {
  let now = Date.now() - 40 * DAY;
  await using store = openSqliteObjectStore({ path: ':memory:', clock: () => now });
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  await fill(store, 'acme', 'bolt');
  now += 40 * DAY;
  expect(await expire(store)).toMatchObject({ tenants: 2, records: 2, marked: 2 });
});
