import { expect, it } from 'vitest';
import { createAccessRecords } from '../../../../src/admin/expiry/access-records.ts';
import { type ExpiryOptions, type ExpiryReport, expireTree } from '../../../../src/admin/expiry/expire.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { lateness } from '../../../../src/store/port.ts';
import { once } from '../../../../src/time.ts';
import type { Progress } from '../../../../src/tree/tenant.ts';
import { createTree } from '../../../../src/tree/tree.ts';
import { createReceipts } from '../../../../src/worker/leases/receipts.ts';
import { keysOf } from '../../../stage/bucket.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import type { Around } from '../../../stage/store-wrappers.ts';
import { at, bytes, createSite, type StoreKind, type TestSite } from '../../../stage/test-tree.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

async function expire(
  site: TestSite,
  options: Partial<ExpiryOptions> = {},
  around?: Around,
): Promise<ExpiryReport> {
  const client = await site.client();
  const context = await client.open();
  if (around !== undefined) client.intercept(around);
  return expireTree(context.tenant, { afterDays: 30, ...options });
}

/** Two files that an earlier run has marked, and that may go now. */
async function marked(kind: StoreKind = 'guarded'): Promise<TestSite> {
  const site = await createSite(kind);
  const client = await site.client();
  for (const path of ['/memories/a.md', '/memories/b.md']) await client.create(path, path);
  await site.time.pause(31 * DAY);
  await expire(site);
  await site.time.pause(2 * HOUR);
  return site;
}

/** Stands still once, behind the first answer to a request of that kind. */
function frozen(site: TestSite, verb: 'head' | 'list', ms: number): Around {
  let done = false;
  return async (call, proceed) => {
    const answer = await proceed();
    if (call.verb === verb && !done && (call.verb !== 'list' || call.prefix.includes('/data/'))) {
      done = true;
      await site.time.pause(ms);
    }
    return answer;
  };
}

/** A turn that is finished. */
async function finish(site: TestSite, turn = 'turn'): Promise<void> {
  const claim = await createReceipts((await (await site.client()).open()).tenant).claim(turn, {
    leaseMs: 1_000,
    message: 'hello',
  });
  if (claim.state !== 'ours') throw new Error(claim.state);
  await claim.lease.finish(bytes('answer'));
}

it.each([
  ['head', 29_000, 2],
  ['head', 30_000, 0],
  ['list', 12 * HOUR - 1, 2],
  ['list', 12 * HOUR, 0],
] as const)('a run that stands still behind a %s for %s ms deletes %s files', async (verb, ms, deleted) => {
  const site = await marked();
  expect(await expire(site, {}, frozen(site, verb, ms))).toMatchObject({ deleted });
});

it('a run that stood still behind its look tells of all the files that it leaves, also where a delete takes a tombstone', async () => {
  const site = await marked('unguarded');
  const client = await site.client();
  const { tenant } = await client.open();
  client.intercept(frozen(site, 'head', 30_000));
  expect(await expireTree(tenant, { afterDays: 30 })).toMatchObject({ deleted: 0 });
  expect(client.logged.map(({ fields }) => fields)).toEqual([{ files: 2 }]);
});

it('a run of which one delete came too late to be sent leaves all files of its batch to a later one', async () => {
  const site = await marked();
  const client = await site.client();
  const { tenant } = await client.open();
  const late = lateness({ isPast: () => true });
  client.intercept(async (call, proceed) =>
    call.verb === 'delete' ? ([{ key: call.targets[0]?.key, error: late }] as never) : proceed(),
  );
  expect(await expireTree(tenant, { afterDays: 30 })).toMatchObject({ deleted: 0 });
  expect(client.logged.map(({ fields }) => fields)).toEqual([{ files: 2 }]);
});

it('a run ends with what the store says to the delete of a record', async () => {
  const site = await createSite();
  await finish(site);
  await site.time.pause(31 * DAY);
  const denied = new MemoryError('access_denied', 'no');
  const run = expire(site, {}, async (call, proceed) => {
    if (call.verb === 'delete') throw denied;
    return proceed();
  });
  await expect(run).rejects.toBe(denied);
});

it('a run that stands still says nothing of files where each was read meanwhile', async () => {
  const site = await marked();
  const reader = await (await site.client()).open();
  const records = createAccessRecords();
  const client = await site.client();
  const { tenant } = await client.open();
  const readBoth = once(async () => {
    for (const path of ['/memories/a.md', '/memories/b.md']) await records.record(reader, at(path));
    await site.time.pause(30_000);
  });
  let looks = 0;
  client.intercept(async (call, proceed) => {
    if (call.verb === 'head') {
      looks += 1;
      await readBoth();
    }
    return proceed();
  });
  expect(await expireTree(tenant, { afterDays: 30 })).toMatchObject({ deleted: 0 });
  expect(looks).toBeGreaterThan(0);
  expect(client.logged).toEqual([]);
});

it('a file is unused once more than so many days have passed, to the millisecond', async () => {
  const site = await createSite();
  await (await site.client()).create('/memories/a.md', 'a');
  await site.time.pause(30 * DAY);
  expect(await expire(site)).toMatchObject({ marked: 0 });
  await site.time.pause(1);
  expect(await expire(site)).toMatchObject({ marked: 1 });
});

