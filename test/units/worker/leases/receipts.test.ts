import { describe, expect, it } from 'vitest';
import { classKey } from '../../../../src/format/object-keys.ts';
import { createReceipts, type Receipts, type TurnClaim } from '../../../../src/worker/leases/receipts.ts';
import type { TurnLease } from '../../../../src/worker/leases/turn-lease.ts';
import { bytes, createSite, describeOnBothKinds, type TestSite } from '../../../stage/test-tree.ts';

const LEASE = { leaseMs: 120_000, message: 'hello' };

async function worker(site: TestSite): Promise<Receipts & { readonly requests: () => number }> {
  const client = await site.client();
  const context = await client.open();
  client.calls.length = 0;
  return { ...createReceipts(context.tenant), requests: () => client.calls.length };
}

function leaseOf(claim: TurnClaim): TurnLease {
  if (claim.state !== 'ours') throw new Error(`the turn is ${claim.state}`);
  return claim.lease;
}

describeOnBothKinds('receipts', (newSite) => {
  it('give a fresh turn to the first delivery, at the price of one PUT', async () => {
    const first = await worker(await newSite());
    const claim = await first.claim('turn-1', LEASE);
    expect(claim.state).toBe('ours');
    expect(first.requests()).toBe(1);
  });

  it('tell a second delivery how long the turn is taken at most', async () => {
    const site = await newSite();
    const [first, second] = [await worker(site), await worker(site)];
    await first.claim('turn-1', LEASE);
    await site.time.pause(30_000);
    expect(await second.claim('turn-1', LEASE)).toEqual({ state: 'running', freeInMs: 90_000 });
  });

  it('give the stored answer to every delivery after the turn was finished', async () => {
    const site = await newSite();
    const [first, second] = [await worker(site), await worker(site)];
    const lease = leaseOf(await first.claim('turn-1', LEASE));
    expect(await lease.finish(bytes('forty-two'))).toEqual(bytes('forty-two'));
    for (const later of [first, second]) {
      expect(await later.claim('turn-1', LEASE)).toEqual({ state: 'answered', answer: bytes('forty-two') });
    }
  });

  it('show the answer of a finished turn to every caller, and nothing before', async () => {
    const site = await newSite();
    const [first, second] = [await worker(site), await worker(site)];
    expect(await second.answer('turn-1')).toBeUndefined();
    const lease = leaseOf(await first.claim('turn-1', LEASE));
    expect(await second.answer('turn-1')).toBeUndefined();
    await lease.finish(bytes('forty-two'));
    expect(await second.answer('turn-1')).toEqual(bytes('forty-two'));
    expect(second.requests()).toBe(4);
  });

  it('let exactly one of many deliveries at once run the turn', async () => {
    const site = await newSite();
    const workers = await Promise.all(Array.from({ length: 8 }, () => worker(site)));
    const claims = await Promise.all(workers.map((each) => each.claim('turn-1', LEASE)));
    expect(claims.filter(({ state }) => state === 'ours')).toHaveLength(1);
    expect(claims.filter(({ state }) => state === 'running')).toHaveLength(7);
  });

  it('let a delivery take over when the lease has run out, and refuse the late one', async () => {
    const site = await newSite();
    const [first, second] = [await worker(site), await worker(site)];
    const late = leaseOf(await first.claim('turn-1', LEASE));
    await site.time.pause(LEASE.leaseMs + 1);
    const lease = leaseOf(await second.claim('turn-1', LEASE));
    expect(await lease.finish(bytes('second'))).toEqual(bytes('second'));
    expect(await late.finish(bytes('first'))).toBeUndefined();
    expect(await first.claim('turn-1', LEASE)).toEqual({ state: 'answered', answer: bytes('second') });
  });

  it('keep to the answer of the late one where that was stored first', async () => {
    const site = await newSite();
    const [first, second] = [await worker(site), await worker(site)];
    const late = leaseOf(await first.claim('turn-1', LEASE));
    await site.time.pause(LEASE.leaseMs + 1);
    const lease = leaseOf(await second.claim('turn-1', LEASE));
    expect(await late.finish(bytes('first'))).toBeUndefined();
    expect(await lease.finish(bytes('second'))).toEqual(bytes('first'));
    expect(await first.claim('turn-1', LEASE)).toEqual({ state: 'answered', answer: bytes('first') });
  });

  it('give a released turn to the next delivery at once', async () => {
    const site = await newSite();
    const [first, second] = [await worker(site), await worker(site)];
    await leaseOf(await first.claim('turn-1', LEASE)).release();
    expect((await second.claim('turn-1', LEASE)).state).toBe('ours');
  });

  it('count the claims of a turn, until one came further or its release says another number', async () => {
    const site = await newSite();
    const one = await worker(site);
    const claim = async (): Promise<TurnLease> => leaseOf(await one.claim('turn-1', LEASE));
    expect((await claim()).attempts).toBe(1);
    await site.time.pause(LEASE.leaseMs + 1);
    const second = await claim();
    expect(second.attempts).toBe(2);
    await second.release({ attempts: 7 });
    const third = await claim();
    expect(third.attempts).toBe(8);
    await third.save(bytes('{}'));
    expect(third.attempts).toBe(0);
    await site.time.pause(LEASE.leaseMs + 1);
    const fourth = await claim();
    expect(fourth.attempts).toBe(1);
    await fourth.release();
    expect((await claim()).attempts).toBe(1);
  });

  it('keep turns of one name in two tenants apart', async () => {
    const site = await newSite();
    const other = createReceipts((await (await site.client({ tenant: 'other' })).open()).tenant);
    const lease = leaseOf(await (await worker(site)).claim('turn-1', LEASE));
    await lease.finish(bytes('mine'));
    expect((await other.claim('turn-1', LEASE)).state).toBe('ours');
  });
});

