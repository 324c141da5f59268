import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { createLayout, parseTenantId } from '../../src/format/object-keys.ts';
import { createKeyringCache } from '../../src/keys/keyring-cache.ts';
import { openRootKeys } from '../../src/keys/root-keys.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { createMemoryPool, type MemoryPool } from '../../src/open/pool.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { drawsOf } from '../runner/draws.ts';
import { amount } from '../runner/thorough.ts';
import { silentLogger } from '../stage/silent-logger.ts';
import {
  type CustomerKey,
  type CustomerServices,
  KEY_KINDS,
  startCustomerServices,
} from './customer-services.ts';

const TTL_MS = 300_000;
/** The longest that a process remembers a refusal before it asks again. */
const REMEMBERED_MS = 10_000;
const PATH = '/memories/plan.md';
const OURS = Buffer.alloc(32, 9).toString('base64');

let services: CustomerServices;
let store: ObjectStore;

beforeEach(async () => {
  services = await startCustomerServices();
  store = openSqliteObjectStore({ path: ':memory:' });
  for (const [name, value] of Object.entries(services.environment)) vi.stubEnv(name, value);
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.UTC(2026, 0, 1) });
});
afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  await services[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** Begins a tenant under a key. */
async function begin(tenant: string, rootKey: string): Promise<void> {
  await using memory = await openMemory({ store, tenant, rootKey, logger: silentLogger });
  await memory.files.write(PATH, `Words of ${tenant}.`);
}

const poolOf = (...rootKey: readonly string[]): MemoryPool =>
  createMemoryPool({ store, rootKey, logger: silentLogger });

/** The deeds that are tried for a tenant; each of them throws where it is refused. */
const DEEDS: Readonly<Record<string, (pool: MemoryPool, tenant: string) => Promise<unknown>>> = {
  open: (pool, tenant) => pool.open(tenant),
  read: async (pool, tenant) => (await pool.open(tenant)).files.read(PATH),
  write: async (pool, tenant) => (await pool.open(tenant)).files.write(`/memories/${tenant}.md`, 'more'),
  list: async (pool, tenant) => (await pool.open(tenant)).files.stat('/memories/'),
};
const NAMES = Object.keys(DEEDS);

/** The code of what became of a deed; `ok` for a success. */
async function outcome(pool: MemoryPool, name: string, tenant: string): Promise<string> {
  try {
    await DEEDS[name]?.(pool, tenant);
    return 'ok';
  } catch (error) {
    return error instanceof MemoryError ? error.code : String(error);
  }
}

const pass = (ms: number): void => void vi.advanceTimersByTime(ms);

describe.each(KEY_KINDS)('a customer with a key in %s', (kind) => {
  let his: CustomerKey;
  let hers: CustomerKey;
  let pool: MemoryPool;
  beforeEach(async () => {
    [his, hers] = [await services.createKey(kind), await services.createKey('KMS, disabled')];
    await begin('acme', his.rootKey);
    await begin('globex', hers.rootKey);
    await begin('initech', OURS);
    pool = poolOf(OURS, his.rootKey, hers.rootKey);
  });
  afterEach(() => pool.close());

  const all = async (tenant: string, from = pool): Promise<readonly string[]> => {
    const outcomes: string[] = [];
    for (const name of NAMES) outcomes.push(await outcome(from, name, tenant));
    return outcomes;
  };
  const ok = NAMES.map(() => 'ok');

  it('takes it away: all is refused within a time to live, others go on, and with the key he does too', async () => {
    for (const tenant of ['acme', 'globex', 'initech']) expect(await all(tenant)).toEqual(ok);
    await his.disable();
    const [code = ''] = his.refusedAs;
    const refused = NAMES.map(() => code);
    const other = poolOf(OURS, his.rootKey, hers.rootKey);
    expect(await all('acme', other)).toEqual(refused);
    await other.close();
    pass(TTL_MS - 1);
    expect(await all('globex')).toEqual(ok);
    pass(1);
    expect(await all('acme')).toEqual(refused);
    const [hisUses, herUses] = [his.uses(), hers.uses()];
    for (let minute = 0; minute < 30; minute++) {
      pass(60_000);
      expect(await all('acme')).toEqual(refused);
      for (const tenant of ['globex', 'initech']) expect(await all(tenant)).toEqual(ok);
    }
    expect(his.uses() - hisUses).toBeLessThanOrEqual(30);
    expect(hers.uses() - herUses).toBeLessThanOrEqual(30);
    await his.enable();
    pass(REMEMBERED_MS);
    expect(await all('acme')).toEqual(ok);
    const memory = await pool.open('acme');
    expect((await memory.files.read(PATH))?.text()).toBe('Words of acme.');
  });

  it('is told within his time to live, and what was held of his is overwritten', async () => {
    const { keys } = openRootKeys([his.rootKey]);
    const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
    const cache = createKeyringCache({ store, layout, rootKeys: keys });
    const loaded = await cache.load();
    const held = loaded?.keys.active.wrapKey;
    expect(held?.some((byte) => byte !== 0)).toBe(true);
    await his.disable();
    pass(TTL_MS);
    await expect(cache.load()).rejects.toMatchObject({ code: his.refusedAs[0] });
    expect(held).toEqual(new Uint8Array(held?.length ?? 0));
    expect(() => loaded?.keys.active).toThrow(expect.objectContaining({ code: his.refusedAs[0] }));
    cache.close();
  });

  const attempts = amount({ usual: 200, thorough: 3_334 });

  it(`is obeyed in all of ${attempts} attempts at random times`, { timeout: 600_000 }, async () => {
    const draw = drawsOf(`a customer leaves ${kind}`);
    let late = 0;
    const found = new Map<string, number>();
    while (late < attempts) {
      pass(REMEMBERED_MS);
      const round = poolOf(his.rootKey, hers.rootKey, OURS);
      const disabledAfter = draw() * 2 * TTL_MS;
      const began = Date.now();
      let disabledAt = Number.POSITIVE_INFINITY;
      for (const at of Array.from({ length: 40 }, () => draw() * 5 * TTL_MS).sort((a, b) => a - b)) {
        if (at >= disabledAfter && disabledAt === Number.POSITIVE_INFINITY) {
          pass(Math.max(0, began + disabledAfter - Date.now()));
          await his.disable();
          disabledAt = Date.now();
        }
        pass(Math.max(0, began + at - Date.now()));
        const name = NAMES[Math.floor(draw() * NAMES.length)] ?? 'read';
        const isNew = draw() < 0.2;
        const from = isNew ? poolOf(his.rootKey) : round;
        const attemptedAt = Date.now();
        const said = await outcome(from, name, 'acme');
        if (isNew) await from.close();
        const isLate = isNew ? attemptedAt >= disabledAt : attemptedAt >= disabledAt + TTL_MS;
        if (isLate) late++;
        const allowed = isLate ? his.refusedAs : ['ok', ...(attemptedAt < disabledAt ? [] : his.refusedAs)];
        const verdict = allowed.includes(said)
          ? 'as allowed'
          : `${said} ${attemptedAt - disabledAt} ms later`;
        found.set(verdict, (found.get(verdict) ?? 0) + 1);
        if (draw() < 0.1) expect(await outcome(round, name, 'globex')).toBe('ok');
      }
      await his.enable();
      await round.close();
    }
    expect([...found.keys()]).toEqual(['as allowed']);
  });
});