it('a file that was read first and written later counts from the later', async () => {
  const site = await createSite();
  const client = await site.client();
  await client.create('/memories/a.md', 'a');
  const reader = createTree({ ...(await client.open()).tenant, accessRecords: createAccessRecords() });
  await reader.read(at('/memories/a.md'));
  await site.time.pause(20 * DAY);
  await client.append('/memories/a.md', 'b');
  await site.time.pause(15 * DAY);
  expect(await expire(site)).toMatchObject({ marked: 0 });
});

it('a file that is written after it was marked is marked again, and deleted an hour after that', async () => {
  const site = await marked();
  const client = await site.client();
  await client.append('/memories/a.md', ' again');
  await site.time.pause(31 * DAY);
  expect(await expire(site)).toMatchObject({ deleted: 1, marked: 1 });
  expect(await client.paths()).toEqual(['/memories/a.md']);
  await site.time.pause(HOUR);
  expect(await expire(site)).toMatchObject({ deleted: 1, marked: 0 });
});

it.each([-DAY, 0, DAY])('a read during the run keeps its file though its reader is %s ms off', async (ms) => {
  const site = await marked();
  const client = await site.client({ clock: () => site.time.clock() + ms });
  const reader = createTree({ ...(await client.open()).tenant, accessRecords: createAccessRecords() });
  let looks = 0;
  const report = await expire(site, {}, async (call, proceed) => {
    // The second look at the register is the first request behind the listing.
    const isLook = call.verb === 'get' && call.key.endsWith('/journal/register');
    if (isLook && ++looks === 2) await reader.read(at('/memories/a.md'));
    return proceed();
  });
  expect(report).toMatchObject({ deleted: 1, marked: 1 });
  expect(await client.paths()).toEqual(['/memories/a.md']);
});

it('files go a hundred at a time, each hundred behind a look of its own', async () => {
  const site = await createSite();
  const client = await site.client();
  for (let n = 0; n < 101; n++) await client.create(`/memories/${n}.md`, '');
  await site.time.pause(31 * DAY);
  await expire(site);
  await site.time.pause(HOUR);
  const steps: Progress[] = [];
  expect(await expire(site, { onProgress: (step) => steps.push(step) })).toMatchObject({ deleted: 101 });
  expect(steps).toEqual([
    { done: 100, total: 101 },
    { done: 101, total: 101 },
  ]);
});

it('receipts and answers stay for 30 days unless told otherwise', async () => {
  const site = await createSite();
  await finish(site);
  await site.time.pause(30 * DAY);
  expect(await expire(site)).toMatchObject({ records: 0 });
  await site.time.pause(1);
  expect(await expire(site, { dryRun: true })).toMatchObject({ records: 2 });
  expect(await keysOf(site, 'answers')).toHaveLength(1);
  expect(await expire(site)).toMatchObject({ records: 2 });
  expect([...(await keysOf(site, 'receipts')), ...(await keysOf(site, 'answers'))]).toEqual([]);
});

it('answers stay where a receipt has changed since it was listed', async () => {
  const site = await createSite();
  await finish(site);
  await site.time.pause(31 * DAY);
  const work = await (await site.client()).open();
  const deletes: string[] = [];
  const report = await expire(site, {}, async (call, proceed) => {
    if (call.verb === 'delete') {
      deletes.push(...call.targets.map(({ key }) => key.split('/').at(-2) ?? ''));
      const id = work.keyring.names.keyedHash('receipts', 'turn');
      await putRecord(work, 'receipts', id, bytes('{"state":"free"}'));
    }
    return proceed();
  });
  expect(deletes).toEqual(['receipts']);
  expect(report).toMatchObject({ records: 0 });
  expect(await keysOf(site, 'answers')).toHaveLength(1);
});

it('takes numbers of days from 1 and 15 to 3,650', async () => {
  const site = await createSite();
  await expect(expire(site, { recordDays: 14 })).rejects.toMatchObject({ code: 'misconfigured' });
  await expect(expire(site, { recordDays: 3_651 })).rejects.toMatchObject({ code: 'misconfigured' });
  await expire(site, { afterDays: 1, recordDays: 15 });
  await expire(site, { afterDays: 3_650, recordDays: 3_650 });
});

it('where no file expires, turns alone make it leave its marks, once, and a dry run none', async () => {
  const site = await createSite();
  await expire(site, { afterDays: undefined });
  expect(await keysOf(site, 'journal')).toEqual([]);
  await putRecord(await (await site.client()).open(), 'answers', 'an-id', bytes('answer'));
  await expire(site, { afterDays: undefined, dryRun: true });
  expect(await keysOf(site, 'journal')).toEqual([]);
  let puts = 0;
  const count: Around = (call, proceed) => {
    if (call.verb === 'put') puts++;
    return proceed();
  };
  await expire(site, { afterDays: undefined }, count);
  await expire(site, { afterDays: undefined }, count);
  expect([puts, (await keysOf(site, 'journal')).length]).toEqual([1, 1]);
});
