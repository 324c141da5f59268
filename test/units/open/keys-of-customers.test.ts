import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ErrorDetails, MemoryError } from '../../../src/errors.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import type { LogFields } from '../../../src/logger.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import type { MemoryOptions, TenantSettings } from '../../../src/open/options/options.ts';
import { createMemoryPool, type MemoryPool } from '../../../src/open/pool.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { MemoryEvent } from '../../../src/tool/watch.ts';
import { amount } from '../../runner/thorough.ts';
import { createChance } from '../../simulation/chance.ts';
import { runCli } from '../../stage/cli.ts';
import { silentLogger } from '../../stage/silent-logger.ts';
import { interceptStore, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

const POOL_KEY = new Uint8Array(32).fill(1);
const MINUTE = 60_000;

/** The key service of one customer: it counts what it is asked, refuses once it is disabled, and may never answer. */
interface Service {
  readonly key: RootKey;
  asked: number;
  state: 'on' | 'disabled' | 'hangs';
}

function serviceOf(n: number): Service {
  const secret = new Uint8Array(32);
  new DataView(secret.buffer).setUint32(0, n + 1_000);
  const inner = envRootKey(secret);
  const service: Service = {
    asked: 0,
    state: 'on',
    key: {
      id: `customer-${n}`,
      generate: async (...given) => (await answering()).generate(...given),
      unwrap: async (...given) => (await answering()).unwrap(...given),
    },
  };
  const answering = async (): Promise<RootKey> => {
    service.asked += 1;
    if (service.state === 'hangs') return new Promise<never>(() => {});
    if (service.state === 'disabled') throw Object.assign(new Error('disabled'));
    return inner;
  };
  return service;
}

let store: ObjectStore;
let calls: StoreCall[];
let pools: MemoryPool[];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.UTC(2026, 10, 28) });
  calls = [];
  pools = [];
  store = interceptStore(openSqliteObjectStore({ path: ':memory:' }), recordInto(calls));
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(pools.map((pool) => pool.close()));
  await store[Symbol.asyncDispose]();
});

function poolOf(
  tenants: (tenant: string) => TenantSettings | undefined,
  more: Partial<MemoryOptions> = {},
): MemoryPool {
  const pool = createMemoryPool({
    store,
    rootKey: POOL_KEY,
    logger: silentLogger,
    tenants,
    maxTenants: 2_000,
    ...more,
  });
  pools.push(pool);
  return pool;
}

