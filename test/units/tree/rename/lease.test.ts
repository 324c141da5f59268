import { expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { isTooLate } from '../../../../src/store/port.ts';
import { type RenameLease, takeLease } from '../../../../src/tree/rename/lease.ts';
import { LEASE_MS, readRegister } from '../../../../src/tree/rename/register.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, withTenant } from '../../../stage/test-tree.ts';

const RENAME = { from: at('/memories/a'), to: at('/memories/b'), id: new Uint8Array(16).fill(5) };
const KEY = 'tenants/acme/data/x' as ObjectKey;

describeOnBothKinds('the lease of a rename', (newSite) => {
  async function take(): Promise<{ client: TestClient; work: Work; lease: RenameLease }> {
    const client = await (await newSite()).client();
    const work = await client.open();
    const lease = await takeLease(work, { rename: RENAME, phase: 'copying', base: undefined });
    if (lease === 'overtaken') throw new Error('the register was taken');
    client.calls.length = 0;
    return { client, work, lease };
  }

  /** Does what another process does once the lease has run out. */
  async function seize(work: Work): Promise<void> {
    await work.tenant.pause(LEASE_MS + 1);
    const { etag } = await readRegister(work);
    expect(await takeLease(work, { rename: RENAME, phase: 'moving', base: etag })).not.toBe('overtaken');
  }

  it('is given to one of two who ask', async () => {
    const work = await (await (await newSite()).client()).open();
    const request = { rename: RENAME, phase: 'copying', base: undefined } as const;
    const both = await Promise.all([takeLease(work, request), takeLease(work, request)]);
    expect(both.filter((lease) => lease !== 'overtaken')).toHaveLength(1);
  });

  it('costs nothing while it is young, and one PUT before the next request after 3 s', async () => {
    const { client, work, lease } = await take();
    await work.tenant.pause(2_999);
    await lease.work.tenant.store.head(KEY);
    expect(countCalls(client.calls)).toEqual({ head: 1 });
    await work.tenant.pause(1);
    await Promise.all([lease.work.tenant.store.head(KEY), lease.work.tenant.store.head(KEY)]);
    expect(countCalls(client.calls)).toEqual({ head: 3, put: 1 });
    expect(client.calls.map(({ verb }) => verb)).toEqual(['head', 'put', 'head', 'head']);
    await work.tenant.pause(2_999);
    await lease.work.tenant.store.head(KEY);
    expect(countCalls(client.calls)).toEqual({ head: 4, put: 1 });
  });

  it('is ended behind a renewal that is under way, not beside it', async () => {
    const { client, work, lease } = await take();
    await work.tenant.pause(3_000);
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') await work.tenant.pause(100);
      return proceed();
    });
    const asking = lease.work.tenant.store.head(KEY);
    await work.tenant.pause(50);
    await Promise.all([asking, lease.end()]);
    expect(await readRegister(work)).toMatchObject({ entry: undefined });
  });

  it('lets nothing through once another process has taken it over', async () => {
    const { client, work, lease } = await take();
    await seize(work);
    client.calls.length = 0;
    const { store } = lease.work.tenant;
    for (const request of [
      () => store.get(KEY),
      () => store.head(KEY),
      () => store.put(KEY, new Uint8Array(200), { mode: 'create' }),
      () => store.delete([{ key: KEY }]),
      () => store.list({ prefix: '' })[Symbol.asyncIterator]().next(),
      () => lease.finishing.tenant.store.head(KEY),
      () => lease.enter('aborting'),
      () => lease.end(),
    ]) {
      await expect(request()).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
    expect(client.calls.filter((call) => 'key' in call && call.key === KEY)).toEqual([]);
    expect(await readRegister(work)).toMatchObject({ entry: { phase: 'moving' } });
  });

  it('sends nothing that waited for half of it, but renews it and sends that again', async () => {
    const { client, work, lease } = await take();
    const waits = [4_999, 5_000, 4_999];
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'put' || call.key !== KEY) return proceed();
      await work.tenant.pause(waits.shift() ?? 0);
      return proceed();
    });
    const put = () => lease.work.tenant.store.put(KEY, new Uint8Array(300), { mode: 'overwrite' });
    await put();
    expect(countCalls(client.calls)).toEqual({ put: 1 });
    await work.tenant.pause(3_000);
    client.calls.length = 0;
    await put();
    // The register, what came too late, the register once more, and what is sent.
    expect(countCalls(client.calls)).toEqual({ put: 4 });
    expect(waits).toEqual([]);
  });

  it('ends for a PUT that comes too late each time it is held again', async () => {
    const { client, work, lease } = await take();
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key === KEY) await work.tenant.pause(6_000);
      return proceed();
    });
    const putting = lease.work.tenant.store.put(KEY, new Uint8Array(1), { mode: 'create' });
    await expect(putting).rejects.toSatisfy(isTooLate);
    expect(await work.tenant.store.head(KEY)).toBeUndefined();
  });

  it('lets nothing through that waited until another process had taken it over', async () => {
    const { client, work, lease } = await take();
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'put' || call.key !== KEY) return proceed();
      await seize(work);
      return proceed();
    });
    const put = lease.work.tenant.store.put(KEY, new Uint8Array(300), { mode: 'create' });
    await expect(put).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await work.tenant.store.head(KEY)).toBeUndefined();
  });

  it('keeps to the bound of what it is given, and leaves what is past that to its caller', async () => {
    const { client, lease } = await take();
    const sendBy = { isPast: () => true };
    const put = lease.work.tenant.store.put(KEY, new Uint8Array(300), { mode: 'create', sendBy });
    await expect(put).rejects.toSatisfy(isTooLate);
    expect(countCalls(client.calls)).toEqual({ put: 1 });
  });

  it('is looked at again between the batches of a delete', async () => {
    const { client, work, lease } = await take();
    const targets = Array.from({ length: 1_001 }, (_, i) => ({ key: `${KEY}${i}` as ObjectKey }));
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'delete') await seize(work);
      return answer;
    });
    await expect(lease.work.tenant.store.delete(targets)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(countCalls(client.calls)['delete']).toBe(1);
  });

  it('is looked at again between the pages of a listing', async () => {
    const { client, work, lease } = await take();
    for (const name of ['a', 'b', 'c']) {
      await work.tenant.store.put(`${KEY}${name}` as ObjectKey, new Uint8Array(200), { mode: 'create' });
    }
    client.calls.length = 0;
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'list') await seize(work);
      return answer;
    });
    const seen: string[] = [];
    const listing = (async () => {
      for await (const { objects } of lease.work.tenant.store.list({ prefix: KEY, maxKeys: 1 })) {
        seen.push(...objects.map(({ key }) => key));
      }
    })();
    await expect(listing).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(seen).toEqual([`${KEY}a`]);
    expect(countCalls(client.calls)['list']).toBe(1);
  });

  it('notices a freeze by the wall clock when the monotonic one stood still', async () => {
    const client = await (await newSite()).client();
    const work = withTenant(await client.open(), { monotonic: () => 0 });
    const lease = await takeLease(work, { rename: RENAME, phase: 'copying', base: undefined });
    if (lease === 'overtaken') throw new Error('the register was taken');
    await work.tenant.pause(5_000);
    client.calls.length = 0;
    await lease.work.tenant.store.head(KEY);
    expect(countCalls(client.calls)).toEqual({ put: 1, head: 1 });
  });

  it('ends with a register that says so', async () => {
    const { work, lease } = await take();
    await lease.enter('moving');
    expect(await readRegister(work)).toMatchObject({ entry: { phase: 'moving', ...RENAME } });
    const etag = await lease.end();
    expect(await readRegister(work)).toMatchObject({ entry: undefined, etag });
  });
});