describe('receipts', () => {
  it('find the answer of a process that died before it closed the receipt, and run nothing again', async () => {
    const site = await createSite();
    const client = await site.client();
    const dying = createReceipts((await client.open()).tenant);
    const lease = leaseOf(await dying.claim('turn-1', LEASE));
    client.intercept((call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/receipts/')) return new Promise(() => {});
      return proceed();
    });
    void lease.finish(bytes('stored'));
    await site.time.pause(LEASE.leaseMs + 1);
    const next = await worker(site);
    expect(await next.claim('turn-1', LEASE)).toEqual({ state: 'answered', answer: bytes('stored') });
    expect(await next.claim('turn-1', LEASE)).toEqual({ state: 'answered', answer: bytes('stored') });
  });

  it('are finished by their owner though a migration has written them again meanwhile', async () => {
    const site = await createSite();
    const client = await site.client();
    const work = await client.open();
    const receipts = createReceipts(work.tenant);
    const lease = leaseOf(await receipts.claim('turn-1', LEASE));
    const { names, keys } = work.keyring;
    const id = names.keyedHash('receipts', 'turn-1');
    const key = classKey(work.tenant.layout, 'receipts', id);
    const { rebind } = await import('../../../../src/format/object.ts');
    const { classLogicalName } = await import('../../../../src/format/object-keys.ts');
    const stored = await work.tenant.store.get(key);
    if (typeof stored !== 'object') throw new Error('there is no receipt');
    const name = classLogicalName('receipts', id);
    const rebound = rebind({
      keys,
      object: stored.body,
      from: name,
      to: name,
      clock: work.tenant.clock(),
      random: work.tenant.random,
    });
    await work.tenant.store.put(key, rebound, { mode: { ifMatch: stored.etag } });
    expect(await lease.finish(bytes('done'))).toEqual(bytes('done'));
  });

  it('do not show the name of a turn in the store', async () => {
    const site = await createSite();
    const receipts = await worker(site);
    await leaseOf(await receipts.claim('secret-turn-name', LEASE)).finish(bytes('x'));
    const keys: string[] = [];
    for await (const page of site.base.list({ prefix: '' })) keys.push(...page.objects.map(({ key }) => key));
    expect(keys.filter((key) => key.includes('/receipts/') || key.includes('/answers/'))).toHaveLength(2);
    expect(keys.join()).not.toContain('secret-turn-name');
  });

  it.each(['', 'x'.repeat(257)])('refuse a turn without a name or with too long a one', async (turn) => {
    const receipts = await worker(await createSite());
    await expect(receipts.claim(turn, LEASE)).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('refuse an answer that is too large to be read again', async () => {
    const receipts = await worker(await createSite());
    const lease = leaseOf(await receipts.claim('turn-1', LEASE));
    await expect(lease.finish(new Uint8Array(8_388_609))).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});
