import type { SQSBatchResponse } from 'aws-lambda';
import { beforeEach, expect, it, vi } from 'vitest';
import type { TenantId } from '../../../../src/format/object-keys.ts';
import type { PooledTenant, PoolOptions, TenantPool } from '../../../../src/open/pool.ts';
import { createExpiry } from '../../../../src/worker/expiry/expiry-queue.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';

const REPORT = { files: 1, deleted: 2, marked: 3, records: 4, sessions: 6, tombstones: 5, busy: false };
/** The events of the pool, in order. */
let events: string[];
let given: PoolOptions | undefined;
let tenants: () => Promise<readonly TenantId[]>;
beforeEach(() => {
  events = [];
  tenants = async () => ['acme', 'bolt', 'core'] as unknown as readonly TenantId[];
});

vi.mock('../../../../src/open/pool.ts', () => ({
  createTenantPool(options: PoolOptions): TenantPool {
    given = options;
    const close = async () => void events.push('the pool is closed');
    return {
      turnOf: async () => ({}),
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

const lines: string[] = [];
const log = createJsonLogger({ write: (line) => lines.push(line) });
const expire = createExpiry({
  memory: { store: 'memory:', rootKey: '' },
  queue: { sqs: { send: async () => ({}) }, url: 'https://sqs.invalid/expiry' } as never,
  logger: log,
});
const time = { getRemainingTimeInMillis: () => 300_000 };
const MESSAGES = {
  Records: ['acme', 'bolt', 'core'].map((tenant) => ({
    messageId: tenant,
    body: JSON.stringify({ run: '2026-11-22T03:17:00.000Z', tenant, of: 3 }),
    attributes: {},
  })),
};

it('every count of a tenant stands in its line of the log', async () => {
  expect(await expire(MESSAGES, time)).toEqual({ batchItemFailures: [] } satisfies SQSBatchResponse);
  expect(lines.map((line) => JSON.parse(line))).toEqual(
    ['acme', 'bolt', 'core'].map((tenant) => expect.objectContaining({ tenant, ...REPORT })),
  );
});

it('each tenant is closed before the next one, and the pool at the end', async () => {
  await expire(MESSAGES, time);
  const closed = 'a memory is closed';
  expect(events).toEqual([closed, closed, closed, 'the pool is closed']);
});

it('the pool is closed once the tenants are sent', async () => {
  expect(await expire({}, time)).toMatchObject({ tenants: 3, of: 3, isPartial: false });
  expect(events).toEqual(['the pool is closed']);
});

it('the pool is closed when the tenants cannot be listed', async () => {
  tenants = () => Promise.reject(new Error('denied'));
  await expect(expire({}, time)).rejects.toThrow('denied');
  expect(events).toEqual(['the pool is closed']);
});

it('what the library has to say goes into the log of the function', async () => {
  await expire(MESSAGES, time);
  expect(given?.logger).toBe(log);
});
