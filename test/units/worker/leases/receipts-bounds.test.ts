import { describe, expect, it } from 'vitest';
import { classKey, createLayout, parseTenantId } from '../../../../src/format/object-keys.ts';
import { envRootKey } from '../../../../src/keys/env-root-key.ts';
import { createKeyringCache } from '../../../../src/keys/keyring-cache.ts';
import { decodeFields, encodeFields, readRecord } from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { createReceipts, type TurnClaim } from '../../../../src/worker/leases/receipts.ts';
import { MAX_ANSWER_BYTES, type TurnLease } from '../../../../src/worker/leases/turn-lease.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { bytes, createSite, TEST_ROOT_KEY, type TestSite } from '../../../stage/test-tree.ts';

const LEASE = { leaseMs: 120_000, message: 'hello' };
const RUNNING = { state: 'running', owner: 'somebody', leaseMs: 60_000, message: 'hash' };

function leaseOf(claim: TurnClaim): TurnLease {
  if (claim.state !== 'ours') throw new Error(`the turn is ${claim.state}`);
  return claim.lease;
}

async function process(site: TestSite) {
  const client = await site.client();
  const work: Work = await client.open();
  return { client, work, receipts: createReceipts(work.tenant) };
}

/** Answers what a receipt says of the message of `LEASE`. */
function messageOf({ keyring }: Work): string {
  return keyring.names.keyedHash('receipts', JSON.stringify(['message', LEASE.message]));
}

function receiptOf(work: Work, turn: string): string {
  return work.keyring.names.keyedHash('receipts', turn);
}

describe('the lease of a turn', () => {
  it.each([1, 60_000, 119_000, 119_999, 120_000])('holds %s ms after it was taken', async (ms) => {
    const site = await createSite();
    const [first, second] = [await process(site), await process(site)];
    await first.receipts.claim('turn', LEASE);
    await site.time.pause(ms);
    const claim = await second.receipts.claim('turn', LEASE);
    expect(claim).toEqual({ state: 'running', freeInMs: 120_000 - ms });
  });

  it('ends with the millisecond behind its last one', async () => {
    const site = await createSite();
    const [first, second] = [await process(site), await process(site)];
    await first.receipts.claim('turn', LEASE);
    await site.time.pause(LEASE.leaseMs + 1);
    expect((await second.receipts.claim('turn', LEASE)).state).toBe('ours');
  });

  it('is a whole number of milliseconds, never fewer than were asked for', async () => {
    const site = await createSite();
    const [first, second] = [await process(site), await process(site)];
    await first.receipts.claim('turn', { ...LEASE, leaseMs: 60_000.25 });
    expect(await second.receipts.claim('turn', LEASE)).toEqual({ state: 'running', freeInMs: 60_001 });
  });

  it('is not taken where others change the receipt at each of eight looks', async () => {
    const site = await createSite();
    const { client, work, receipts } = await process(site);
    const other = await process(site);
    let puts = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') {
        puts++;
        const free = encodeFields({ state: 'free', message: messageOf(work) });
        await putRecord(other.work, 'receipts', receiptOf(work, 'turn'), free);
      }
      return proceed();
    });
    await expect(receipts.claim('turn', LEASE)).rejects.toMatchObject({ code: 'unavailable' });
    expect(puts).toBe(8);
  });
});

