import { describe, expect, it } from 'vitest';
import { migrateObjects } from '../../../../src/admin/keys/migrate.ts';
import { watchRenames } from '../../../../src/admin/keys/rename-watch.ts';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { Pause } from '../../../../src/time.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { createOperator, putRecord } from '../../../stage/key-operator.ts';
import { at, bytes, createSite, type TestClient } from '../../../stage/test-tree.ts';

const FILE = '/memories/a';

/** One file under version 1 of the tenant key, older than every bound, and a version 2 that is active. */
async function rotated() {
  const site = await createSite();
  const worker = await site.client({ ttlMs: 900_000 });
  await worker.create(FILE, 'text');
  await worker.append(FILE, '!');
  await site.time.pause(1_000_000);
  await worker.text(FILE);
  const operator = await createOperator(site, await site.client());
  await operator.rotate();
  return { site, worker, operator };
}

describe('a migration', () => {
  it('reckons with processes that keep their keyring for fifteen minutes, unless told otherwise', async () => {
    const { site, operator } = await rotated();
    const written = site.time.clock();
    const report = await operator.migrate({ ttlMs: undefined });
    expect(report).toMatchObject({ retireAfter: written + 1_800_000, retired: [] });
  });

  it('that may wait does not, where nothing is left to wait for', async () => {
    const site = await createSite();
    const worker = await site.client();
    await worker.create(FILE, 'text');
    await site.time.pause(60_001);
    const operator = await createOperator(site);
    const begun = site.time.clock();
    expect(await operator.migrate({ wait: true, ttlMs: 900_000 })).toMatchObject({ passes: 1, retired: [] });
    expect(site.time.clock()).toBe(begun);
  });

  it('ends after eight passes in a row that all met what others wrote', async () => {
    const { site, worker, operator } = await rotated();
    // Loaded ahead, the worker's keyring would be the new one after six of the eight passes.
    const { keyring } = worker.tenant.layout;
    const until = site.time.clock() + 900_000;
    worker.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key === keyring && site.time.clock() < until)
        throw new MemoryError('unavailable', 'away');
      return proceed();
    });
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list') await site.time.pause(60_001);
      if (call.verb === 'put' && call.key.includes('/data/')) await worker.append(FILE, '.');
      return proceed();
    });
    expect(await operator.migrate()).toMatchObject({ passes: 8, skipped: 8, retired: [] });
  });

  it('that encrypts again seals each object once in a run', async () => {
    const { site, operator } = await rotated();
    await putRecord(await operator.client.open(), 'receipts', 'young', bytes('{}'));
    let puts = 0;
    operator.client.intercept((call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/data/')) puts++;
      return proceed();
    });
    // It waits for the receipt, and by then the file is no longer young.
    await operator.migrate({ reencrypt: true, wait: true });
    expect(puts).toBe(1);
    expect(await (await site.client()).text(FILE)).toBe('text!');
  });

  it('keeps which version a file came after and who wrote it, and binds it later, by whatever clock', async () => {
    for (const reencrypt of [false, true]) {
      const { site } = await rotated();
      const before = await readFile(await (await site.client()).open(), at(FILE));
      const operator = await createOperator(site, await site.client({ clock: () => 1 }));
      await operator.migrate({ reencrypt });
      const after = await readFile(await (await site.client()).open(), at(FILE));
      expect([after?.previous, after?.writer]).toEqual([before?.previous, before?.writer]);
      expect(after?.bound).toBeGreaterThan(before?.bound ?? Number.POSITIVE_INFINITY);
    }
  });
});

describe('a migration that waits', () => {
  /** Which pauses it made; each takes `factor` times as long as it was asked for. */
  async function pauses(factor: number, ttlMs: number, prepare?: (client: TestClient) => Promise<void>) {
    const { site, worker, operator } = await rotated();
    await operator.migrate({ ttlMs: 900_000 });
    await prepare?.(worker);
    const { signal } = new AbortController();
    const asked: number[] = [];
    const pause: Pause = (ms, given) => {
      expect(given).toBe(signal);
      asked.push(ms);
      return site.time.pause(ms * factor);
    };
    const { tenant } = await operator.client.open();
    await migrateObjects({ ...tenant, pause }, { editor: operator.editor, ttlMs, wait: true, signal });
    return asked;
  }

  it('does it in pieces of thirty seconds, and a second longer than it must', async () => {
    expect(await pauses(1, 50_000)).toEqual([30_000, 30_000, 30_000, 11_000]);
  });

  it('looks at the clock after each of them', async () => {
    expect(await pauses(4, 50_000)).toEqual([30_000]);
  });

  it('looks every ten seconds at what others are at work with', async () => {
    const receipt = async (worker: TestClient): Promise<void> => {
      await putRecord(await worker.open(), 'receipts', 'in-use', bytes('{}'));
    };
    expect(await pauses(1, 0, receipt)).toEqual(Array.from({ length: 96 }, () => 10_000));
  });
});

describe('the watch over renames', () => {
  const RENAME = { from: '/memories/from', to: '/memories/to' };

  /** A directory whose renamer stands still with its copies made. */
  async function standing() {
    const site = await createSite();
    const renamer = await site.client();
    await renamer.create(`${RENAME.from}/a`, 'text');
    let dead = false;
    renamer.intercept((call, proceed) => {
      dead ||= call.verb === 'delete';
      return dead ? new Promise(() => {}) : proceed();
    });
    void renamer.rename(RENAME.from, RENAME.to);
    const client = await site.client();
    const work = await client.open();
    const watch = watchRenames();
    while (!(await watch.isUnderWay(work))) await site.time.pause(1);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    return { site, client, work };
  }

  it.each([
    [10_000, true],
    [10_001, false],
  ])('holds a lease for alive after %s ms: %s', async (ms, isAlive) => {
    const { site, work } = await standing();
    const age = async (): Promise<number> => {
      const found = await site.base.head('tenants/acme/journal/register' as ObjectKey);
      return found === undefined ? Number.NaN : site.time.clock() - found.lastModified;
    };
    await site.time.pause(ms - (await age()));
    expect(await watchRenames().isUnderWay(work)).toBe(isAlive);
  });

  it('looks again after a second, by the clock that never goes back', async () => {
    const { client, work } = await standing();
    let steady = 0;
    const clocks = { ...work, tenant: { ...work.tenant, monotonic: () => steady, clock: () => 0 } };
    const watch = watchRenames();
    client.calls.length = 0;
    for (const [now, looks] of [
      [0, 1],
      [999, 1],
      [1_000, 2],
      [1_999, 2],
      [2_000, 3],
    ] as const) {
      steady = now;
      expect(await watch.touches(clocks, at(`${RENAME.from}/a`))).toBe(true);
      expect(await watch.touches(clocks, at(`${RENAME.to}/a`))).toBe(true);
      expect(await watch.touches(clocks, at('/memories/beside'))).toBe(false);
      expect(client.calls).toHaveLength(looks);
    }
  });

  it('holds a register that cannot be opened for no rename', async () => {
    const { site, work } = await standing();
    await site.base.put('tenants/acme/journal/register' as ObjectKey, new Uint8Array(400), {
      mode: 'overwrite',
    });
    expect(await watchRenames().isUnderWay(work)).toBe(false);
  });
});
