import { beforeEach, describe, expect, it } from 'vitest';
import { decodeExpired, expiredBefore, noteExpired } from '../../../../src/admin/expiry/history-note.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import { bytes, openSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const NOTE = 'tenants/acme/journal/history' as ObjectKey;
let site: TestSite;
let client: TestClient;
let work: Work;

beforeEach(async () => {
  site = await openSite();
  client = await site.client();
  work = await client.open();
  client.calls.length = 0;
});

const asked = () => countCalls(client.calls.filter((call) => 'key' in call && call.key === NOTE));

describe('the time before which the history has expired', () => {
  it('is the beginning of all time for a tenant of which no record has', async () => {
    expect(await expiredBefore(work)).toBe(0);
    expect(asked()).toEqual({ get: 1 });
  });

  it('is noted once, and moves forward alone', async () => {
    await noteExpired(work, 1_000, []);
    expect(asked()).toEqual({ get: 1, put: 1 });
    expect(await expiredBefore(work)).toBe(1_000);
    client.calls.length = 0;
    for (const before of [1_000, 999]) await noteExpired(work, before, []);
    expect(asked()).toEqual({ get: 2 });
    expect(await expiredBefore(work)).toBe(1_000);
    await noteExpired(work, 1_001, []);
    expect(await expiredBefore(work)).toBe(1_001);
  });

  it.each([
    ['a later one', 3_000, 3_000, 0],
    ['an earlier one', 1_000, 2_000, 1],
  ])('is read again where another run has noted %s meanwhile', async (_, theirs, told, puts) => {
    const other = await (await site.client()).open();
    let met = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && !met) {
        met = true;
        await noteExpired(other, theirs, []);
      }
      return proceed();
    });
    await noteExpired(work, 2_000, []);
    expect(await expiredBefore(work)).toBe(told);
    expect(asked()).toMatchObject({ put: 1 + puts });
  });

  it('is refused where other runs note theirs at each of five attempts', async () => {
    const other = await (await site.client()).open();
    let theirs = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') await noteExpired(other, ++theirs, []);
      return proceed();
    });
    await expect(noteExpired(work, 1_000, [])).rejects.toMatchObject({ code: 'unavailable' });
    expect(await expiredBefore(other)).toBe(5);
  });

  it('counts as untold where the note is damaged, which is not written over', async () => {
    await site.base.put(NOTE, new Uint8Array(400), { mode: 'create' });
    expect(await expiredBefore(work)).toBe(0);
    await expect(noteExpired(work, 1_000, [])).rejects.toMatchObject({ code: 'integrity' });
    const cancelled = { ...work, call: { signal: AbortSignal.abort() } };
    await expect(expiredBefore(cancelled)).rejects.toMatchObject({ code: 'aborted' });
  });

  it('is read from notes of four kilobytes at most', async () => {
    const note = (length: number) => bytes(`{"expiredBefore":7}${' '.repeat(length - 19)}`);
    await putRecord(work, 'journal', 'history', note(4_096));
    expect(await expiredBefore(work)).toBe(7);
    await site.base.delete([{ key: NOTE }]);
    await putRecord(work, 'journal', 'history', note(4_097));
    expect(await expiredBefore(work)).toBe(0);
  });

  it('is a time, and nothing else is', () => {
    expect(decodeExpired(encodeFields({ expiredBefore: 12 }))).toBe(12);
    for (const fields of [{}, { expiredBefore: '12' }, { expiredBefore: -1 }, { expired: 12 }]) {
      expect(() => decodeExpired(encodeFields(fields))).toThrow(
        expect.objectContaining({ code: 'integrity' }),
      );
    }
    expect(() => decodeExpired(bytes('12'))).toThrow(expect.objectContaining({ code: 'integrity' }));
  });
});
