import { expect, it } from 'vitest';
import { createReceipts, type Receipts, type TurnClaim } from '../../../../src/worker/leases/receipts.ts';
import { MAX_ANSWER_BYTES, type TurnLease } from '../../../../src/worker/leases/turn-lease.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import {
  bytes,
  createSite,
  describeOnBothKinds,
  type TestClient,
  type TestSite,
} from '../../../stage/test-tree.ts';

const LEASE = { leaseMs: 120_000, message: 'hello' };
const LARGE = bytes('ß'.repeat(100_000));

interface Worker extends Receipts {
  readonly client: TestClient;
}

async function worker(site: TestSite): Promise<Worker> {
  const client = await site.client();
  const receipts = createReceipts((await client.open()).tenant);
  client.calls.length = 0;
  return { ...receipts, client };
}

function ours(claim: TurnClaim): { readonly lease: TurnLease; readonly progress: Uint8Array | undefined } {
  if (claim.state !== 'ours') throw new Error(`the turn is ${claim.state}`);
  return claim;
}

const puts = ({ client }: Worker): number => client.calls.filter(({ verb }) => verb === 'put').length;

describeOnBothKinds('what is saved of a turn', (newSite) => {
  it('costs one request, and is there after a release and after a lease that ran out', async () => {
    const site = await newSite();
    const [first, second, third] = [await worker(site), await worker(site), await worker(site)];
    const begun = ours(await first.claim('turn', LEASE));
    expect(begun.progress).toBeUndefined();
    expect(await begun.lease.save(bytes('{"step":1}'))).toBe(true);
    expect(await begun.lease.save(bytes('{"step":2}'))).toBe(true);
    expect(puts(first)).toBe(3);
    await begun.lease.release();
    const next = ours(await second.claim('turn', LEASE));
    expect(next.progress).toEqual(bytes('{"step":2}'));
    // This one ends without a step of its own.
    await site.time.pause(LEASE.leaseMs + 1);
    expect(ours(await third.claim('turn', LEASE)).progress).toEqual(bytes('{"step":2}'));
  });

  it('lies in a record of its own where it is large, which only its owner writes', async () => {
    const site = await newSite();
    const [first, second, third] = [await worker(site), await worker(site), await worker(site)];
    const begun = ours(await first.claim('turn', LEASE));
    await begun.lease.save(LARGE);
    await begun.lease.save(new Uint8Array(LARGE).fill(120));
    expect(puts(first)).toBe(5);
    await begun.lease.release();
    const next = ours(await second.claim('turn', LEASE));
    expect(next.progress).toEqual(new Uint8Array(LARGE).fill(120));
    await next.lease.save(bytes('small again'));
    await next.lease.release();
    expect(ours(await third.claim('turn', LEASE)).progress).toEqual(bytes('small again'));
  });

  it('is that of the owner, whatever a worker saves late that had the turn before', async () => {
    const site = await newSite();
    const [first, second, third] = [await worker(site), await worker(site), await worker(site)];
    const late = ours(await first.claim('turn', LEASE));
    await late.lease.save(LARGE);
    await site.time.pause(LEASE.leaseMs + 1);
    const next = ours(await second.claim('turn', LEASE));
    const progress = new Uint8Array(LARGE).fill(120);
    expect(await next.lease.save(progress)).toBe(true);
    expect(await late.lease.save(LARGE)).toBe(false);
    await next.lease.release();
    const kept = ours(await third.claim('turn', LEASE)).progress;
    // Not the bytes: a difference between two large ones takes minutes to print.
    expect([kept?.length, kept?.[0]]).toEqual([progress.length, 120]);
  });

  it('is not kept where it is larger than an answer may be, and the turn goes on', async () => {
    const site = await newSite();
    const first = await worker(site);
    const { lease } = ours(await first.claim('turn', LEASE));
    await lease.save(bytes('small'));
    expect(await lease.save(new Uint8Array(MAX_ANSWER_BYTES + 1))).toBe(true);
    expect(puts(first)).toBe(2);
    await lease.release();
    expect(ours(await (await worker(site)).claim('turn', LEASE)).progress).toEqual(bytes('small'));
  });

  it.each([bytes('small'), LARGE])(
    'is not taken from a worker that was frozen beyond its lease',
    async (late) => {
      const site = await newSite();
      const [frozen, next, third] = [await worker(site), await worker(site), await worker(site)];
      const old = ours(await frozen.claim('turn', LEASE));
      await old.lease.save(bytes('old'));
      await site.time.pause(LEASE.leaseMs + 1);
      const taken = ours(await next.claim('turn', LEASE));
      expect(taken.progress).toEqual(bytes('old'));
      await taken.lease.save(bytes('new'));
      expect(await old.lease.save(late)).toBe(false);
      await old.lease.release();
      expect((await third.claim('turn', LEASE)).state).toBe('running');
      await site.time.pause(LEASE.leaseMs + 1);
      expect(ours(await third.claim('turn', LEASE)).progress).toEqual(bytes('new'));
    },
  );

  it.each([bytes('small'), LARGE])(
    'is found under the new key when the old one is retired meanwhile',
    async (saved) => {
      const site = await newSite();
      const first = await worker(site);
      const { lease } = ours(await first.claim('turn', { ...LEASE, leaseMs: 2_000_000 }));
      await lease.save(saved);
      const operator = await createOperator(site);
      await operator.rotate();
      // Past what a migration leaves alone: its owner still holds the receipt, and saves over what was bound again.
      await site.time.pause(1_000_000);
      await operator.migrate();
      await site.time.pause(1_000_000);
      await operator.migrate();
      expect(await operator.versions()).toEqual([2]);
      const twice = new Uint8Array([...saved.slice(0, -1), 33]);
      expect(await lease.save(twice)).toBe(true);
      await lease.release();
      expect(ours(await (await worker(site)).claim('turn', LEASE)).progress).toEqual(twice);
    },
  );

  it('is gone with the turn when that is finished', async () => {
    const site = await newSite();
    const first = await worker(site);
    const { lease } = ours(await first.claim('turn', LEASE));
    await lease.save(bytes('small'));
    await lease.finish(bytes('answer'));
    expect(await first.claim('turn', LEASE)).toEqual({ state: 'answered', answer: bytes('answer') });
  });

  it('begins again where its record was removed', async () => {
    const site = await newSite();
    const first = await worker(site);
    const { lease } = ours(await first.claim('turn', LEASE));
    await lease.save(LARGE);
    await lease.release();
    const keys: string[] = [];
    for await (const { objects } of site.base.list({ prefix: 'tenants/acme/receipts/' })) {
      keys.push(...objects.map(({ key }) => key));
      const beside = objects.filter(({ size }) => size > LARGE.length);
      await site.base.delete(beside.map(({ key, etag }) => ({ key, ifMatch: etag })));
    }
    expect(keys).toHaveLength(2);
    expect(ours(await (await worker(site)).claim('turn', LEASE)).progress).toBeUndefined();
  });
});

it('a turn is refused under a name that was used for another message, whatever its state', async () => {
  const site = await createSite();
  const [first, second] = [await worker(site), await worker(site)];
  const other = { ...LEASE, message: 'another' };
  const { lease } = ours(await first.claim('turn', LEASE));
  expect(await second.claim('turn', other)).toEqual({ state: 'other_message' });
  await lease.release();
  expect(await second.claim('turn', other)).toEqual({ state: 'other_message' });
  const again = ours(await second.claim('turn', LEASE));
  await again.lease.finish(bytes('answer'));
  expect(await first.claim('turn', other)).toEqual({ state: 'other_message' });
  expect(await first.claim('turn', LEASE)).toMatchObject({ state: 'answered' });
});
