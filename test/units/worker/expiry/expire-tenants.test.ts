import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { timeOf } from '../../../../infra/local/lambda/local-worker.ts';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { openTenant } from '../../../../src/open/open-memory.ts';
import { createMemoryPool } from '../../../../src/open/pool.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { createReceipts } from '../../../../src/turns/receipts.ts';
import type { ScheduledExpiryOptions } from '../../../../src/worker/expiry/expire-tenant.ts';
import { createExpiry, type ExpirySummary } from '../../../../src/worker/expiry/expire-tenants.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';
import { listingServer } from '../../../servers/listing-server.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const rootKey = randomBytes(32).toString('base64');
const NOTHING = { files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, tombstones: 0 };

let now: number;
let store: ObjectStore;
let lines: string[];
beforeEach(() => {
  now = Date.now() - 40 * DAY;
  store = openSqliteObjectStore({ path: ':memory:', clock: () => now });
  lines = [];
});
afterEach(() => {
  vi.unstubAllEnvs();
  return store[Symbol.asyncDispose]();
});

/** Tenants with a file that was written 40 days ago, and one of today. */
async function fill(...tenants: readonly string[]): Promise<void> {
  await using pool = createMemoryPool({ store, rootKey });
  const write = async (path: string): Promise<void> => {
    for (const tenant of tenants) {
      const memory = await pool.open(tenant);
      const result = await memory.execute({ command: 'create', path, file_text: `canary of ${tenant}` });
      expect(result).toMatchObject({ isError: false });
    }
  };
  await write('/memories/old.md');
  now += 40 * DAY;
  await write('/memories/new.md');
}