describe('a receipt', () => {
  it('whose answer is gone is no reason to run the turn again', async () => {
    const site = await createSite();
    const { work, receipts } = await process(site);
    await leaseOf(await receipts.claim('turn', LEASE)).finish(bytes('answer'));
    const key = classKey(work.tenant.layout, 'answers', receiptOf(work, 'turn'));
    const stored = await site.base.head(key);
    if (stored === undefined) throw new Error('there is no answer');
    await site.base.delete([{ key, ifMatch: stored.etag }]);
    await expect(receipts.claim('turn', LEASE)).rejects.toMatchObject({ code: 'integrity' });
  });

  it.each([
    { state: 'done' },
    { ...RUNNING, message: 1 },
    { ...RUNNING, progress: {} },
    { ...RUNNING, progress: 'x' },
    { ...RUNNING, progress: { text: 1 } },
    { ...RUNNING, progress: { text: 'x', record: 'y' } },
    { ...RUNNING, owner: 1 },
    { ...RUNNING, leaseMs: 0.5 },
    { state: 'paused', message: 'hash' },
  ])('that is malformed is refused: %j', async (fields) => {
    const { work, receipts } = await process(await createSite());
    await putRecord(work, 'receipts', receiptOf(work, 'turn'), encodeFields(fields));
    await expect(receipts.claim('turn', LEASE)).rejects.toMatchObject({ code: 'integrity' });
  });

  it('that is gone is not closed by any worker, and its answer left to the next delivery', async () => {
    const site = await createSite();
    const { work, receipts } = await process(site);
    const lease = leaseOf(await receipts.claim('turn', LEASE));
    const key = classKey(work.tenant.layout, 'receipts', receiptOf(work, 'turn'));
    const stored = await site.base.head(key);
    if (stored === undefined) throw new Error('there is no receipt');
    await site.base.delete([{ key, ifMatch: stored.etag }]);
    expect(await lease.finish(bytes('answer'))).toBeUndefined();
  });

  it('names its owner by sixteen random bytes', async () => {
    const { work, receipts } = await process(await createSite());
    await receipts.claim('turn', LEASE);
    const name = { cls: 'receipts', id: receiptOf(work, 'turn'), maxBytes: 65_536 } as const;
    const { owner } = decodeFields((await readRecord(work, name))?.content ?? bytes('')) ?? {};
    expect(owner).toMatch(/^[A-Za-z0-9_-]{22}$/);
  });

  it('that is written again before each of eight attempts is not closed', async () => {
    const site = await createSite();
    const { client, work, receipts } = await process(site);
    const other = await process(site);
    const id = receiptOf(work, 'turn');
    const lease = leaseOf(await receipts.claim('turn', LEASE));
    const { content } = (await readRecord(work, { cls: 'receipts', id, maxBytes: 65_536 })) ?? {};
    let puts = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/receipts/')) {
        puts++;
        await putRecord(other.work, 'receipts', id, content ?? bytes(''));
      }
      return proceed();
    });
    expect(await lease.finish(bytes('answer'))).toBeUndefined();
    expect(puts).toBe(8);
  });

  it('is closed with the new answer where the earlier one is gone when it is read', async () => {
    const site = await createSite();
    const { client, work, receipts } = await process(site);
    const id = receiptOf(work, 'turn');
    const lease = leaseOf(await receipts.claim('turn', LEASE));
    await putRecord(work, 'answers', id, bytes('earlier'));
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key.includes('/answers/')) {
        const stored = await site.base.head(call.key);
        if (stored !== undefined) await site.base.delete([{ key: call.key, ifMatch: stored.etag }]);
      }
      return proceed();
    });
    expect(await lease.finish(bytes('answer'))).toEqual(bytes('answer'));
  });

  it('of up to 64 KiB is read, and a larger one refused', async () => {
    const { work, receipts } = await process(await createSite());
    const fields = (size: number) => {
      const message = messageOf(work);
      const empty = encodeFields({ ...RUNNING, message, owner: '' }).length;
      return encodeFields({ ...RUNNING, message, owner: 'o'.repeat(size - empty) });
    };
    await putRecord(work, 'receipts', receiptOf(work, 'fits'), fields(65_536));
    expect(await receipts.claim('fits', LEASE)).toMatchObject({ state: 'running' });
    await putRecord(work, 'receipts', receiptOf(work, 'large'), fields(65_537));
    await expect(receipts.claim('large', LEASE)).rejects.toMatchObject({ code: 'limit_exceeded' });
  });

  it('has room for the attempts behind the longest progress that it holds', async () => {
    const { work, receipts } = await process(await createSite());
    const name = { cls: 'receipts', id: receiptOf(work, 'turn'), maxBytes: 65_536 } as const;
    let lease = leaseOf(await receipts.claim('turn', LEASE));
    for (let length = 65_300; length < 65_536; length++) {
      await lease.save(bytes('x'.repeat(length)));
      const { progress } = decodeFields((await readRecord(work, name))?.content ?? bytes('')) ?? {};
      if (typeof Object(progress).record === 'string') break;
      await lease.release({ attempts: 99_999 });
      lease = leaseOf(await receipts.claim('turn', LEASE));
      expect(lease.attempts).toBe(100_000);
    }
    expect.hasAssertions();
  });

  it('takes a name of one character, and one of 256', async () => {
    const { receipts } = await process(await createSite());
    for (const turn of ['x', 'x'.repeat(256)]) {
      expect((await receipts.claim(turn, LEASE)).state).toBe('ours');
    }
  });

  it('takes an answer of exactly the limit, and gives it back', async () => {
    const { receipts } = await process(await createSite());
    const answer = new Uint8Array(MAX_ANSWER_BYTES).fill(7);
    expect(MAX_ANSWER_BYTES).toBe(8_388_608);
    await leaseOf(await receipts.claim('turn', LEASE)).finish(answer);
    const read = await receipts.answer('turn');
    expect(read?.length).toBe(MAX_ANSWER_BYTES);
    expect(read?.at(-1)).toBe(7);
  });
});

