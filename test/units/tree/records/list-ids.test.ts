import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { listIds, pagesOfIds } from '../../../../src/tree/records/list-ids.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import { bytes, createSite } from '../../../stage/test-tree.ts';

/** A process, and objects of any bytes at those places below the tenant. */
async function start(places: readonly string[]) {
  const site = await createSite();
  const client = await site.client();
  const work = await client.open();
  for (const place of places) {
    await site.base.put(`${client.layout.tenantPrefix}${place}` as ObjectKey, bytes(place), {
      mode: 'create',
    });
  }
  client.calls.length = 0;
  return { ...site, client, work };
}

describe('the records of a class', () => {
  it('are those of that class alone, in the order of their ids, with what a listing shows of them', async () => {
    const places = ['history/b', 'history/a', 'history/a/b', 'history/a.b', 'historyx/a', 'receipts/a'];
    const { client, work } = await start(places);
    const listed = await listIds(work, 'history');
    expect(listed.map(({ id }) => id)).toEqual(['a', 'b']);
    const key = `${client.layout.tenantPrefix}history/a`;
    expect(listed[0]?.object).toMatchObject({ key, size: 'history/a'.length });
    expect(countCalls(client.calls)).toEqual({ list: 1 });
  });

  it('are those whose ids have a beginning', async () => {
    const { client, work } = await start(['receipts/a1', 'receipts/a2', 'receipts/b1', 'history/a3']);
    expect((await listIds(work, 'receipts', 'a')).map(({ id }) => id)).toEqual(['a1', 'a2']);
    expect(client.calls).toMatchObject([{ prefix: `${client.layout.tenantPrefix}receipts/a` }]);
  });

  it('come by pages of a thousand, each with the time of its answer', async () => {
    const ids = Array.from({ length: 1_001 }, (_, i) => `${10_000 + i}`);
    const { client, work, time } = await start(ids.map((id) => `access/${id}`));
    const pages: [number, number][] = [];
    for await (const { ids: page, servedAt } of pagesOfIds(work, 'access')) {
      pages.push([page.length, servedAt]);
      await time.pause(1_000);
    }
    expect(pages).toEqual([
      [1_000, time.clock() - 2_000],
      [1, time.clock() - 1_000],
    ]);
    expect((await listIds(work, 'access')).map(({ id }) => id)).toEqual(ids);
    expect(countCalls(client.calls)).toEqual({ list: 4 });
  });

  it('of a class without any are none', async () => {
    const { work } = await start([]);
    expect(await listIds(work, 'actors')).toEqual([]);
  });
});
