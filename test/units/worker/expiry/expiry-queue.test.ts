import { randomBytes } from 'node:crypto';
import type { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { timeOf } from '../../../../infra/local/lambda/local-worker.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { createMemoryPool } from '../../../../src/open/pool.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { createQueuedExpiry, type ExpiryPlan } from '../../../../src/worker/expiry/expiry-queue.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';

const DAY = 86_400_000;
const rootKey = randomBytes(32).toString('base64');
const RUN = '2026-11-22T03:17:00.000Z';

let now: number;
let store: ObjectStore;
let bodies: string[];
let lines: string[];
let takes: (body: string) => boolean;
beforeEach(() => {
  now = Date.now() - 40 * DAY;
  store = openSqliteObjectStore({ path: ':memory:', clock: () => now });
  bodies = [];
  lines = [];
  takes = () => true;
});
afterEach(() => store[Symbol.asyncDispose]());

/** A queue that keeps what it takes. */
const sqs = {
  async send({ input }: SendMessageBatchCommand) {
    const entries = input.Entries ?? [];
    expect(entries.length).toBeLessThanOrEqual(10);
    const texts = entries.map(({ MessageBody = '' }) => MessageBody);
    bodies.push(...texts.filter(takes));
    return { Failed: texts.filter((text) => !takes(text)).map(() => ({ Id: '0' })) };
  },
} as unknown as Pick<SQSClient, 'send'>;

/** Tenants with one file, which no process used for 40 days. */
async function fill(...tenants: readonly string[]): Promise<void> {
  await using pool = createMemoryPool({ store, rootKey });
  for (const tenant of tenants) {
    const memory = await pool.open(tenant);
    await memory.execute({ command: 'create', path: '/memories/old.md', file_text: 'text' });
  }
  now += 40 * DAY;
}

function call(event: unknown, remainingMs: () => number = () => 300_000) {
  const expiry = createQueuedExpiry({
    memory: { store, rootKey, expireAfterDays: 30 },
    queue: { sqs, url: 'https://sqs.invalid/expiry' },
    clock: () => Date.parse(RUN),
    logger: createJsonLogger({ write: (line) => lines.push(line) }),
  });
  return expiry(event, { ...timeOf(0), getRemainingTimeInMillis: remainingMs });
}

const plan = (remainingMs?: () => number) => call({}, remainingMs) as Promise<ExpiryPlan>;

/** Delivers messages as one batch, each for the `receives`th time. */
async function deliver(
  messages: readonly string[],
  { receives = 1, remainingMs }: { receives?: number; remainingMs?: () => number } = {},
): Promise<readonly string[]> {
  const Records = messages.map((body, index) => ({
    messageId: String(index),
    body,
    attributes: { ApproximateReceiveCount: String(receives) },
  }));
  const answer = await call({ Records } as unknown as SQSEvent, remainingMs);
  return (answer as SQSBatchResponse).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

const task = (tenant: string, of = 1): string => JSON.stringify({ run: RUN, tenant, of });
const logged = (): readonly Record<string, unknown>[] => lines.map((line) => JSON.parse(line));

describe('the expiry function with a queue', () => {
  it('sends a message for each tenant, and says how many there are', async () => {
    const tenants = Array.from({ length: 25 }, (_, index) => `tenant-${String(index).padStart(2, '0')}`);
    await fill(...tenants);
    expect(await plan()).toEqual({ run: RUN, tenants: 25, of: 25, isPartial: false });
    expect(bodies).toEqual(tenants.map((tenant) => task(tenant, 25)));
    expect(logged()).toEqual([
      expect.objectContaining({ message: 'expiry began', run: RUN, tenants: 25, of: 25, isPartial: false }),
    ]);
  });

  it('goes on with the list of tenants in a message, where its time is up', async () => {
    const tenants = Array.from({ length: 100 }, (_, index) => `tenant-${String(index).padStart(3, '0')}`);
    await fill(...tenants);
    let looks = 0;
    const oneRound = () => (looks++ === 0 ? 300_000 : 0);
    expect(await plan(oneRound)).toEqual({ run: RUN, tenants: 80, of: 100, isPartial: true });
    const rest = bodies.pop() ?? '';
    expect(JSON.parse(rest)).toEqual({ run: RUN, after: 'tenant-079', of: 100 });
    expect(await deliver([rest])).toEqual([]);
    expect(bodies).toEqual(tenants.map((tenant) => task(tenant, 100)));
  });

  it('sends to nobody where there is no time at all, but for the message that goes on', async () => {
    await fill('acme');
    expect(await plan(() => 30_000)).toMatchObject({ tenants: 0, isPartial: true });
    expect(bodies.map((body) => JSON.parse(body))).toEqual([{ run: RUN, after: '', of: 1 }]);
  });

  it('fails where the queue does not take a message, so that the schedule calls it again', async () => {
    await fill('acme', 'bolt');
    takes = (body) => !body.includes('bolt');
    await expect(plan()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('expires the tenants of its messages, and logs the run and its size with each', async () => {
    await fill('acme', 'bolt');
    expect(await deliver([task('acme', 2), task('bolt', 2)])).toEqual([]);
    now += 3_600_000;
    expect(await deliver([task('acme', 2)])).toEqual([]);
    expect(logged()).toEqual([
      expect.objectContaining({ tenant: 'acme', run: RUN, of: 2, marked: 1, deleted: 0 }),
      expect.objectContaining({ tenant: 'bolt', run: RUN, of: 2, marked: 1, deleted: 0 }),
      expect.objectContaining({ tenant: 'acme', run: RUN, of: 2, marked: 0, deleted: 1 }),
    ]);
  });

  it('returns a tenant that fails to the queue, alone, until the third time', async () => {
    await fill('acme', 'bolt');
    await store.put('keyrings/acme' as ObjectKey, new Uint8Array(400), { mode: 'overwrite' });
    const messages = [task('acme'), task('bolt')];
    expect(await deliver(messages)).toEqual(['0']);
    expect(await deliver(messages, { receives: 2 })).toEqual(['0']);
    expect(await deliver(messages, { receives: 3 })).toEqual([]);
    expect(logged().filter(({ level }) => level === 'error')).toHaveLength(3);
  });

  it('returns what there is no time for', async () => {
    await fill('acme', 'bolt');
    let looks = 0;
    const oneTenant = () => (looks++ === 0 ? 300_000 : 30_000);
    expect(await deliver([task('acme'), task('bolt')], { receives: 9, remainingMs: oneTenant })).toEqual([
      '1',
    ]);
    expect(logged()).toEqual([expect.objectContaining({ tenant: 'acme' })]);
  });

  it.each(['no JSON', '{"run":"x","tenant":"../acme"}'])('logs %j, which it did not send', async (body) => {
    expect(await deliver([body])).toEqual(['0']);
    expect(await deliver([body], { receives: 3 })).toEqual([]);
    expect(logged()).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'a message of the queue of expiry failed' }),
    );
    expect(lines.join()).not.toContain('../acme');
  });
});
