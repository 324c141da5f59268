import { expect, it } from 'vitest';
import { writeCheckpoint } from '../../../../src/admin/checkpoints/checkpoint.ts';
import { type ExpiryOptions, expireTree } from '../../../../src/admin/expiry/expire.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { describeOnBothKinds } from '../../../stage/test-tree.ts';
import { type CheckedTenant, createCheckedTenant, DAY } from '../checked-tenant.ts';

describeOnBothKinds('the expiry of checkpoints', (newSite) => {
  const start = async () => createCheckedTenant(await newSite(), 'on');

  /** Runs the expiry, for which a checkpoint is old after 90 days; returns how many records went. */
  async function expire({ site }: CheckedTenant, options: ExpiryOptions = {}): Promise<number> {
    return (await expireTree((await site.client()).tenant, options)).records;
  }

  /** Answers the letters with which the ids of records begin, one for each record. */
  async function stored({ bucket }: CheckedTenant): Promise<string> {
    const ids = [...(await bucket()).keys()].flatMap((key) => /\/checkpoints\/([cp])/.exec(key)?.[1] ?? []);
    return ids.toSorted().join('');
  }

  async function write({ site }: CheckedTenant): Promise<string> {
    return (await writeCheckpoint((await site.client()).tenant, {}, { partBytes: 100 })).line;
  }

  it('deletes what is older than its time, each with its parts, and keeps the others', async () => {
    const tenant = await start();
    await write(tenant);
    await tenant.site.time.pause(60 * DAY);
    const second = await write(tenant);
    await tenant.site.time.pause(60 * DAY);
    const third = await write(tenant);
    expect(await stored(tenant)).toBe('cccpppppp');
    expect(await expire(tenant, { dryRun: true })).toBe(3);
    expect(await stored(tenant)).toBe('cccpppppp');
    expect(await expire(tenant)).toBe(3);
    expect(await stored(tenant)).toBe('ccpppp');
    for (const line of [second, third]) expect(await tenant.since(line)).toEqual([]);
    expect(await expire(tenant)).toBe(0);
  });

  it('keeps the newest with its parts, however old it is', async () => {
    const tenant = await start();
    await write(tenant);
    const newest = await write(tenant);
    await tenant.site.time.pause(300 * DAY);
    expect(await expire(tenant)).toBe(3);
    expect(await stored(tenant)).toBe('cpp');
    expect(await tenant.since(newest)).toEqual([]);
  });

  it('deletes the parts that a process left which was cut off before its head', async () => {
    const tenant = await start();
    await write(tenant);
    for (const key of (await tenant.bucket()).keys())
      if (key.includes('/checkpoints/c')) await tenant.site.base.delete([{ key }]);
    expect(await expire(tenant)).toBe(0);
    await tenant.site.time.pause(120 * DAY);
    const line = await write(tenant);
    expect(await expire(tenant)).toBe(2);
    expect([await stored(tenant), await tenant.since(line)]).toEqual(['cpp', []]);
  });

  it('deletes nothing while it cannot tell which parts are those of the newest', async () => {
    const tenant = await start();
    await write(tenant);
    await write(tenant);
    await tenant.site.time.pause(120 * DAY);
    const head = [...(await tenant.bucket()).keys()]
      .filter((key) => key.includes('/checkpoints/c'))
      .toSorted();
    const newest = head.at(-1) as ObjectKey;
    await tenant.site.base.put(newest, new Uint8Array(100), { mode: 'overwrite' });
    expect(await expire(tenant)).toBe(0);
    expect(await stored(tenant)).toBe('ccpppp');
  });
});
