import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { LEASE_MS, type LeaseRequest, type RenameLease, takeLease } from '../../../src/tree/rename/lease.ts';
import { readRegister } from '../../../src/tree/rename/register.ts';
import type { OpenVault } from '../../../src/tree/session.ts';
import { countCalls, type StoreCall } from '../../doubles/intercepted-store.ts';
import { at, createSite, type TestClient, type TestSite } from '../../support/test-vault.ts';

const RENAME = { from: at('/memories/a'), to: at('/memories/b'), id: new Uint8Array(16).fill(5) };
const KEY = 'tenants/acme/data/x' as ObjectKey;

describe('the clocks of a lease', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(): Promise<{ client: TestClient; vault: OpenVault }> {
    site = await createSite();
    const client = await site.client();
    return { client, vault: await client.open() };
  }
  const take = async (vault: OpenVault, request: Partial<LeaseRequest> = {}): Promise<RenameLease> => {
    const lease = await takeLease(vault, { rename: RENAME, phase: 'copying', base: undefined, ...request });
    if (lease === undefined) throw new Error('the register was taken');
    return lease;
  };
  const renewals = async (client: TestClient, lease: RenameLease): Promise<number> => {
    client.calls.length = 0;
    await lease.vault.store.head(KEY);
    return countCalls(client.calls)['put'] ?? 0;
  };

  it('leave ten seconds to it, of which the owner uses three', async () => {
    expect(LEASE_MS).toBe(10_000);
    const { client, vault } = await start();
    const lease = await take(vault);
    await vault.pause(2_999);
    expect(await renewals(client, lease)).toBe(0);
    await vault.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('count from the sending of what took it, not from the answer', async () => {
    const { client, vault } = await start();
    client.intercept(slowly('put'));
    const lease = await take(vault);
    client.intercept((_, proceed) => proceed());
    await vault.pause(999);
    expect(await renewals(client, lease)).toBe(0);
    await vault.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('count from the sending of what renewed it, not from the answer', async () => {
    const { client, vault } = await start();
    const lease = await take(vault);
    await vault.pause(3_000);
    client.intercept(slowly('put'));
    expect(await renewals(client, lease)).toBe(1);
    client.intercept((_, proceed) => proceed());
    await vault.pause(999);
    expect(await renewals(client, lease)).toBe(0);
    await vault.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('count from the sending of what entered a phase', async () => {
    const { client, vault } = await start();
    const lease = await take(vault);
    await vault.pause(2_000);
    await lease.enter('moving');
    await vault.pause(2_999);
    expect(await renewals(client, lease)).toBe(0);
    await vault.pause(1);
    expect(await renewals(client, lease)).toBe(1);
  });

  it('are the one that ran faster: the wall clock was set back, or the monotonic one stood still', async () => {
    for (const frozen of ['clock', 'monotonic'] as const) {
      const { client, vault } = await start();
      let setBack = 0;
      const clocks = { [frozen]: () => site.time.clock() - setBack };
      const lease = await take({ ...vault, ...clocks });
      setBack = 3_600_000;
      await vault.pause(2_999);
      expect(await renewals(client, lease)).toBe(0);
      await vault.pause(1);
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
      const { client, vault } = await start();
      const lease = await take(vault);
      await vault.pause(2_900);
      let waits = 1;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'put' && call.key === KEY && waits-- > 0) await vault.pause(waitMs);
        return proceed();
      });
      client.calls.length = 0;
      await lease.vault.store.put(KEY, new Uint8Array(200), { mode: 'create' });
      // What came too late, the register, and what is sent.
      expect(countCalls(client.calls)).toEqual({ put: sent });
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('are looked at again when a renewal took so long that the next one is due', async () => {
    const { client, vault } = await start();
    const lease = await take(vault);
    await vault.pause(3_000);
    let slow = 1;
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'put' && slow-- > 0) await vault.pause(3_000);
      return answer;
    });
    expect(await renewals(client, lease)).toBe(2);
  });

  it('do not let a request pass that began while a renewal is on its way', async () => {
    const { client, vault } = await start();
    const lease = await take(vault);
    client.calls.length = 0;
    client.intercept(slowly('put'));
    await Promise.all([lease.enter('moving'), lease.vault.store.head(KEY)]);
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put', 'head']);
  });

  it.each(['copying', 'moving', 'aborting'] as const)('let a renewal keep the phase %s', async (phase) => {
    const { client, vault } = await start();
    const lease = await take(vault, { phase: phase === 'copying' ? phase : 'copying' });
    if (phase !== 'copying') await lease.enter(phase);
    await vault.pause(3_000);
    expect(await renewals(client, lease)).toBe(1);
    expect(await readRegister(vault)).toMatchObject({ entry: { ...RENAME, phase } });
  });

  it('let a takeover keep the phase it was given', async () => {
    const { client, vault } = await start();
    const lease = await take(vault, { phase: 'moving' });
    expect(await readRegister(vault)).toMatchObject({ entry: { phase: 'moving' } });
    await vault.pause(3_000);
    expect(await renewals(client, lease)).toBe(1);
    expect(await readRegister(vault)).toMatchObject({ entry: { phase: 'moving' } });
  });

  function slowly(verb: StoreCall['verb']) {
    return async <T>(call: StoreCall, proceed: () => Promise<T>): Promise<T> => {
      const answer = await proceed();
      if (call.verb === verb) await site.time.pause(2_000);
      return answer;
    };
  }
});