describe('a caller that cancels', () => {
  const aborted = { signal: AbortSignal.abort() };

  it('takes no turn, and makes no keyring for it', async () => {
    const { context, keyrings } = await unwritten();
    const claiming = createReceipts(context).claim('turn', { ...LEASE, ...aborted });
    await expect(claiming).rejects.toMatchObject({ code: 'aborted' });
    expect(await keyrings()).toEqual(['keyrings/other']);
  });

  it('reads no answer any more', async () => {
    const { client, receipts } = await process(await createSite());
    await leaseOf(await receipts.claim('turn', LEASE)).finish(bytes('answer'));
    const ending = new AbortController();
    client.intercept((call, proceed) => {
      if (call.verb === 'get') ending.abort();
      return proceed();
    });
    const reading = receipts.answer('turn', { signal: ending.signal });
    await expect(reading).rejects.toMatchObject({ code: 'aborted' });
  });

  it('neither finishes nor releases its turn', async () => {
    const site = await createSite();
    const [first, second] = [await process(site), await process(site)];
    const lease = leaseOf(await first.receipts.claim('turn', LEASE));
    await expect(lease.finish(bytes('answer'), aborted)).rejects.toMatchObject({ code: 'aborted' });
    await expect(lease.release(aborted)).rejects.toMatchObject({ code: 'aborted' });
    expect(await second.receipts.claim('turn', LEASE)).toMatchObject({ state: 'running' });
    expect(await second.receipts.answer('turn')).toBeUndefined();
  });
});

it('asking for the answer of a tenant that was never written to makes no keyring', async () => {
  const { context, keyrings } = await unwritten();
  expect(await createReceipts(context).answer('turn')).toBeUndefined();
  expect(await keyrings()).toEqual(['keyrings/other']);
});

/** A process at a tenant that was never written to, beside another one. */
async function unwritten() {
  const site = await createSite();
  const { tenant } = await (await site.client({ tenant: 'other' })).open();
  const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
  const rootKeys = [envRootKey(TEST_ROOT_KEY)];
  const keyrings = async (): Promise<readonly string[]> => {
    const keys: string[] = [];
    for await (const { objects } of site.base.list({ prefix: 'keyrings/' })) {
      keys.push(...objects.map(({ key }) => key));
    }
    return keys;
  };
  const store = createKeyringCache({ store: tenant.store, layout, rootKeys });
  return { context: { ...tenant, layout, keyrings: store }, keyrings };
}
