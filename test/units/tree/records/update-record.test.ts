import { describe, expect, it } from 'vitest';
import { classKey } from '../../../../src/format/object-keys.ts';
import { throwing } from '../../../../src/tree/concurrency.ts';
import {
  decodeFields,
  encodeFields,
  readRecord,
  type StoredRecord,
  writeRecord,
} from '../../../../src/tree/records/sealed-record.ts';
import { MOST_ATTEMPTS, rewriteRecord, updateRecord } from '../../../../src/tree/records/update-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { createSite, type TestSite } from '../../../stage/test-tree.ts';

const COUNT = { cls: 'journal', id: 'count', maxBytes: 1_024 } as const;
const overtaken = throwing('unavailable', 'overtaken, says the test');

function contentOf(count: number) {
  return { content: encodeFields({ count }) };
}

function countIn(record: Pick<StoredRecord, 'content'> | undefined): number {
  return record === undefined ? 0 : Number(decodeFields(record.content)?.['count']);
}

async function writer(site: TestSite) {
  const client = await site.client();
  const work = await client.open();
  client.calls.length = 0;
  const verbs = (): readonly string[] => client.calls.map(({ verb }) => verb);
  /** Another process writes the record before each of the next `most` PUTs. */
  const disturb = (most: number, other: Work): void => {
    let left = most;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && left-- > 0) {
        const found = await readRecord(other, COUNT);
        await putRecord(other, COUNT.cls, COUNT.id, contentOf(countIn(found) + 100).content);
      }
      return proceed();
    });
  };
  return { work, verbs, disturb };
}

describe('a record that is updated', () => {
  it('is created, then replaced, at the price of a GET and a PUT each', async () => {
    const { work, verbs } = await writer(await createSite());
    for (const count of [1, 2]) {
      const add = (found: StoredRecord | undefined) => contentOf(countIn(found) + 1);
      await updateRecord(work, COUNT, add, { most: 1, overtaken });
      expect(countIn(await readRecord(work, COUNT))).toBe(count);
    }
    expect(verbs()).toEqual(['get', 'put', 'get', 'get', 'put', 'get']);
  });

  it('keeps what others wrote meanwhile, for the change is made anew of each version', async () => {
    const site = await createSite();
    const [one, other] = [await writer(site), await writer(site)];
    one.disturb(3, other.work);
    const met: number[] = [];
    const add = (found: StoredRecord | undefined) => {
      met.push(countIn(found));
      return contentOf(countIn(found) + 1);
    };
    const end = await updateRecord(one.work, COUNT, add, { most: 4, overtaken });
    expect(met).toEqual([0, 100, 200, 300]);
    const stored = await readRecord(other.work, COUNT);
    expect(countIn(stored)).toBe(301);
    expect(end).toMatchObject({ etag: stored?.etag });
  });

  it.each([1, 4])('is left to others that were first at each of %s attempts', async (most) => {
    const site = await createSite();
    const [one, other] = [await writer(site), await writer(site)];
    one.disturb(Number.POSITIVE_INFINITY, other.work);
    const updating = updateRecord(one.work, COUNT, () => contentOf(1), { most, overtaken });
    await expect(updating).rejects.toMatchObject({
      code: 'unavailable',
      message: 'overtaken, says the test',
    });
    expect(one.verbs()).toEqual(Array.from({ length: most }, () => ['get', 'put']).flat());
    expect(countIn(await readRecord(other.work, COUNT))).toBe(100 * most);
  });

  it('is not written where the change ends', async () => {
    const { work, verbs } = await writer(await createSite());
    const end = await updateRecord(work, COUNT, () => ({ ended: 'none' }), { most: 2, overtaken });
    expect(end).toEqual({ ended: 'none' });
    expect(verbs()).toEqual(['get']);
  });
});

describe('a record that is rewritten on a known version', () => {
  async function known(work: Work) {
    const written = await writeRecord(work, COUNT, { ...contentOf(1), base: undefined });
    if ('conflict' in written) throw new Error('the record is there');
    return { ...contentOf(2), base: written.etag };
  }

  it('costs a PUT', async () => {
    const { work, verbs } = await writer(await createSite());
    const etag = await rewriteRecord(work, COUNT, await known(work), () => undefined, overtaken);
    expect((await readRecord(work, COUNT))?.etag).toBe(etag);
    expect(verbs()).toEqual(['put', 'put', 'get']);
  });

  it('is changed anew where another process wrote it meanwhile, on the version that is there', async () => {
    const site = await createSite();
    const [one, other] = [await writer(site), await writer(site)];
    const before = await known(one.work);
    one.disturb(2, other.work);
    const add = (found: StoredRecord | undefined) => contentOf(countIn(found) + 1);
    await rewriteRecord(one.work, COUNT, before, add, overtaken);
    expect(countIn(await readRecord(other.work, COUNT))).toBe(202);
  });

  it('is created anew where another process deleted it meanwhile', async () => {
    const { work } = await writer(await createSite());
    const before = await known(work);
    await work.tenant.store.delete([{ key: classKey(work.tenant.layout, COUNT.cls, COUNT.id) }]);
    const add = (found: StoredRecord | undefined) => contentOf(countIn(found) + 7);
    const etag = await rewriteRecord(work, COUNT, before, add, overtaken);
    const stored = await readRecord(work, COUNT);
    expect([countIn(stored), stored?.etag]).toEqual([7, etag]);
  });

  it('is left where the change says so', async () => {
    const site = await createSite();
    const [one, other] = [await writer(site), await writer(site)];
    const before = await known(one.work);
    one.disturb(1, other.work);
    expect(await rewriteRecord(one.work, COUNT, before, () => undefined, overtaken)).toBeUndefined();
    expect(countIn(await readRecord(other.work, COUNT))).toBe(101);
    expect(one.verbs().slice(1)).toEqual(['put', 'get']);
  });

  it('is left to others that were first at each of eight attempts', async () => {
    const site = await createSite();
    const [one, other] = [await writer(site), await writer(site)];
    const before = await known(one.work);
    one.disturb(Number.POSITIVE_INFINITY, other.work);
    const end = await rewriteRecord(
      one.work,
      COUNT,
      before,
      () => contentOf(1),
      () => 'overtaken' as const,
    );
    expect([end, MOST_ATTEMPTS]).toEqual(['overtaken', 8]);
    expect(one.verbs().slice(1)).toEqual(Array.from({ length: 8 }, () => ['put', 'get']).flat());
  });
});
