import { expect, it } from 'vitest';
import { expireTree } from '../../../../src/admin/expiry/expire.ts';
import type { Finding } from '../../../../src/admin/findings.ts';
import { turnTenantHistory } from '../../../../src/admin/keys/turn-history.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { describeOnBothKinds, inTime } from '../../../stage/test-tree.ts';
import { type CheckedTenant, createCheckedTenant, DAY, HOUR } from '../checked-tenant.ts';

describeOnBothKinds('what verify asks of the history since a checkpoint', (newSite) => {
  const start = async (history: 'on' | 'off') => createCheckedTenant(await newSite(), history);

  async function turn({ site }: CheckedTenant, to: 'on' | 'off'): Promise<void> {
    const { editor } = await createOperator(site);
    await turnTenantHistory({ editor, stamps: inTime(site.time.clock) }, to);
  }

  /** Two edits and a delete by a process that has no newer keyring than the given tenant's. */
  async function change({ client }: CheckedTenant): Promise<void> {
    await client.append('/memories/a', ' a3');
    await client.append('/memories/a', ' a4');
    await client.remove('/memories/b');
  }

  it('is nothing that a process did which had not learned yet that history is turned on', async () => {
    const tenant = await start('off');
    await tenant.client.text('/memories/a');
    await turn(tenant, 'on');
    const line = await tenant.checkpoint();
    await change(tenant);
    const found = ['untold history_off a', 'untold history_off b'];
    expect((await tenant.since(line)).toSorted()).toEqual(found);
    await tenant.site.time.pause(2 * DAY);
    // A change since then can be followed.
    const next = await tenant.checkpoint();
    const before = await tenant.bucket();
    await tenant.client.append('/memories/a', ' a5');
    await tenant.client.append('/memories/a', ' a6');
    expect(await tenant.since(next)).toEqual([]);
    await tenant.putBack(before, '/history/');
    expect(await tenant.since(next)).toEqual(['history']);
  });

  it('is nothing that was done while history was turned off meanwhile', async () => {
    const tenant = await start('on');
    const line = await tenant.checkpoint();
    await turn(tenant, 'off');
    await tenant.site.time.pause(HOUR);
    await change(tenant);
    await tenant.site.time.pause(HOUR);
    await turn(tenant, 'on');
    await tenant.site.time.pause(DAY);
    const found = ['untold history_off a', 'untold history_off b'];
    expect((await tenant.since(line)).toSorted()).toEqual(found);
  });

  it.each([0, 47, -47])(
    'is what its days keep by the time of the store, where the clock of the reader is off by %d hours',
    async (hours) => {
      const tenant = await start('on');
      await tenant.site.time.pause(2 * DAY);
      const line = await tenant.checkpoint();
      await tenant.drop('/memories/b');
      const look = async (): Promise<readonly Finding[]> => {
        const clock = (): number => tenant.site.time.clock() + hours * HOUR;
        const { clock: storeTime } = tenant.site.time;
        const stamps = { now: storeTime, storeTime, skew: () => hours * HOUR };
        const reader = await tenant.site.client({ clock, stamps: { ...stamps, observe: () => {} } });
        return (await verifyTree(reader.tenant, { since: line, historyDays: 30 })).findings;
      };
      await tenant.site.time.pause(28 * DAY);
      expect(await look()).toEqual([expect.objectContaining({ path: '/memories/b', state: 'gone' })]);
      await tenant.site.time.pause(2 * DAY);
      expect(await look()).toEqual([expect.objectContaining({ path: '/memories/b', why: 'not_kept' })]);
    },
  );

  it('names a version that only the checkpoint has as missing, as without one', async () => {
    const tenant = await start('on');
    await tenant.site.time.pause(2 * DAY);
    const line = await tenant.checkpoint();
    const before = await tenant.bucket();
    await tenant.client.append('/memories/a', ' a3');
    await tenant.putBack(before, '/history/');
    const opened = (await tenant.site.client()).tenant;
    const missing = (await verifyTree(opened)).findings;
    expect(missing).toMatchObject([{ kind: 'history', state: 'missing', path: '/memories/a' }]);
    expect((await verifyTree(opened, { since: line })).findings).toEqual(missing);
  });

  it('is nothing that an expiry run deleted, however long it is kept since', async () => {
    const tenant = await start('on');
    const line = await tenant.checkpoint();
    await change(tenant);
    expect(await tenant.since(line)).toEqual([]);
    await tenant.site.time.pause(10 * DAY);
    await expireTree((await tenant.site.client()).tenant, { historyDays: 5 });
    const found = ['untold not_kept a', 'untold not_kept b'];
    for (const days of [undefined, 30, 5]) expect((await tenant.since(line, days)).toSorted()).toEqual(found);
  });
});
