import { describe, expect, it } from 'vitest';
import { createAccessRecords } from '../../../../src/admin/expiry/access-records.ts';
import { type ExpiryOptions, type ExpiryReport, expireTree } from '../../../../src/admin/expiry/expire.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { createTree } from '../../../../src/tree/tree.ts';
import { createReceipts } from '../../../../src/worker/leases/receipts.ts';
import { keysOf } from '../../../stage/bucket.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { noAnswer } from '../../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOTHING: ExpiryReport = { files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, busy: false };

/** A process whose reads are recorded. */
async function reader(site: TestSite): Promise<{ read(path: string): Promise<Uint8Array | undefined> }> {
  const { tenant } = await (await site.client()).open();
  const tree = createTree({ ...tenant, accessRecords: createAccessRecords() });
  return { read: (path) => tree.read(at(path)) };
}

async function expire(
  site: TestSite,
  options: Partial<ExpiryOptions> & { readonly around?: (client: TestClient) => void } = {},
): Promise<ExpiryReport> {
  const client = await site.client();
  const { tenant } = await client.open();
  options.around?.(client);
  return expireTree(tenant, { afterDays: 30, ...options });
}

describeOnBothKinds('expiry', (newSite) => {
  const filled = async (): Promise<{ site: TestSite; client: TestClient }> => {
    const site = await newSite();
    const client = await site.client();
    for (const path of ['/memories/old.md', '/memories/d/used.md']) await client.create(path, path);
    return { site, client };
  };

  it('marks a file that was not used, and deletes it in a later run', async () => {
    const { site, client } = await filled();
    await site.time.pause(31 * DAY);
    await client.append('/memories/d/used.md', ' again');
    expect(await expire(site)).toEqual({ ...NOTHING, files: 2, marked: 1 });
    expect(await client.paths()).toHaveLength(2);
    await site.time.pause(DAY);
    expect(await expire(site)).toEqual({ ...NOTHING, files: 2, deleted: 1 });
    expect(await client.paths()).toEqual(['/memories/d/used.md']);
  });

  it('leaves a marked file alone until an hour has passed', async () => {
    const { site, client } = await filled();
    await site.time.pause(31 * DAY);
    await expire(site);
    await site.time.pause(HOUR - 1_000);
    expect(await expire(site)).toMatchObject({ deleted: 0, marked: 2 });
    await site.time.pause(1_000);
    expect(await expire(site)).toMatchObject({ deleted: 2, marked: 0 });
    expect(await client.paths()).toEqual([]);
  });

  it('keeps a file that was read, from the end of that day on', async () => {
    const { site, client } = await filled();
    await site.time.pause(20 * DAY);
    await (await reader(site)).read('/memories/old.md');
    await site.time.pause(15 * DAY);
    await expire(site);
    await site.time.pause(2 * HOUR);
    expect(await expire(site)).toMatchObject({ deleted: 1 });
    expect(await client.paths()).toEqual(['/memories/old.md']);
    await site.time.pause(30 * DAY);
    await expire(site);
    await site.time.pause(2 * HOUR);
    expect(await expire(site)).toMatchObject({ deleted: 1 });
  });

  it('keeps a marked file that is read, written or replaced before the later run', async () => {
    const { site, client } = await filled();
    await client.create('/memories/replaced.md', 'first');
    await site.time.pause(31 * DAY);
    expect(await expire(site)).toMatchObject({ marked: 3 });
    await site.time.pause(2 * HOUR);
    await (await reader(site)).read('/memories/old.md');
    await client.append('/memories/d/used.md', '!');
    await client.remove('/memories/replaced.md');
    await client.create('/memories/replaced.md', 'second');
    expect(await expire(site)).toMatchObject({ files: 3, deleted: 0, marked: 0 });
    expect(await client.paths()).toHaveLength(3);
  });

  it('marks a file anew that was written since its mark, however long no run has come', async () => {
    const { site, client } = await filled();
    await site.time.pause(31 * DAY);
    expect(await expire(site)).toMatchObject({ marked: 2 });
    await client.append('/memories/old.md', ' again');
    await site.time.pause(31 * DAY);
    expect(await expire(site)).toMatchObject({ deleted: 1, marked: 1 });
    expect(await client.paths()).toEqual(['/memories/old.md']);
  });

  it('keeps a file that is read while the run is at work', async () => {
    const { site, client } = await filled();
    await site.time.pause(31 * DAY);
    await expire(site);
    await site.time.pause(2 * HOUR);
    const late = await reader(site);
    const around = (operator: TestClient): void => {
      let looks = 0;
      operator.intercept(async (call, proceed) => {
        // The second look at the register is the first request after the listing.
        const isLook = call.verb === 'get' && call.key.endsWith('/journal/register');
        if (isLook && ++looks === 2) await late.read('/memories/old.md');
        return proceed();
      });
    };
    expect(await expire(site, { around })).toMatchObject({ deleted: 1 });
    expect(await client.paths()).toEqual(['/memories/old.md']);
  });

  it('keeps a file that is written between the last look and the delete', async () => {
    const { site, client } = await filled();
    await site.time.pause(31 * DAY);
    await expire(site);
    await site.time.pause(2 * HOUR);
    const around = (operator: TestClient): void =>
      operator.intercept(async (call, proceed) => {
        if (call.verb === 'delete') await client.append('/memories/old.md', ' saved');
        return proceed();
      });
    expect(await expire(site, { around })).toMatchObject({ deleted: 1, marked: 1 });
    expect(await client.text('/memories/old.md')).toBe('/memories/old.md saved');
  });

  describe.each(['wall', 'monotonic'] as const)('that stood still, by the %s clock', (running) => {
    /** A run in which one of the two clocks stops. */
    const run = async (site: TestSite, around: (client: TestClient) => void): Promise<ExpiryReport> => {
      const client = await site.client();
      const { tenant } = await client.open();
      const stopped = site.time.clock();
      const clocks = running === 'wall' ? { monotonic: () => stopped } : { clock: () => stopped };
      around(client);
      return expireTree({ ...tenant, ...clocks }, { afterDays: 30 });
    };
    const marked = async (): Promise<{ site: TestSite; client: TestClient }> => {
      const { site, client } = await filled();
      await site.time.pause(31 * DAY);
      await expire(site);
      await site.time.pause(2 * HOUR);
      return { site, client };
    };

    it.each([
      ['between its look and its delete', 'head'],
      ['on the way to its delete', 'delete'],
    ] as const)('leaves the files to a later run when that was %s', async (_, verb) => {
      const { site, client } = await marked();
      let frozen = false;
      const report = await run(site, (operator) =>
        operator.intercept(async (call, proceed) => {
          const isMoment = call.verb === verb && !frozen;
          const answer = verb === 'head' ? await proceed() : undefined;
          if (isMoment) {
            frozen = true;
            await site.time.pause(31_000);
            await (await reader(site)).read('/memories/old.md');
          }
          return answer ?? proceed();
        }),
      );
      expect(report).toMatchObject({ deleted: 0, marked: 2 });
      expect(await client.paths()).toHaveLength(2);
      expect(await expire(site)).toMatchObject({ deleted: 1 });
      expect(await client.paths()).toEqual(['/memories/old.md']);
    });

    it('leaves the files to a later run when that was for days since the listing', async () => {
      const { site, client } = await marked();
      let frozen = false;
      const report = await run(site, (operator) =>
        operator.intercept(async (call, proceed) => {
          const answer = await proceed();
          if (call.verb === 'list' && call.prefix.includes('/data/') && !frozen) {
            frozen = true;
            await site.time.pause(DAY);
            await (await reader(site)).read('/memories/old.md');
            await site.time.pause(5 * DAY);
          }
          return answer;
        }),
      );
      expect(report).toMatchObject({ deleted: 0, marked: 2 });
      expect(await client.paths()).toHaveLength(2);
    });
  });

  describe('of a tenant whose keys are migrated more often than that', () => {
    /** A rotation and a migration every ten days, and a run of expiry every day, for so many days. */
    const live = async (site: TestSite, days: number, onDay?: (day: number) => Promise<void>) => {
      const operator = await createOperator(site, await site.client());
      for (let day = 1; day <= days; day++) {
        await site.time.pause(DAY);
        if (day % 10 === 0) {
          await operator.rotate();
          expect((await operator.migrate()).rebound).toBeGreaterThan(0);
        }
        await onDay?.(day);
        await expire(site);
      }
    };

    it('deletes what is unused, and keeps what is used', async () => {
      const { site, client } = await filled();
      await client.create('/memories/renamed.md', 'renamed');
      await client.create('/memories/read.md', 'read');
      const late = await reader(site);
      await live(site, 29, async (day) => {
        if (day === 15) await client.append('/memories/d/used.md', ' again');
        if (day === 16) await client.rename('/memories/renamed.md', '/memories/new.md');
        if (day === 17) await late.read('/memories/read.md');
      });
      expect(await client.paths()).toHaveLength(4);
      await live(site, 5);
      const kept = ['/memories/d/used.md', '/memories/new.md', '/memories/read.md'];
      expect(await client.paths()).toEqual(kept);
      await live(site, 25);
      expect(await client.paths()).toEqual([]);
    });

    it('deletes a file that is migrated between the two runs, as the version that was migrated', async () => {
      const { site, client } = await filled();
      const operator = await createOperator(site, await site.client());
      await expire(site);
      await site.time.pause(31 * DAY);
      await client.append('/memories/d/used.md', ' again');
      expect(await expire(site)).toMatchObject({ deleted: 0, marked: 1 });
      for (const _ of [1, 2]) {
        await site.time.pause(DAY);
        await operator.rotate();
        await operator.migrate();
      }
      expect(await expire(site)).toMatchObject({ deleted: 1 });
      expect(await client.paths()).toEqual(['/memories/d/used.md']);
    });

    it('deletes receipts and answers that no queue can ask for', async () => {
      const { site } = await filled();
      const work = await (await site.client()).open();
      const claim = await createReceipts(work.tenant).claim('turn', { leaseMs: 60_000, message: 'hello' });
      if (claim.state !== 'ours') throw new Error(claim.state);
      await claim.lease.finish(bytes('answer'));
      await live(site, 35);
      expect(await keysOf(site, 'receipts')).toEqual([]);
      expect(await keysOf(site, 'answers')).toEqual([]);
    });

    it('deletes those where no file expires, too', async () => {
      const { site } = await filled();
      const work = await (await site.client()).open();
      const claim = await createReceipts(work.tenant).claim('turn', { leaseMs: 60_000, message: 'hello' });
      if (claim.state !== 'ours') throw new Error(claim.state);
      await claim.lease.finish(bytes('answer'));
      const operator = await createOperator(site, await site.client());
      for (let day = 1; day <= 35; day++) {
        await site.time.pause(DAY);
        if (day % 10 === 0) {
          await operator.rotate();
          await operator.migrate();
        }
        await expire(site, { afterDays: undefined });
      }
      expect(await keysOf(site, 'answers')).toEqual([]);
    });
  });

  it('changes nothing in a dry run, and tells what a run would do', async () => {
    const { site, client } = await filled();
    await site.time.pause(31 * DAY);
    expect(await expire(site, { dryRun: true })).toMatchObject({ deleted: 0, marked: 2 });
    expect(await keysOf(site, 'journal')).toEqual([]);
    await expire(site);
    await site.time.pause(2 * HOUR);
    expect(await expire(site, { dryRun: true })).toMatchObject({ deleted: 2, marked: 0 });
    expect(await client.paths()).toHaveLength(2);
  });

  it('looks at no file while a directory is being renamed', async () => {
    const { site, client } = await filled();
    await site.time.pause(31 * DAY);
    await expire(site);
    await site.time.pause(2 * HOUR);
    let report: ExpiryReport | undefined;
    client.intercept(async (call, proceed) => {
      if (report === undefined && call.verb === 'put' && call.key.includes('/data/')) {
        report = await expire(site);
      }
      return proceed();
    });
    await client.rename('/memories/d', '/memories/e');
    expect(report).toMatchObject({ busy: true, files: 0, deleted: 0, marked: 0 });
    expect(await client.paths()).toEqual(['/memories/e/used.md', '/memories/old.md']);
  });

  it('records a read once per file and day, before it answers', async () => {
    const { site } = await filled();
    const [first, second] = [await reader(site), await reader(site)];
    for (const each of [first, first, second]) await each.read('/memories/old.md');
    expect(await keysOf(site, 'access')).toHaveLength(1);
    await first.read('/memories/none.md');
    expect(await keysOf(site, 'access')).toHaveLength(1);
    await site.time.pause(DAY);
    await Promise.all([first, first, second].map((each) => each.read('/memories/old.md')));
    expect(await keysOf(site, 'access')).toHaveLength(2);
  });

  it('makes a read unavailable, never an edit of unknown outcome, while reads cannot be recorded', async () => {
    const { site } = await filled();
    const client = await site.client();
    const { tenant } = await client.open();
    const tree = createTree({ ...tenant, accessRecords: createAccessRecords() });
    let isLost = true;
    client.intercept(async (call, proceed) => {
      if (isLost && call.verb === 'put' && call.key.includes('/access/')) throw noAnswer();
      return proceed();
    });
    const reading = tree.read(at('/memories/old.md'));
    await expect(reading).rejects.toMatchObject({ code: 'unavailable', retry: 'later' });
    isLost = false;
    expect(await tree.read(at('/memories/old.md'))).toEqual(bytes('/memories/old.md'));
  });

  it('deletes access records that a newer one makes idle', async () => {
    const { site } = await filled();
    const each = await reader(site);
    for (let day = 0; day < 5; day++) {
      await each.read('/memories/old.md');
      await site.time.pause(DAY);
    }
    expect(await expire(site)).toMatchObject({ records: 4, marked: 0 });
    expect(await keysOf(site, 'access')).toHaveLength(1);
  });

  it('leaves what has the id of no record: a verification names it, and the operator judges', async () => {
    const { site } = await filled();
    const key = 'tenants/acme/receipts/no.record' as ObjectKey;
    await site.base.put(key, bytes('no record of any writer'), { mode: 'create' });
    await site.time.pause(100 * DAY);
    expect(await expire(site, { recordDays: 15 })).toMatchObject({ records: 0 });
    expect(await keysOf(site, 'receipts')).toEqual([key]);
    expect((await verifyTree((await site.client()).tenant)).findings).toEqual([
      { kind: 'orphan', objects: 1 },
    ]);
  });

  it('deletes receipts and answers when no queue can deliver the turn again', async () => {
    const { site, client } = await filled();
    const receipts = createReceipts((await client.open()).tenant);
    const finish = async (turn: string): Promise<void> => {
      const claim = await receipts.claim(turn, { leaseMs: 1_000, message: 'hello' });
      if (claim.state === 'ours') await claim.lease.finish(bytes(turn));
    };
    await finish('old');
    await site.time.pause(16 * DAY);
    await finish('new');
    expect(await expire(site, { recordDays: 15 })).toMatchObject({ records: 2 });
    expect(await keysOf(site, 'receipts')).toHaveLength(1);
    expect(await keysOf(site, 'answers')).toHaveLength(1);
    expect(await receipts.claim('new', { leaseMs: 1_000, message: 'hello' })).toMatchObject({
      state: 'answered',
    });
  });

  it('finds nothing to do for a tenant that was never written to', async () => {
    const site = await newSite();
    const { tenant } = await (await site.client({ tenant: 'acme' })).open();
    expect(await expireTree(tenant, { afterDays: 1 })).toEqual(NOTHING);
  });

  it.each([0, 1.5, 3_651, Number.NaN])('refuses to expire after %s days', async (afterDays) => {
    const { site } = await filled();
    await expect(expire(site, { afterDays })).rejects.toMatchObject({ code: 'misconfigured' });
  });
});
