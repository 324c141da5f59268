import { expect, it } from 'vitest';
import type { Bucket } from '../../../stage/bucket.ts';
import type { StoreCall } from '../../../stage/store-wrappers.ts';
import { describeOnBothKinds, type TestSite } from '../../../stage/test-tree.ts';
import { createCheckedTenant, DAY } from '../checked-tenant.ts';

describeOnBothKinds('what verify tells of the end of a file since a checkpoint', (newSite) => {
  const start = async () => createCheckedTenant(await newSite(), 'on');

  /** A process of its own saves the version for a delete, and is cut off before or behind that. */
  async function dieAtDelete(site: TestSite, path: string, isSent: boolean): Promise<void> {
    const client = await site.client();
    const died = Promise.withResolvers<void>();
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>): Promise<T> => {
      if (call.verb !== 'delete') return proceed();
      if (isSent) await proceed();
      died.resolve();
      return new Promise<T>(() => {});
    });
    void client.remove(path);
    await died.promise;
  }

  it('cannot tell a drop from a delete whose process was cut off behind it: a delete saves the version first', async () => {
    for (const isSent of [true, false]) {
      const { site, later, checkpoint, since, drop } = await start();
      const line = await checkpoint();
      await later();
      await dieAtDelete(site, '/memories/b', isSent);
      expect(await since(line)).toEqual([`untold ${isSent ? 'unrecorded' : 'saved'} b`]);
      // To who looks later it is the same store.
      if (!isSent) await drop('/memories/b');
      expect(await since(line)).toEqual(['untold unrecorded b']);
    }
  });

  it('cannot tell a file that was put back behind its one edit from an edit that was cut off: the same bytes lie there', async () => {
    const { client, later, checkpoint, since, bucket, putBack, nameOf } = await start();
    const line = await checkpoint();
    await later();
    const name = await nameOf('/memories/b');
    let cutOff = new Map() as Bucket;
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>): Promise<T> => {
      if (call.verb === 'put' && call.key.endsWith(name)) cutOff = await bucket();
      return proceed();
    });
    await client.append('/memories/b', ' b1');
    const next = await checkpoint();
    await putBack(cutOff, name);
    const besidesLines = (all: Bucket): Bucket =>
      new Map([...all].filter(([key]) => !key.includes('/checkpoints/')));
    expect(besidesLines(await bucket())).toEqual(besidesLines(cutOff));
    expect(await since(line)).toEqual(['untold saved b']);
    // A line from between the edit and the attack knows of the edit.
    await later();
    expect(await since(next)).toEqual(['older b']);
  });

  it('sees nothing since a line where no record is left of what came of it, and does since a line from in between', async () => {
    const { client, later, checkpoint, since, bucket, putBack, drop, nameOf } = await start();
    const line = await checkpoint();
    const old = await bucket();
    await later();
    await client.append('/memories/b', ' b1');
    await client.create('/memories/c', 'c');
    await later();
    const next = await checkpoint();
    await later();
    await putBack(old, await nameOf('/memories/b'));
    await putBack(old, '/history/');
    await drop('/memories/c');
    expect(await since(line)).toEqual([]);
    expect(await since(next)).toEqual(['older b', 'gone c']);
  });

  it('names a drop of what was saved for a delete that can have come to nothing only', async () => {
    const { site, client, later, checkpoint, since, drop } = await start();
    await dieAtDelete(site, '/memories/a', false);
    await dieAtDelete(site, '/memories/b', false);
    // No process has saved it at the path where it lies now.
    await client.rename('/memories/b', '/memories/c');
    await later();
    const line = await checkpoint();
    await drop('/memories/c');
    expect(await since(line)).toEqual(['gone c']);
    await drop('/memories/a');
    expect((await since(line)).toSorted()).toEqual(['gone c', 'untold unrecorded a']);
  });

  it('names a drop of what was saved for a delete days before the checkpoint', async () => {
    const { site, checkpoint, since, drop } = await start();
    await dieAtDelete(site, '/memories/b', false);
    await site.time.pause(2 * DAY);
    const line = await checkpoint();
    await drop('/memories/b');
    expect(await since(line)).toEqual(['gone b']);
  });

  it('names a file that was put where it lay before, and written, while it lies elsewhere', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack, nameOf } = await start();
    const old = await bucket();
    await client.rename('/memories/b', '/memories/c');
    await later();
    const line = await checkpoint();
    await later();
    await putBack(old, await nameOf('/memories/b'));
    await (await site.client()).append('/memories/b', ' b1');
    expect(await since(line)).toEqual(['older b']);
  });

  it('names a file that was deleted a moment after its directory was renamed, and put back as it was', async () => {
    const { client, later, checkpoint, since, bucket, putBack, nameOf } = await start();
    await client.create('/memories/d/b', 'b');
    await later();
    const line = await checkpoint();
    await client.rename('/memories/d', '/memories/e');
    const old = await bucket();
    await client.remove('/memories/e/b');
    expect(await since(line)).toEqual([]);
    await putBack(old, await nameOf('/memories/e/b'));
    expect(await since(line)).toEqual(['older e/b']);
  });
});
