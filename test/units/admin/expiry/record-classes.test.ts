import { describe, expect, it } from 'vitest';
import {
  accessRecordId,
  createAccessRecords,
  parseAccessRecordId,
} from '../../../../src/admin/expiry/access-records.ts';
import { type ExpiryOptions, expireTree } from '../../../../src/admin/expiry/expire.ts';
import { listReadsAndTurns } from '../../../../src/admin/expiry/record-classes.ts';
import type { ObjectClass } from '../../../../src/format/object-keys.ts';
import { keysOf } from '../../../stage/bucket.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { at, bytes, createSite, type TestSite } from '../../../stage/test-tree.ts';

const DAY = 86_400_000;
const FILE = 'f'.repeat(43);

/** Runs the expiry of a process that has just started; returns the number of records that went. */
async function expire(site: TestSite, options: ExpiryOptions): Promise<number> {
  const { tenant } = await (await site.client()).open();
  return (await expireTree(tenant, options)).records;
}

async function idsOf(site: TestSite, cls: ObjectClass): Promise<readonly string[]> {
  return (await keysOf(site, cls)).map((key) => key.split('/').at(-1) ?? '');
}

describe('records of reads', () => {
  it('count to the end of their day, and are listed by the server’s clock', async () => {
    const site = await createSite();
    const work = await (await site.client({ clock: () => 0 })).open();
    for (const day of ['2025-12-30', '2025-12-31', '2025-13-45']) {
      await putRecord(work, 'access', accessRecordId({ day, file: FILE }), bytes(''));
    }
    await putRecord(work, 'access', `2025-12-31_${FILE}f`, bytes(''));
    const { now, lastRead } = await listReadsAndTurns(work);
    expect(now).toBe(site.time.clock());
    expect([...lastRead]).toEqual([[FILE, Date.UTC(2026, 0, 1)]]);
    await site.time.pause(100 * DAY);
    expect(await expire(site, { afterDays: 30 })).toBe(2);
    expect(await idsOf(site, 'access')).toEqual([`2025-12-31_${FILE}f`, `2025-13-45_${FILE}`]);
  });

  it('go when they are too old to matter, or a newer one is there, and not before', async () => {
    const site = await createSite();
    const work = await (await site.client()).open();
    const read = (file: string, day: string) => accessRecordId({ day, file: file.repeat(43) });
    const ids = [
      read('a', '2026-01-29'),
      read('a', '2026-01-30'),
      read('b', '2026-01-01'),
      read('c', '2025-12-31'),
    ];
    for (const id of ids) await putRecord(work, 'access', id, bytes(''));
    await site.time.pause(Date.UTC(2026, 0, 31) - site.time.clock());
    expect(await expire(site, { afterDays: 30, dryRun: true })).toBe(1);
    await site.time.pause(1);
    expect(await expire(site, { dryRun: true })).toBe(1);
    expect(await expire(site, { afterDays: 30 })).toBe(2);
    expect(await idsOf(site, 'access')).toEqual([read('b', '2026-01-01'), read('a', '2026-01-30')]);
    expect(await expire(site, {})).toBe(0);
  });

  it('have the id of a day and 43 characters, and nothing else has', () => {
    expect(parseAccessRecordId(`2026-01-01_${FILE}`)).toEqual({ day: '2026-01-01', file: FILE });
    for (const id of [`2026-01-01_${FILE}f`, `x2026-01-01_${FILE}`, `2026-01-01_${FILE.slice(1)}`]) {
      expect(parseAccessRecordId(id)).toBeUndefined();
    }
  });

  it('are written once for many readers at once, of whom one may cancel', async () => {
    const site = await createSite();
    const client = await site.client();
    const work = await client.open();
    const records = createAccessRecords();
    client.calls.length = 0;
    const abort = new AbortController();
    const first = records.record({ ...work, call: { signal: abort.signal } }, at('/memories/a'));
    abort.abort();
    await Promise.all([first, records.record(work, at('/memories/a'))]);
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put']);
  });
});

describe('receipts and answers', () => {
  it('go when more than so many days have passed, an answer only with its receipt', async () => {
    const site = await createSite();
    const put = async (cls: ObjectClass, id: string) =>
      putRecord(await (await site.client()).open(), cls, id, bytes(''));
    for (const id of ['old', 'late']) await put('receipts', id);
    for (const id of ['old', 'edge', 'kept', 'alone']) await put('answers', id);
    await site.time.pause(1);
    await put('receipts', 'edge');
    await put('answers', 'late');
    await site.time.pause(30 * DAY);
    await put('receipts', 'kept');
    expect(await expire(site, { dryRun: true })).toBe(4);
    expect(await expire(site, {})).toBe(4);
    expect(await idsOf(site, 'receipts')).toEqual(['edge', 'kept']);
    expect(await idsOf(site, 'answers')).toEqual(['edge', 'kept', 'late']);
  });
});
