import { expect, it } from 'vitest';
import { writeCheckpoint } from '../../../../src/admin/checkpoints/checkpoint.ts';
import { createAccessRecords } from '../../../../src/admin/expiry/access-records.ts';
import { type ExpiryOptions, expireTree } from '../../../../src/admin/expiry/expire.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { createStamps } from '../../../../src/stamps.ts';
import { createTree } from '../../../../src/tree/tree.ts';
import { createReceipts } from '../../../../src/worker/leases/receipts.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The times by which the clocks of who writes, who reads and who expires are ahead of the store's. */
const CLOCKS: readonly (readonly [writer: number, reader: number, operator: number])[] = [
  [47 * HOUR, -47 * HOUR, 47 * HOUR],
  [-47 * HOUR, 47 * HOUR, -47 * HOUR],
  [-47 * HOUR, -47 * HOUR, 47 * HOUR],
  [5 * HOUR, -13 * HOUR, -30 * HOUR],
];

/** A process whose clock is off, beside a store that tells its date in whole seconds with each answer. */
async function processOff(site: TestSite, ms: number): Promise<TestClient> {
  const clock = (): number => site.time.clock() + ms;
  const stamps = createStamps({ clock, monotonic: site.time.clock });
  return site.client({
    keepsHistory: true,
    clock,
    stamps,
    async beneath(_, proceed) {
      const answer = await proceed();
      stamps.observe(Math.floor(site.time.clock() / 1_000) * 1_000);
      return answer;
    },
  });
}

async function expireOff(site: TestSite, ms: number, options: ExpiryOptions = {}) {
  return expireTree((await processOff(site, ms)).tenant, { afterDays: 30, ...options });
}

/** Reads as a process does whose reads are recorded. */
async function readOff(site: TestSite, ms: number, path: string): Promise<void> {
  const { tenant } = await (await processOff(site, ms)).open();
  await createTree({ ...tenant, accessRecords: createAccessRecords() }).read(at(path));
}

describeOnBothKinds(
  'expiry by an operator, of what others wrote and read whose clocks are all off by hours',
  (newSite) => {
    it.each(CLOCKS)(
      'lets an unused file go by the days of the store: %d, %d, %d',
      async (writer, reader, operator) => {
        const site = await newSite();
        await (await processOff(site, writer)).create('/memories/old', 'old');
        await (await processOff(site, writer)).create('/memories/read', 'read');
        await site.time.pause(30 * DAY - HOUR);
        expect(await expireOff(site, operator)).toMatchObject({ marked: 0 });
        await readOff(site, reader, '/memories/read');
        await site.time.pause(2 * HOUR);
        expect(await expireOff(site, operator)).toMatchObject({ marked: 1, deleted: 0 });
        await site.time.pause(HOUR - 1_000);
        expect(await expireOff(site, operator)).toMatchObject({ marked: 1, deleted: 0 });
        await site.time.pause(1_000);
        expect(await expireOff(site, operator)).toMatchObject({ marked: 0, deleted: 1 });
        expect(await (await site.client()).paths()).toEqual(['/memories/read']);
        // The day of the read ends, and its days begin.
        await site.time.pause(30 * DAY - 2 * HOUR);
        expect(await expireOff(site, operator)).toMatchObject({ marked: 0 });
        await site.time.pause(DAY + HOUR);
        expect(await expireOff(site, operator)).toMatchObject({ marked: 1 });
      },
    );

    it.each(CLOCKS)(
      'keeps a file that is read between the listing and the delete: %d, %d, %d',
      async (writer, reader, operator) => {
        const site = await newSite();
        await (await processOff(site, writer)).create('/memories/a', 'a');
        await site.time.pause(31 * DAY);
        await expireOff(site, operator);
        await site.time.pause(2 * HOUR);
        const client = await processOff(site, operator);
        const { tenant } = await client.open();
        let reads = 0;
        client.intercept(async (call, proceed) => {
          const answer = await proceed();
          if (call.verb === 'list' && call.prefix.includes('/data/') && reads++ === 0)
            await readOff(site, reader, '/memories/a');
          return answer;
        });
        expect(await expireTree(tenant, { afterDays: 30 })).toMatchObject({ deleted: 0, marked: 1 });
        expect(reads).toBeGreaterThan(0);
        expect(await (await site.client()).paths()).toEqual(['/memories/a']);
      },
    );

    it.each(CLOCKS)(
      'lets the history go by the days of the store, and verify finds nothing amiss: %d, %d, %d',
      async (writer, reader, operator) => {
        const site = await newSite();
        const client = await processOff(site, writer);
        await client.create('/memories/a', 'one');
        await site.time.pause(HOUR);
        const { line } = await writeCheckpoint((await processOff(site, reader)).tenant);
        await site.time.pause(HOUR);
        await client.append('/memories/a', ' two');
        await client.append('/memories/a', ' three');
        await site.time.pause(30 * DAY - HOUR);
        const days = { afterDays: undefined, historyDays: 30 };
        expect(await expireOff(site, operator, days)).toMatchObject({ history: 0 });
        const look = async () =>
          (await verifyTree((await processOff(site, reader)).tenant, { since: line, historyDays: 30 }))
            .findings;
        expect(await look()).toEqual([]);
        await site.time.pause(2 * HOUR);
        expect(await expireOff(site, operator, days)).toMatchObject({ history: 2 });
        expect(await look()).toEqual([expect.objectContaining({ kind: 'since', state: 'untold' })]);
      },
    );

    it.each(CLOCKS)(
      'lets receipts and checkpoints go by the days of the store: %d, %d, %d',
      async (writer, reader, operator) => {
        const site = await newSite();
        const client = await processOff(site, writer);
        const claim = await createReceipts((await client.open()).tenant).claim('turn', {
          leaseMs: 1_000,
          message: 'hello',
        });
        if (claim.state !== 'ours') throw new Error(claim.state);
        await claim.lease.finish(bytes('answer'));
        await client.create('/memories/a', 'a');
        await writeCheckpoint(client.tenant);
        const days = { afterDays: undefined };
        await site.time.pause(30 * DAY - HOUR);
        expect(await expireOff(site, operator, days)).toMatchObject({ records: 0 });
        await site.time.pause(2 * HOUR);
        expect((await expireOff(site, operator, days)).records).toBeGreaterThan(0);
        const { line } = await writeCheckpoint((await processOff(site, reader)).tenant);
        await site.time.pause(60 * DAY - 3 * HOUR);
        expect(await expireOff(site, operator, days)).toMatchObject({ records: 0 });
        await site.time.pause(3 * HOUR);
        expect(await expireOff(site, operator, days)).toMatchObject({ records: 2 });
        expect((await verifyTree((await processOff(site, reader)).tenant, { since: line })).findings).toEqual(
          [],
        );
      },
    );

    it.each([49 * HOUR, -49 * HOUR])(
      'answers no read, and deletes no file, where the clock is too far off to write down a day: %d',
      async (far) => {
        const site = await newSite();
        await (await site.client()).create('/memories/a', 'a');
        const refused = expect.objectContaining({ code: 'misconfigured' });
        await expect(readOff(site, far, '/memories/a')).rejects.toThrow(refused);
        await site.time.pause(31 * DAY);
        await expireOff(site, 0);
        await site.time.pause(2 * HOUR);
        await expect(expireOff(site, far)).rejects.toThrow(refused);
        expect(await (await site.client()).paths()).toEqual(['/memories/a']);
      },
    );
  },
);
