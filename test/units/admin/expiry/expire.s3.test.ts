import { randomBytes } from 'node:crypto';
import type { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { timeOf } from '../../../../infra/local/lambda/local-worker.ts';
import type { TenantExpiry } from '../../../../src/admin/expiry/expire.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { createMemoryPool, createTenantPool, type PooledTenant } from '../../../../src/open/pool.ts';
import { guardDeletes } from '../../../../src/store/guarded-delete.ts';
import { osRandom as random } from '../../../../src/store/os-random.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { buryOldTombstones } from '../../../../src/store/tombstones.ts';
import { pause } from '../../../../src/time.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';
import { createExpiry } from '../../../../src/worker/expiry/expiry-queue.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';
import { createReceipts } from '../../../../src/worker/leases/receipts.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../../stage/s3.ts';
import { interceptStore, laterStore } from '../../../stage/store-wrappers.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const OLD = '/memories/old.md';
const USED = '/memories/d/used.md';
const rootKey = randomBytes(32).toString('base64');

describeOnS3('expiry', ['minio'], (server) => {
  let bucket: TestBucket;
  let plain: ObjectStore;
  let operations: string[] = [];
  let tenant: string;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
    plain = openS3ObjectStore({
      ...bucket.storeOptions,
      onRequest: ({ operation }) => operations.push(operation),
    });
  });
  afterAll(async () => {
    await plain?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });
  beforeEach(() => {
    tenant = `t-${randomBytes(4).toString('hex')}`;
  });

  afterEach(() => vi.unstubAllEnvs());

  /** One more process; where days are given it records its reads. */
  const open = (expireAfterDays?: number): Promise<Memory> =>
    openMemory({ store: guardDeletes(plain), tenant, rootKey, expireAfterDays });

  async function run(memory: Memory, input: object): Promise<void> {
    expect(await memory.execute(input)).toMatchObject({ isError: false });
  }

  async function fill(...paths: readonly string[]): Promise<Memory> {
    const memory = await open();
    for (const path of paths) await run(memory, { command: 'create', path, file_text: 'x' });
    return memory;
  }

  /** Acts on the tenant when so much time has passed on the server. */
  async function later<T>(ms: number, act: (tenant: PooledTenant) => Promise<T>): Promise<T> {
    const store = guardDeletes(laterStore(plain, ms));
    await using pool = createTenantPool({ store, rootKey, expireAfterDays: 30 });
    return await act(await pool.open(tenant));
  }

  const expire = (ms: number, dryRun = false): Promise<TenantExpiry> =>
    later(ms, (opened) => opened.expire({ dryRun }));

  async function keysOf(cls: string): Promise<readonly ObjectKey[]> {
    const keys: ObjectKey[] = [];
    for await (const { objects } of plain.list({ prefix: `tenants/${tenant}/${cls}/` })) {
      keys.push(...objects.map(({ key }) => key));
    }
    return keys;
  }

  /** The requests of one view. */
  async function billOf(memory: Memory, path: string): Promise<readonly string[]> {
    operations = [];
    await memory.execute({ command: 'view', path });
    return operations;
  }

  it('costs one PUT at the first read of a file on a day, and nothing at later ones', async () => {
    await awayFromMidnight();
    await fill(OLD, USED);
    const [recording, other, plainReader] = [await open(30), await open(30), await open()];
    for (const memory of [recording, other, plainReader]) await billOf(memory, '/memories');
    expect(await billOf(recording, OLD)).toEqual(['GetObject', 'PutObject']);
    expect(await billOf(recording, OLD)).toEqual(['GetObject']);
    expect(await billOf(recording, OLD)).toEqual(['GetObject']);
    expect(await billOf(recording, USED)).toEqual(['GetObject', 'PutObject']);
    expect(await keysOf('access')).toHaveLength(2);
    // The object that it meets could be a tombstone.
    expect(await billOf(other, OLD)).toEqual(['GetObject', 'PutObject', 'HeadObject']);
    expect(await billOf(other, OLD)).toEqual(['GetObject']);
    expect(await billOf(plainReader, OLD)).toEqual(['GetObject']);
    expect(await keysOf('access')).toHaveLength(2);
    expect(await billOf(recording, '/memories/none.md')).not.toContain('PutObject');
    expect(await keysOf('access')).toHaveLength(2);
  });

  it('marks what was not used, then deletes exactly what was marked and is unchanged', async () => {
    const memory = await fill(OLD, USED);
    expect(await expire(31 * DAY, true)).toMatchObject({ files: 2, deleted: 0, marked: 2 });
    expect(await keysOf('journal')).not.toContain(`tenants/${tenant}/journal/expiry`);
    expect(await expire(31 * DAY)).toMatchObject({ files: 2, deleted: 0, marked: 2 });
    await run(memory, { command: 'insert', path: USED, insert_line: 1, insert_text: 'again' });
    expect(await expire(31 * DAY + 2 * HOUR, true)).toMatchObject({ deleted: 1, marked: 1 });
    expect(await keysOf('data')).toHaveLength(2);
    expect(await expire(31 * DAY + 2 * HOUR)).toMatchObject({ deleted: 1, marked: 1 });
    expect(await keysOf('data')).toHaveLength(1);
    await run(await open(), { command: 'view', path: USED });
  });

  it('keeps a file that was read, until the day of the read is too long ago as well', async () => {
    await awayFromMidnight();
    await fill(OLD, USED);
    await run(await open(30), { command: 'view', path: USED });
    const dayEnds = Math.ceil(Date.now() / DAY) * DAY;
    const between = 30 * DAY + Math.floor((dayEnds - Date.now()) / 2);
    expect(await expire(between)).toMatchObject({ files: 2, marked: 1 });
    expect(await expire(32 * DAY)).toMatchObject({ files: 2, deleted: 1, marked: 1 });
    expect(await keysOf('access')).toEqual([]);
  });

  it('deletes receipts and answers that no queue can ask for any more', async () => {
    await fill(OLD);
    await later(0, async ({ context }) => {
      const claim = await createReceipts(context).claim('turn-1', { leaseMs: 1_000, message: 'hello' });
      if (claim.state !== 'ours') throw new Error(`the turn is ${claim.state}`);
      await claim.lease.finish(new TextEncoder().encode('{}'));
    });
    expect(await expire(29 * DAY)).toMatchObject({ records: 0 });
    expect(await expire(31 * DAY)).toMatchObject({ records: 2 });
    expect([...(await keysOf('receipts')), ...(await keysOf('answers'))]).toEqual([]);
  });

  it('removes the tombstone of a delete whose process died, once it is old', async () => {
    await fill(OLD, USED);
    const dying = interceptStore(plain, (call, proceed) =>
      call.verb === 'delete' ? Promise.reject(new Error('the process is dead')) : proceed(),
    );
    const memory = await openMemory({ store: guardDeletes(dying), tenant, rootKey });
    await memory.execute({ command: 'delete', path: OLD });
    expect(await keysOf('data')).toHaveLength(2);
    const bury = (ms: number): Promise<number> =>
      buryOldTombstones({
        store: laterStore(plain, ms),
        prefix: `tenants/${tenant}/`,
        olderThanMs: HOUR,
        random,
        time: { clock: () => performance.now(), wallClock: Date.now, pause },
      });
    expect(await bury(0)).toBe(0);
    expect(await bury(2 * HOUR)).toBe(1);
    expect(await bury(2 * HOUR)).toBe(0);
    expect(await keysOf('data')).toHaveLength(1);
    await run(await fill(OLD), { command: 'view', path: USED });
  });

  it('goes through all tenants of a bucket, one of which fails', async () => {
    const { bucket: name, credentials, ...s3 } = bucket.storeOptions;
    const prefix = `expiry-${tenant}`;
    const memory = { store: `s3://${name}/${prefix}`, s3, credentials, rootKey, expireAfterDays: 30 };
    {
      await using pool = createMemoryPool(memory);
      for (const each of ['acme', 'bolt', 'core']) {
        await run(await pool.open(each), { command: 'create', path: OLD, file_text: 'x' });
      }
    }
    await plain.put(`${prefix}/keyrings/bolt` as ObjectKey, new Uint8Array(400), { mode: 'overwrite' });
    const lines: string[] = [];
    const bodies: string[] = [];
    const sqs = {
      async send({ input }: SendMessageBatchCommand) {
        bodies.push(...(input.Entries ?? []).map(({ MessageBody = '' }) => MessageBody));
        return {};
      },
    } as unknown as Pick<SQSClient, 'send'>;
    const { credentials: own, ...shared } = memory;
    const expire = createExpiry({
      memory: shared,
      credentials: () => async () => ({ ...own, sessionToken: '', expiration: new Date(2e12) }),
      queue: { sqs, url: 'https://sqs.invalid/expiry' },
      logger: createJsonLogger({ write: (line) => lines.push(line) }),
    });
    // With these the tenants are listed.
    vi.stubEnv('AWS_ACCESS_KEY_ID', own.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', own.secretAccessKey);
    expect(await expire({}, timeOf(120_000))).toMatchObject({ tenants: 3, of: 3, isPartial: false });
    const Records = bodies.map((body) => ({ messageId: JSON.parse(body).tenant, body, attributes: {} }));
    expect(await expire({ Records }, timeOf(120_000))).toEqual({
      batchItemFailures: [{ itemIdentifier: 'bolt' }],
    });
    const told = lines.map((line) => JSON.parse(line)).filter(({ files }) => files !== undefined);
    expect(told.map(({ tenant, files }) => [tenant, files])).toEqual([
      ['acme', 1],
      ['core', 1],
    ]);
    expect(lines.join('\n')).not.toMatch(/memories|old\.md/);
  });
});

/** A day of records may end within a test; no test of these takes half a minute. */
async function awayFromMidnight(): Promise<void> {
  const left = DAY - (Date.now() % DAY);
  if (left < 30_000) await new Promise((resolve) => setTimeout(resolve, left + 100));
}