describe('keys that customers hold', () => {
  it('are asked once for each tenant and time to live, and a warm edit is one request', async () => {
    const count = amount({ usual: 100, thorough: 1_000 });
    const services = Array.from({ length: count }, (_, n) => serviceOf(n));
    const settings = services.map(({ key }) => ({ rootKey: key }));
    const pool = poolOf((tenant) => settings[Number(tenant.slice(1))]);
    const memories = await Promise.all(services.map((_, n) => pool.open(`t${n}`)));
    await Promise.all(memories.map(({ files }) => files.write('/memories/a.md', 'one')));
    // The keyring is made: its key is generated, and unwrapped once by whoever reads it.
    expect(Math.max(...services.map(({ asked }) => asked))).toBeLessThanOrEqual(2);
    for (const service of services) service.asked = 0;
    calls.length = 0;
    for (const { execute } of memories) {
      await execute({ command: 'insert', path: '/memories/a.md', insert_line: 0, insert_text: 'x' });
    }
    expect(calls).toHaveLength(count);
    expect(new Set(calls.map(({ verb }) => verb))).toEqual(new Set(['put']));
    expect(services.every(({ asked }) => asked === 0)).toBe(true);
    vi.advanceTimersByTime(5 * MINUTE);
    for (let round = 0; round < 3; round++) {
      await Promise.all(memories.map(({ files }) => files.read('/memories/a.md')));
    }
    expect(services.every(({ asked }) => asked === 1)).toBe(true);
  }, 120_000);

  it('of one customer that hang hold up nobody else', async () => {
    const services = Array.from({ length: 40 }, (_, n) => serviceOf(n));
    const settings = services.map(({ key }) => ({ rootKey: key }));
    const pool = poolOf((tenant) => settings[Number(tenant.slice(1))]);
    const memories = await Promise.all(services.map((_, n) => pool.open(`t${n}`)));
    await Promise.all(memories.map(({ files }) => files.write('/memories/a.md', 'one')));
    const [hung] = services;
    if (hung !== undefined) hung.state = 'hangs';
    vi.advanceTimersByTime(6 * MINUTE);
    let [ended, waiting] = [0, 0];
    const leaving = new AbortController();
    const stuck = Array.from({ length: 200 }, () =>
      memories[0]?.files
        .read('/memories/a.md', { signal: leaving.signal })
        .catch(() => {})
        .finally(() => ended++),
    );
    // No timer of the 60 s fires meanwhile: what the others wait for, they do not wait for it.
    for (const { files } of memories.slice(1)) {
      waiting++;
      expect((await files.read('/memories/a.md'))?.text()).toBe('one');
      await files.write('/memories/b.md', 'two');
    }
    expect([ended, waiting]).toEqual([0, 39]);
    expect(hung?.asked).toBeLessThanOrEqual(3);
    leaving.abort();
    await Promise.all(stuck);
  });

  it('are moved to others under load, from the team’s to a customer’s and to his next, and no edit is lost', async () => {
    const [first, second] = [serviceOf(1), serviceOf(2)];
    const chance = createChance('moved under load');
    let settings: TenantSettings | undefined;
    const pool = poolOf(() => settings);
    const memories = await Promise.all(Array.from({ length: 8 }, () => pool.open('acme')));
    await memories[0]?.files.write('/memories/log.md', '');
    const written: string[] = [];
    let isOver = false;
    const writers = memories.map(async ({ execute }, writer) => {
      for (let n = 0; !isOver; n++) {
        const line = `${writer}-${n}`;
        const signal = chance.happens(0.2) ? AbortSignal.timeout(1) : undefined;
        const insert = { command: 'insert', path: '/memories/log.md', insert_line: 0, insert_text: line };
        const { isError } = await execute(insert, { ...(signal && { signal }) });
        if (!isError) written.push(line);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const rewrap = async (rootKey: MemoryOptions['rootKey']): Promise<void> => {
      await using admin = await openAdmin({ store, tenant: 'acme', rootKey, logger: silentLogger });
      expect(await admin.rewrapRoot()).toMatchObject({ rewrapped: true });
      expect(await admin.rewrapRoot()).toMatchObject({ rewrapped: false });
    };
    const moves: readonly (readonly RootKeyList[])[] = [
      [[first.key, POOL_KEY], [first.key]],
      [[second.key, first.key], [second.key]],
    ];
    calls.length = 0;
    for (const [both = [], alone = []] of moves) {
      settings = { rootKey: both };
      vi.advanceTimersByTime(5 * MINUTE);
      await new Promise((resolve) => setTimeout(resolve, 50));
      const before = calls.length;
      await rewrap(both);
      const puts = calls.slice(before).filter((call) => call.verb === 'put' && !call.key.includes('/data/'));
      expect(new Set(puts.map((call) => 'key' in call && call.key))).toEqual(new Set(['keyrings/acme']));
      settings = { rootKey: alone };
      vi.advanceTimersByTime(5 * MINUTE);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    isOver = true;
    await Promise.all(writers);
    expect(written.length).toBeGreaterThan(20);
    first.state = 'disabled';
    const text = (await memories[0]?.files.read('/memories/log.md'))?.text() ?? '';
    const lines = text.split('\n');
    for (const line of written) expect(lines.filter((each) => each === line)).toHaveLength(1);
    await expect(poolOf(() => undefined).open('acme')).rejects.toMatchObject({ code: 'key_unavailable' });
  }, 60_000);

  it('are told from the operator’s where they fail: in the error, in events and in the log', async () => {
    const [his, ours] = [serviceOf(1), serviceOf(2)];
    const events: MemoryEvent[] = [];
    const logged: (LogFields | ErrorDetails | undefined)[] = [];
    const log = (_: string, fields?: LogFields): void => void logged.push(fields);
    const pool = poolOf((tenant) => (tenant === 'acme' ? { rootKey: his.key } : undefined), {
      rootKey: ours.key,
      logger: { debug() {}, info() {}, warn: log, error: log },
      onEvent: (event) => events.push(event),
    });
    const memories = await Promise.all(['acme', 'globex'].map((tenant) => pool.open(tenant)));
    await Promise.all(memories.map(({ files }) => files.write('/memories/a.md', 'one')));
    [his.state, ours.state] = ['disabled', 'disabled'];
    vi.advanceTimersByTime(5 * MINUTE);
    for (const { execute, files } of memories) {
      await execute({ command: 'view', path: '/memories/a.md' });
      const listing = files.list('/memories')[Symbol.asyncIterator]();
      await expect(listing.next()).rejects.toMatchObject({ code: 'unavailable' });
      await files.read('/memories/a.md').catch((error: MemoryError) => logged.push(error.details));
    }
    await pool.close();
    const failed = events.filter(({ outcome }) => outcome !== 'ok');
    expect(failed.map(({ tenant, keyHolder }) => [tenant, keyHolder])).toEqual([
      ...Array(3).fill(['acme', 'tenant']),
      ...Array(3).fill(['globex', undefined]),
    ]);
    expect(logged.map((fields) => fields?.['keyHolder'])).toEqual(['tenant', 'tenant', undefined, undefined]);
  });

  it('are the operator’s as well where he has configured them, and settings that name the wrong key are', async () => {
    const [his, ours] = [serviceOf(1), serviceOf(2)];
    let rootKey: MemoryOptions['rootKey'] = [ours.key];
    const open = (): Promise<unknown> => poolOf(() => ({ rootKey }), { rootKey: ours.key }).open('acme');
    await (await poolOf(() => undefined, { rootKey: ours.key }).open('acme')).files.write(
      '/memories/a.md',
      'one',
    );
    // On the way from the operator's key to his.
    rootKey = [his.key, ours.key];
    ours.state = 'disabled';
    const refusedBy = async (): Promise<unknown> =>
      open().then(
        () => 'opened',
        ({ code, details }: MemoryError) => [code, details['keyHolder']],
      );
    expect(await refusedBy()).toEqual(['unavailable', undefined]);
    rootKey = his.key;
    expect(await refusedBy()).toEqual(['key_unavailable', undefined]);
  });

  it('are named as the tenant’s by the command line, with an exit code of their own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-keys-'));
    const settings = { acme: { rootKey: 'vault:http://127.0.0.1:9/transit/keys/his' } };
    writeFileSync(join(folder, 'tenants.json'), JSON.stringify(settings), { mode: 0o600 });
    const run = (tenant: string, key: string, token = 'none') =>
      runCli(['put', '/memories/a.md', '--json'], {
        cwd: folder,
        input: 'one',
        env: {
          SEALED_MEMORY_STORE: 'sqlite:memories.db',
          SEALED_MEMORY_TENANT: tenant,
          SEALED_MEMORY_ROOT_KEY: key,
          SEALED_MEMORY_TENANTS: 'file:tenants.json',
          VAULT_TOKEN: token,
        },
      });
    try {
      const his = await run('acme', Buffer.from(POOL_KEY).toString('base64'));
      expect(JSON.parse(his.stdout)).toMatchObject({
        event: 'failed',
        code: 'unavailable',
        keyHolder: 'tenant',
      });
      expect(his.stderr).toContain('The settings of this tenant name that root key.');
      expect(his.code).toBe(4);
      const withoutToken = await run('acme', Buffer.from(POOL_KEY).toString('base64'), '');
      expect(withoutToken.stderr).toContain('No token for Vault was found');
      expect(JSON.parse(withoutToken.stdout)).not.toHaveProperty('keyHolder');
      expect(withoutToken.code).toBe(1);
      const ours = await run('globex', 'vault:http://127.0.0.1:9/transit/keys/ours');
      expect(JSON.parse(ours.stdout)).not.toHaveProperty('keyHolder');
      expect(ours.code).toBe(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

type RootKeyList = readonly (RootKey | Uint8Array)[];
