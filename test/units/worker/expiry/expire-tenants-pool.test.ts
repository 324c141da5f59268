import { beforeEach, expect, it, vi } from 'vitest';
import type { TenantId } from '../../../../src/format/object-keys.ts';
import type { PooledTenant, PoolOptions, TenantPool } from '../../../../src/open/pool.ts';
import { createExpiry } from '../../../../src/worker/expiry/expire-tenants.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';

const REPORT = { files: 1, deleted: 2, marked: 3, records: 4, sessions: 6, tombstones: 5, busy: false };
/** What became of the pool, in order. */
let events: string[];
let given: PoolOptions | undefined;
let tenants: () => Promise<readonly TenantId[]>;
beforeEach(() => {
  events = [];
  tenants = async () => ['acme', 'acme', 'acme'] as unknown as readonly TenantId[];
});

vi.mock('../../../../src/open/pool.ts', () => ({
  createTenantPool(options: PoolOptions): TenantPool {
    given = options;
    const close = async () => void events.push('the pool is closed');
    return {
      tenants: () => tenants(),
      async open() {
        const memory = { close: async () => void events.push('a memory is closed') };
        return { memory, expire: async () => REPORT } as unknown as PooledTenant;
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  },
}));

const log = createJsonLogger({ write: () => {} });
const expire = createExpiry({ memory: { store: 'memory:', rootKey: '' }, logger: log });
const time = { getRemainingTimeInMillis: () => 300_000 };

it('every count of the summary is the sum over all tenants', async () => {
  expect(await expire({}, time)).toEqual({
    tenants: 3,
    failed: 0,
    isPartial: false,
    files: 3,
    deleted: 6,
    marked: 9,
    records: 12,
    sessions: 18,
    tombstones: 15,
  });
});

it('each tenant is closed before the next one, and the pool at the end', async () => {
  await expire({}, time);
  const closed = 'a memory is closed';
  expect(events).toEqual([closed, closed, closed, 'the pool is closed']);
});

it('the pool is closed when the tenants cannot be listed', async () => {
  tenants = () => Promise.reject(new Error('denied'));
  await expect(expire({}, time)).rejects.toThrow('denied');
  expect(events).toEqual(['the pool is closed']);
});

it('no tenant is begun once the time was up', async () => {
  const remaining = [300_000, 29_000, 300_000];
  const late = { getRemainingTimeInMillis: () => remaining.shift() ?? 300_000 };
  expect(await expire({}, late)).toMatchObject({ tenants: 1, isPartial: true });
});

it('what the library has to say goes into the log of the function', async () => {
  await expire({}, time);
  expect(given?.logger).toBe(log);
});
