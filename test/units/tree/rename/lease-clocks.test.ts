import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { type RenameLease, takeLease } from '../../../../src/tree/rename/lease.ts';
import { LEASE_MS, readRegister } from '../../../../src/tree/rename/register.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { countCalls, type StoreCall } from '../../../stage/store-wrappers.ts';
import { at, createSite, type TestClient, type TestSite, withTenant } from '../../../stage/test-tree.ts';

const RENAME = { from: at('/memories/a'), to: at('/memories/b'), id: new Uint8Array(16).fill(5) };
const KEY = 'tenants/acme/data/x' as ObjectKey;

describe('the clocks of a lease', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(): Promise<{ client: TestClient; work: Work }> {
    site = await createSite();
    const client = await site.client();
    return { client, work: await client.open() };
  }
  const take = async (
    work: Work,
    request: Partial<Parameters<typeof takeLease>[1]> = {},
  ): Promise<RenameLease> => {
    const lease = await takeLease(work, { rename: RENAME, phase: 'copying', base: undefined, ...request });
    if (lease === 'overtaken') throw new Error('the register was taken');
    return lease;
  };
  const renewals = async (client: TestClient, lease: RenameLease): Promise<number> => {
    client.calls.length = 0;
    await lease.work.tenant.store.head(KEY);
    return countCalls(client.calls)['put'] ?? 0;
  };

  it('leave ten seconds to it, of which the owner uses three', async () => {
    expect(LEASE_MS).toBe(10_000);
    const { client, work } = await start();
    const lease = await take(work);
    await work.tenant.pause(2_999);
    expect(await renewals(client, lease)).toBe(0);
    await work.tenant.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('count from the sending of what took it, not from the answer', async () => {
    const { client, work } = await start();
    client.intercept(slowly('put'));
    const lease = await take(work);
    client.intercept((_, proceed) => proceed());
    await work.tenant.pause(999);
    expect(await renewals(client, lease)).toBe(0);
    await work.tenant.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('count from the sending of what renewed it, not from the answer', async () => {
    const { client, work } = await start();
    const lease = await take(work);
    await work.tenant.pause(3_000);
    client.intercept(slowly('put'));
    expect(await renewals(client, lease)).toBe(1);
    client.intercept((_, proceed) => proceed());
    await work.tenant.pause(999);
    expect(await renewals(client, lease)).toBe(0);
    await work.tenant.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('count from the sending of what entered a phase', async () => {
    const { client, work } = await start();
    const lease = await take(work);
    await work.tenant.pause(2_000);
    await lease.enter('moving');
    await work.tenant.pause(2_999);
    expect(await renewals(client, lease)).toBe(0);
    await work.tenant.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('are the one that ran faster: the wall clock was set back, or the monotonic one stood still', async () => {
    for (const frozen of ['clock', 'monotonic'] as const) {
      const { client, work } = await start();
      let setBack = 0;
      const clocks = { [frozen]: () => site.time.clock() - setBack };
      const lease = await take(withTenant(work, clocks));
      setBack = 3_600_000;
      await work.tenant.pause(2_999);
      expect(await renewals(client, lease)).toBe(0);
      await work.tenant.pause(1);
      expect(await renewals(client, lease)).toBe(1);
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('bound a PUT from the last write of the register on, not from when it was asked for', async () => {
    for (const [waitMs, sent] of [
      [2_099, 1],
      [2_100, 3],
    ] as const) {
      const { client, work } = await start();
      const lease = await take(work);
      await work.tenant.pause(2_900);
      let waits = 1;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'put' && call.key === KEY && waits-- > 0) await work.tenant.pause(waitMs);
        return proceed();
      });
      client.calls.length = 0;
      await lease.work.tenant.store.put(KEY, new Uint8Array(200), { mode: 'create' });
      // The requests that came too late, the register's, and those that are sent.
      expect(countCalls(client.calls)).toEqual({ put: sent });
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('are looked at again when a renewal took so long that the next one is due', async () => {
    const { client, work } = await start();
    const lease = await take(work);
    await work.tenant.pause(3_000);
    let slow = 1;
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'put' && slow-- > 0) await work.tenant.pause(3_000);
      return answer;
    });
    expect(await renewals(client, lease)).toBe(2);
  });

  it('do not let a request pass that began while a renewal is on its way', async () => {
    const { client, work } = await start();
    const lease = await take(work);
    client.calls.length = 0;
    client.intercept(slowly('put'));
    await Promise.all([lease.enter('moving'), lease.work.tenant.store.head(KEY)]);
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put', 'head']);
  });

  it.each(['copying', 'moving', 'aborting'] as const)('let a renewal keep the phase %s', async (phase) => {
    const { client, work } = await start();
    const lease = await take(work, { phase: phase === 'copying' ? phase : 'copying' });
    if (phase !== 'copying') await lease.enter(phase);
    await work.tenant.pause(3_000);
    expect(await renewals(client, lease)).toBe(1);
    expect(await readRegister(work)).toMatchObject({ entry: { ...RENAME, phase } });
  });

  it('let a takeover keep the phase it was given', async () => {
    const { client, work } = await start();
    const lease = await take(work, { phase: 'moving' });
    expect(await readRegister(work)).toMatchObject({ entry: { phase: 'moving' } });
    await work.tenant.pause(3_000);
    expect(await renewals(client, lease)).toBe(1);
    expect(await readRegister(work)).toMatchObject({ entry: { phase: 'moving' } });
  });

  function slowly(verb: StoreCall['verb']) {
    return async <T>(call: StoreCall, proceed: () => Promise<T>): Promise<T> => {
      const answer = await proceed();
      if (call.verb === verb) await site.time.pause(2_000);
      return answer;
    };
  }
});
