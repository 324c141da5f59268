import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { isTooLate } from '../../../../src/store/port.ts';
import { type RenameLease, takeLease } from '../../../../src/tree/rename/lease.ts';
import { readRegister } from '../../../../src/tree/rename/register.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { atFirst, countCalls, type NotedOptions, noteOptions } from '../../../stage/store-wrappers.ts';
import { at, createSite, type TestClient, type TestSite, withTenant } from '../../../stage/test-tree.ts';

const RENAME = { from: at('/memories/a'), to: at('/memories/b'), id: new Uint8Array(16).fill(5) };
const KEY = 'tenants/acme/data/x' as ObjectKey;

describe('the requests under a lease', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(signal?: AbortSignal): Promise<{
    client: TestClient;
    work: Work;
    lease: RenameLease;
    noted: NotedOptions[];
  }> {
    site = await createSite();
    const client = await site.client();
    const opened = await client.open(signal);
    const noted: NotedOptions[] = [];
    const work = withTenant(opened, { store: noteOptions(opened.tenant.store, noted) });
    const lease = await takeLease(work, { rename: RENAME, phase: 'copying', base: undefined });
    if (lease === 'overtaken') throw new Error('the register was taken');
    client.calls.length = 0;
    return { client, work, lease, noted };
  }

  it('are sent with the options of the one who sends them', async () => {
    const { lease, noted } = await start();
    const { signal } = new AbortController();
    const sendBy = { isPast: () => false };
    const { store } = lease.work.tenant;
    noted.length = 0;
    await store.get(KEY, { signal });
    await store.head(KEY, { signal });
    await store.put(KEY, new Uint8Array(200), { mode: 'create', signal, sendBy });
    await store.delete([{ key: KEY }], { signal, sendBy });
    for await (const _ of store.list({ prefix: KEY, signal }));
    expect(noted).toEqual([
      { verb: 'get', signal, sendBy: undefined },
      { verb: 'head', signal, sendBy: undefined },
      { verb: 'put', signal, sendBy: expect.anything() },
      { verb: 'delete', signal, sendBy },
      { verb: 'list', signal, sendBy: undefined },
    ]);
  });

  it('are not sent past the bound of the caller, whatever is left of the lease', async () => {
    const { client, lease } = await start();
    const sendBy = { isPast: () => true };
    const put = lease.work.tenant.store.put(KEY, new Uint8Array(200), { mode: 'create', sendBy });
    await expect(put).rejects.toSatisfy(isTooLate);
    expect(countCalls(client.calls)).toEqual({ put: 1 });
  });

  it('end with the caller, but for those that finish or take back, and for the register', async () => {
    const { signal } = new AbortController();
    const { lease, noted, work } = await start(signal);
    expect(lease.work.call.signal).toBe(signal);
    expect(lease.finishing.call.signal).toBeUndefined();
    await work.tenant.pause(3_000);
    await lease.work.tenant.store.head(KEY);
    await lease.enter('moving');
    await lease.end();
    const writes = noted.filter(({ verb }) => verb === 'put');
    expect(writes).toHaveLength(4);
    for (const write of writes) expect(write.signal).toBeUndefined();
  });

  it('are not sent any more once a write of the register has failed, although the register is ours', async () => {
    const { client, work, lease } = await start();
    client.intercept(atFirst('put', () => Promise.reject(new MemoryError('unavailable', 'down'))));
    await expect(lease.enter('moving')).rejects.toMatchObject({ code: 'unavailable' });
    client.calls.length = 0;
    for (const { tenant } of [lease.work, lease.finishing]) {
      await expect(tenant.store.head(KEY)).rejects.toMatchObject({ code: 'unavailable' });
    }
    await expect(lease.enter('aborting')).rejects.toMatchObject({ code: 'unavailable' });
    expect(client.calls).toEqual([]);
    expect(await readRegister(work)).toMatchObject({ entry: { phase: 'copying' } });
  });

  it('go in batches of a thousand when they delete, and answer for all of them', async () => {
    const { client, lease } = await start();
    const targets = Array.from({ length: 2_001 }, (_, i) => ({
      key: `${KEY}${i}` as ObjectKey,
      ifMatch: '"0"' as never,
    }));
    const failures = await lease.work.tenant.store.delete(targets);
    expect(failures.map(({ key }) => key)).toEqual(targets.map(({ key }) => key));
    const batches = client.calls.flatMap((call) => (call.verb === 'delete' ? [call.targets.length] : []));
    expect(batches).toEqual([1_000, 1_000, 1]);
  });

  it('follow one another when they write the register', async () => {
    const { client, work, lease } = await start();
    await Promise.all([lease.enter('moving'), lease.enter('aborting'), lease.enter('moving')]);
    expect(countCalls(client.calls)).toEqual({ put: 3 });
    expect(await readRegister(work)).toMatchObject({ entry: { phase: 'moving' } });
  });

  it('name an owner of their own at every taking', async () => {
    const { work, lease } = await start();
    const owners = new Set<string>();
    await lease.end();
    for (let i = 0; i < 3; i++) {
      const { etag } = await readRegister(work);
      const next = await takeLease(work, { rename: RENAME, phase: 'copying', base: etag });
      const owner = (await readRegister(work)).entry?.owner ?? '';
      expect(owner).toMatch(/^[\w-]{22}$/);
      owners.add(owner);
      if (next !== 'overtaken') await next.end();
    }
    expect(owners.size).toBe(3);
  });

  it('are not given where another process has taken the register first', async () => {
    const { work } = await start();
    for (const base of [undefined, '"older"' as never]) {
      expect(await takeLease(work, { rename: RENAME, phase: 'copying', base })).toBe('overtaken');
    }
  });
});
