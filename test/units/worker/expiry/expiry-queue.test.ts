import { randomBytes } from 'node:crypto';
import type { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { timeOf } from '../../../../infra/local/lambda/local-worker.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { SHRED_MARKER } from '../../../../src/format/keyring-bytes.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { openTenant } from '../../../../src/open/open-memory.ts';
import { createMemoryPool } from '../../../../src/open/pool.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { ScheduledExpiryOptions } from '../../../../src/worker/expiry/expire-tenant.ts';
import { createExpiry, type ExpiryPlan } from '../../../../src/worker/expiry/expiry-queue.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';
import { createReceipts } from '../../../../src/worker/leases/receipts.ts';
import { interceptStore } from '../../../stage/store-wrappers.ts';
import { listingServer } from '../listing-server.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const rootKey = randomBytes(32).toString('base64');
const RUN = '2026-11-22T03:17:00.000Z';
const NOTHING = { busy: false, files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, tombstones: 0 };

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
afterEach(() => {
  vi.unstubAllEnvs();
  return store[Symbol.asyncDispose]();
});

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

async function write(path: string, tenants: readonly string[]): Promise<void> {
  await using pool = createMemoryPool({ store, rootKey });
  for (const tenant of tenants) {
    const memory = await pool.open(tenant);
    const result = await memory.execute({ command: 'create', path, file_text: `canary of ${tenant}` });
    expect(result).toMatchObject({ isError: false });
  }
}

/** Tenants with one file, which no process used for 40 days. */
async function fill(...tenants: readonly string[]): Promise<void> {
  await write('/memories/old.md', tenants);
  now += 40 * DAY;
}

/** Tenants with a file that was written 40 days ago, and one of today. */
async function fillOldAndNew(...tenants: readonly string[]): Promise<void> {
  await fill(...tenants);
  await write('/memories/new.md', tenants);
}

interface Calling extends Partial<ScheduledExpiryOptions> {
  readonly remainingMs?: (() => number) | undefined;
}

function call(event: unknown, { remainingMs = () => 300_000, ...given }: Calling = {}) {
  const expiry = createExpiry({
    memory: { store, rootKey, expireAfterDays: 30 },
    queue: { sqs, url: 'https://sqs.invalid/expiry' },
    clock: () => Date.parse(RUN),
    logger: createJsonLogger({ write: (line) => lines.push(line) }),
    ...given,
  });
  return expiry(event, { ...timeOf(0), getRemainingTimeInMillis: remainingMs });
}

const plan = (remainingMs?: () => number) => call({}, { remainingMs }) as Promise<ExpiryPlan>;

/** Delivers messages as one batch, each for the `receives`th time. */
async function deliver(
  messages: readonly string[],
  { receives = 1, ...calling }: Calling & { readonly receives?: number } = {},
): Promise<readonly string[]> {
  const Records = messages.map((body, index) => ({
    messageId: String(index),
    body,
    attributes: { ApproximateReceiveCount: String(receives) },
  }));
  const answer = await call({ Records } as unknown as SQSEvent, calling);
  return (answer as SQSBatchResponse).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

const task = (tenant: string, of = 1): string => JSON.stringify({ run: RUN, tenant, of });
const logged = (): readonly Record<string, unknown>[] => lines.map((line) => JSON.parse(line));

/** Delivers a message for the tenant, and answers its line in the log. */
async function expire(tenant: string, calling?: Calling): Promise<Record<string, unknown> | undefined> {
  lines = [];
  expect(await deliver([task(tenant)], calling)).toEqual([]);
  return logged().find(({ message }) => message === 'expired files of a tenant');
}

/** A turn that was answered. */
async function answer(tenant: string): Promise<void> {
  const { parts, close } = await openTenant({ store, rootKey, tenant });
  const claim = await createReceipts(parts.context).claim('turn', { leaseMs: 60_000, message: 'hello' });
  if (claim.state !== 'ours') throw new Error('the turn is not free');
  await claim.lease.finish(new Uint8Array(100));
  await close();
}

async function keysBelow(prefix: string): Promise<number> {
  let count = 0;
  for await (const { objects } of store.list({ prefix })) count += objects.length;
  return count;
}

const filesOf = (tenant: string): Promise<number> => keysBelow(`tenants/${tenant}/data/`);

describe('the expiry function', () => {
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
    now += HOUR;
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

describe('of its tenants the expiry function', () => {
  it('marks what was not used, and deletes it an hour later', async () => {
    const tenants = ['acme', 'bolt', 'core'];
    await fillOldAndNew(...tenants);
    for (const tenant of tenants) {
      expect(await expire(tenant)).toMatchObject({ ...NOTHING, tenant, files: 2, marked: 1 });
    }
    expect(await filesOf('bolt')).toBe(2);
    now += HOUR;
    for (const tenant of tenants) {
      expect(await expire(tenant)).toMatchObject({ ...NOTHING, tenant, files: 2, deleted: 1 });
      expect(await filesOf(tenant)).toBe(1);
    }
  });

  it('changes nothing in a dry run, whatever earlier runs marked, and tells what it would do', async () => {
    await fillOldAndNew('acme');
    expect(await expire('acme', { dryRun: true })).toMatchObject({ marked: 1, deleted: 0 });
    now += HOUR;
    expect(await expire('acme', { dryRun: true })).toMatchObject({ marked: 1, deleted: 0 });
    await expire('acme');
    now += HOUR;
    expect(await expire('acme', { dryRun: true })).toMatchObject({ marked: 0, deleted: 1 });
    expect(await filesOf('acme')).toBe(2);
  });

  it('deletes answers of 400 days ago, and their receipts, in a dry run as well', async () => {
    await fillOldAndNew('acme');
    await answer('acme');
    now += 400 * DAY;
    expect(await expire('acme', { dryRun: true })).toMatchObject({ records: 2, marked: 2, deleted: 0 });
    expect(await keysBelow('tenants/acme/answers/')).toBe(0);
    expect(await keysBelow('tenants/acme/receipts/')).toBe(0);
    now += HOUR;
    expect(await expire('acme', { dryRun: true })).toMatchObject({ records: 0, marked: 2, deleted: 0 });
    expect(await filesOf('acme')).toBe(2);
  });

  it('deletes records of reads, and tells their number', async () => {
    vi.spyOn(Date, 'now').mockImplementation(() => now);
    try {
      await write('/memories/old.md', ['acme']);
      {
        await using pool = createMemoryPool({ store, rootKey, expireAfterDays: 30 });
        await (await pool.open('acme')).execute({ command: 'view', path: '/memories/old.md' });
      }
      now += 40 * DAY;
      expect(await expire('acme')).toMatchObject({ records: 1, marked: 1 });
    } finally {
      vi.restoreAllMocks();
    }
  });

  it('deletes no file where none is to expire', async () => {
    await fillOldAndNew('acme');
    const memory = { store, rootKey };
    await expire('acme', { memory });
    now += 400 * DAY;
    expect(await expire('acme', { memory })).toMatchObject({ deleted: 0, marked: 0 });
    expect(await filesOf('acme')).toBe(2);
  });

  it('has none where no process ever wrote', async () => {
    expect(await plan()).toEqual({ run: RUN, tenants: 0, of: 0, isPartial: false });
    expect(bodies).toEqual([]);
  });

  it('goes on when one fails, and logs its code', async () => {
    await fillOldAndNew('acme', 'bolt', 'core');
    const messages = ['acme', 'bolt', 'core'].map((tenant) => task(tenant, 3));
    expect(await deliver(messages)).toEqual([]);
    now += HOUR;
    await store.put('keyrings/bolt' as ObjectKey, new Uint8Array(400), { mode: 'overwrite' });
    expect(await deliver(messages)).toEqual(['1']);
    expect(await filesOf('acme')).toBe(1);
    expect(await filesOf('bolt')).toBe(2);
    expect(await filesOf('core')).toBe(1);
    expect(logged().filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({
        message: 'files of a tenant could not be expired',
        tenant: 'bolt',
        code: expect.stringMatching(/^[a-z_]+$/),
        run: RUN,
        of: 3,
      }),
    ]);
  });

  it('has nothing left of one that was shredded, and raises no alarm', async () => {
    await fill('acme', 'bolt');
    await store.put('keyrings/bolt' as ObjectKey, SHRED_MARKER, { mode: 'overwrite' });
    const { busy, ...counts } = NOTHING;
    expect(await deliver([task('acme', 2), task('bolt', 2)], { checkpoints: true })).toEqual([]);
    expect(logged().filter(({ tenant }) => tenant === 'bolt')).toEqual([
      expect.objectContaining({ level: 'info', shredded: true, busy, ...counts, run: RUN, of: 2 }),
    ]);
    expect(logged()).toContainEqual(expect.objectContaining({ tenant: 'acme', marked: 1 }));
  });

  it('lose records alone where the settings of one say that it is only read', async () => {
    await fill('acme', 'bolt');
    await answer('bolt');
    now += 40 * DAY;
    const tenants = (tenant: string) => (tenant === 'bolt' ? { readOnly: true } : undefined);
    const calling = { memory: { store, rootKey, expireAfterDays: 30, tenants }, checkpoints: true };
    expect(await expire('acme', calling)).toMatchObject({ marked: 1 });
    expect(await expire('bolt', calling)).toMatchObject({ marked: 0, files: 0, records: 2 });
    expect(logged().map(({ message }) => message)).toContain('checkpoint of a tenant');
    now += HOUR;
    expect(await expire('bolt', calling)).toMatchObject({ deleted: 0 });
    expect(await filesOf('bolt')).toBe(1);
    const frozen = { memory: { store, rootKey, readOnly: true } };
    expect(await deliver([task('bolt')], frozen)).toEqual(['0']);
  });

  it('passes over one that it may not become', async () => {
    await fill('acme', 'bolt');
    const asked: string[] = [];
    const returned = await deliver([task('bolt'), task('acme')], {
      credentials: (tenant) => async () => {
        asked.push(tenant);
        if (tenant === 'bolt') throw new MemoryError('access_denied', 'the tenant role may not be assumed');
        return { accessKeyId: tenant, secretAccessKey: 's', sessionToken: 't', expiration: new Date(2e12) };
      },
    });
    expect(new Set(asked)).toEqual(new Set(['acme', 'bolt']));
    expect(returned).toEqual(['0']);
    expect(logged()).toContainEqual(expect.objectContaining({ tenant: 'bolt', code: 'access_denied' }));
    expect(logged()).toContainEqual(expect.objectContaining({ tenant: 'acme', marked: 1 }));
  });

  it('reaches each with its own credentials, and finds them with those of the process', async () => {
    await using server = await listingServer(['keyrings/acme', 'keyrings/bolt']);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'process');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 's');
    const calling: Calling = {
      memory: {
        store: 's3://bucket',
        s3: { endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true },
        rootKey,
        expireAfterDays: 30,
      },
      credentials: (tenant) => async () => ({
        accessKeyId: tenant,
        secretAccessKey: 's',
        sessionToken: 't',
        expiration: new Date(2e12),
      }),
    };
    expect(await call({}, calling)).toMatchObject({ tenants: 2 });
    expect(await deliver(bodies, calling)).toEqual(['0', '1']);
    const [first, ...others] = server.requests;
    expect(first).toMatchObject({ accessKeyId: 'process' });
    expect(first?.url).toContain('prefix=keyrings%2F');
    expect(new Set(others.map(({ accessKeyId }) => accessKeyId))).toEqual(new Set(['acme', 'bolt']));
    for (const { url, accessKeyId } of others) expect(url).toContain(accessKeyId);
  });

  it('begins one while more than thirty seconds are left, and none with thirty', async () => {
    await fill('acme', 'bolt');
    const messages = [task('acme'), task('bolt')];
    expect(await deliver(messages, { remainingMs: () => 31_000 })).toEqual([]);
    expect(logged()).toHaveLength(2);
    lines = [];
    expect(await deliver(messages, { remainingMs: () => 30_000 })).toEqual(['0', '1']);
    expect(lines).toEqual([]);
  });

  it('leaves one whose store does not answer thirty seconds before the end', async () => {
    await fill('acme');
    const stuck = interceptStore(store, (request, proceed) =>
      request.verb === 'get' && request.key === 'keyrings/acme' ? new Promise(() => {}) : proceed(),
    );
    const memory = { store: stuck, rootKey, expireAfterDays: 30 };
    expect(await deliver([task('acme')], { memory, remainingMs: () => 30_050 })).toEqual(['0']);
    expect(logged()).toEqual([expect.objectContaining({ tenant: 'acme', code: 'aborted' })]);
  });

  it('writes no path and no text into its log', async () => {
    await fillOldAndNew('acme');
    await plan();
    expect(await deliver(bodies)).toEqual([]);
    expect(logged()).toContainEqual(
      expect.objectContaining({ message: 'expired files of a tenant', tenant: 'acme', marked: 1 }),
    );
    expect(logged()).toContainEqual(expect.objectContaining({ message: 'expiry began', tenants: 1 }));
    expect(lines.join('\n')).not.toMatch(/canary|memories|\.md/);
  });

  it('writes a checkpoint of each into the log where that is asked for', async () => {
    await fillOldAndNew('acme', 'zeta');
    const messages = [task('acme', 2), task('zeta', 2)];
    expect(await deliver(messages)).toEqual([]);
    expect(await keysBelow('tenants/acme/checkpoints/')).toBe(0);
    lines = [];
    expect(await deliver(messages, { checkpoints: true })).toEqual([]);
    const told = lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === 'checkpoint of a tenant');
    expect(told.map(({ tenant }) => tenant)).toEqual(['acme', 'zeta']);
    for (const { line, files, unread, tenant, run, of } of told) {
      expect(line).toMatch(/^1:[A-Za-z0-9_-]{43}$/);
      expect([files, unread, run, of]).toEqual([2, 0, RUN, 2]);
      const { parts, close } = await openTenant({ store, rootKey, tenant });
      expect((await parts.verify({ since: line })).findings).toEqual([]);
      await close();
    }
  });

  it('writes no next checkpoint of one where it finds an alarm since the last one, and says so', async () => {
    await fillOldAndNew('acme');
    await expire('acme', { checkpoints: true });
    for await (const { objects } of store.list({ prefix: 'tenants/acme/checkpoints/p' }))
      await store.delete(objects.map(({ key }) => ({ key })));
    await expire('acme', { checkpoints: true });
    expect(logged()).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: 'no checkpoint of a tenant: alarms since the last one',
        tenant: 'acme',
        alarms: 1,
        run: RUN,
      }),
    );
    expect(logged()).not.toContainEqual(expect.objectContaining({ message: 'checkpoint of a tenant' }));
    expect(await keysBelow('tenants/acme/checkpoints/c')).toBe(1);
  });
});