function expire(
  options: Partial<ScheduledExpiryOptions> & { readonly remainingMs?: number } = {},
): Promise<ExpirySummary> {
  const { remainingMs = 300_000, ...given } = options;
  const run = createExpiry({
    memory: { store, rootKey, expireAfterDays: 30 },
    logger: createJsonLogger({ write: (line) => lines.push(line) }),
    ...given,
  });
  return run({}, timeOf(remainingMs));
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

const logged = (): readonly Record<string, unknown>[] => lines.map((line) => JSON.parse(line));

describe('the expiry function', () => {
  it('marks what was not used, tenant by tenant, and deletes it an hour later', async () => {
    await fill('acme', 'bolt', 'core');
    const expired = { ...NOTHING, tenants: 3, failed: 0, isPartial: false, files: 6 };
    expect(await expire()).toEqual({ ...expired, marked: 3 });
    expect(await filesOf('bolt')).toBe(2);
    now += HOUR;
    expect(await expire()).toEqual({ ...expired, deleted: 3 });
    for (const tenant of ['acme', 'bolt', 'core']) expect(await filesOf(tenant)).toBe(1);
  });

  it('changes nothing in a dry run, whatever earlier runs marked, and tells what it would do', async () => {
    await fill('acme', 'bolt');
    expect(await expire({ dryRun: true })).toMatchObject({ marked: 2, deleted: 0 });
    now += HOUR;
    expect(await expire({ dryRun: true })).toMatchObject({ marked: 2, deleted: 0 });
    await expire();
    now += HOUR;
    expect(await expire({ dryRun: true })).toMatchObject({ marked: 0, deleted: 2 });
    expect(await filesOf('acme')).toBe(2);
  });

  it('deletes answers of 400 days ago, and their receipts, in a dry run as well', async () => {
    await fill('acme');
    await answer('acme');
    now += 400 * DAY;
    expect(await expire({ dryRun: true })).toMatchObject({ records: 2, marked: 2, deleted: 0 });
    expect(await keysBelow('tenants/acme/answers/')).toBe(0);
    expect(await keysBelow('tenants/acme/receipts/')).toBe(0);
    now += HOUR;
    expect(await expire({ dryRun: true })).toMatchObject({ records: 0, marked: 2, deleted: 0 });
    expect(await filesOf('acme')).toBe(2);
  });

  it('goes on when a tenant fails, counts it, and logs its code', async () => {
    await fill('acme', 'bolt', 'core');
    await expire();
    now += HOUR;
    await store.put('keyrings/bolt' as ObjectKey, new Uint8Array(400), { mode: 'overwrite' });
    expect(await expire()).toMatchObject({ tenants: 3, failed: 1, deleted: 2, isPartial: false });
    expect(await filesOf('acme')).toBe(1);
    expect(await filesOf('bolt')).toBe(2);
    expect(await filesOf('core')).toBe(1);
    expect(logged().filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ tenant: 'bolt', code: expect.stringMatching(/^[a-z_]+$/) }),
    ]);
  });

  it('passes over a tenant that it may not become', async () => {
    await fill('acme', 'bolt');
    const asked: string[] = [];
    const summary = await expire({
      credentials: (tenant) => async () => {
        asked.push(tenant);
        if (tenant === 'bolt') throw new MemoryError('access_denied', 'the tenant role may not be assumed');
        return { accessKeyId: tenant, secretAccessKey: 's', sessionToken: 't', expiration: new Date(2e12) };
      },
    });
    expect(new Set(asked)).toEqual(new Set(['acme', 'bolt']));
    expect(summary).toMatchObject({ tenants: 2, failed: 1, marked: 1 });
    expect(logged()).toContainEqual(expect.objectContaining({ tenant: 'bolt', code: 'access_denied' }));
  });

  it('reaches each tenant with its own credentials, and finds the tenants with those of the process', async () => {
    await using server = await listingServer(['keyrings/acme', 'keyrings/bolt']);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'process');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 's');
    const summary = await expire({
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
    });
    expect(summary).toMatchObject({ tenants: 2, failed: 2 });
    const [first, ...others] = server.requests;
    expect(first).toMatchObject({ accessKeyId: 'process' });
    expect(first?.url).toContain('prefix=keyrings%2F');
    expect(new Set(others.map(({ accessKeyId }) => accessKeyId))).toEqual(new Set(['acme', 'bolt']));
    for (const { url, accessKeyId } of others) expect(url).toContain(accessKeyId);
  });

  it('begins no tenant for whom there is no time', async () => {
    await fill('acme', 'bolt');
    expect(await expire({ remainingMs: 29_000 })).toEqual({
      ...NOTHING,
      tenants: 0,
      failed: 0,
      isPartial: true,
    });
  });

  it('deletes no file where none is to expire, and has nothing to do where no process ever wrote', async () => {
    expect(await expire()).toEqual({ ...NOTHING, tenants: 0, failed: 0, isPartial: false });
    await fill('acme');
    const memory = { store, rootKey };
    await expire({ memory });
    now += 400 * DAY;
    expect(await expire({ memory })).toMatchObject({ tenants: 1, deleted: 0, marked: 0 });
    expect(await filesOf('acme')).toBe(2);
  });

  it('writes no path and no text into its log', async () => {
    await fill('acme');
    await expire();
    expect(logged()).toContainEqual(
      expect.objectContaining({ message: 'expired files of a tenant', tenant: 'acme', marked: 1 }),
    );
    expect(logged()).toContainEqual(expect.objectContaining({ message: 'expiry ended', tenants: 1 }));
    expect(lines.join('\n')).not.toMatch(/canary|memories|\.md/);
  });

  it('writes a checkpoint of each tenant into the log where that is asked for', async () => {
    await fill('acme', 'zeta');
    await expire();
    expect(await keysBelow('tenants/acme/checkpoints/')).toBe(0);
    lines = [];
    await expire({ checkpoints: true });
    const told = lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === 'checkpoint of a tenant');
    expect(told.map(({ tenant }) => tenant).sort()).toEqual(['acme', 'zeta']);
    for (const { line, files, unread, tenant } of told) {
      expect(line).toMatch(/^1:[A-Za-z0-9_-]{43}$/);
      expect([files, unread]).toEqual([2, 0]);
      const { parts, close } = await openTenant({ store, rootKey, tenant });
      expect((await parts.verify({ since: line })).findings).toEqual([]);
      await close();
    }
  });

  it('writes no next checkpoint of a tenant where it finds an alarm since the last one, and says so', async () => {
    await fill('acme');
    await expire({ checkpoints: true });
    for await (const { objects } of store.list({ prefix: 'tenants/acme/checkpoints/p' }))
      await store.delete(objects.map(({ key }) => ({ key })));
    lines = [];
    await expire({ checkpoints: true });
    const told = lines.map((line) => JSON.parse(line));
    expect(told).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: 'no checkpoint of a tenant: alarms since the last one',
        tenant: 'acme',
        alarms: 1,
      }),
    );
    expect(told).not.toContainEqual(expect.objectContaining({ message: 'checkpoint of a tenant' }));
    expect(await keysBelow('tenants/acme/checkpoints/c')).toBe(1);
  });
});
