import { afterEach, describe, expect, it } from 'vitest';
import { createAccessRecords } from '../../../../src/admin/expiry/access-records.ts';
import { MemoryError } from '../../../../src/errors.ts';
import type { MemoryPath } from '../../../../src/language/path.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { createTree } from '../../../../src/tree/tree.ts';
import { atFirst, countCalls, loseAnswer, noAnswer } from '../../../stage/store-wrappers.ts';
import {
  at,
  createSite,
  inTime,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../../stage/test-tree.ts';

const PATH = at('/memories/a');
const DAY_MS = 86_400_000;

describe('the record of a read', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(): Promise<{ readonly client: TestClient; readonly work: Work }> {
    site = await createSite();
    const client = await site.client();
    const work = await client.open();
    client.calls.length = 0;
    return { client, work };
  }

  it('is written once a day for each file, by one PUT', async () => {
    const { client, work } = await start();
    const records = createAccessRecords();
    for (const path of [PATH, PATH, at('/memories/b'), PATH]) await records.record(work, path);
    await Promise.all([records.record(work, at('/memories/c')), records.record(work, at('/memories/c'))]);
    expect(countCalls(client.calls)).toEqual({ put: 3 });
    const tomorrow = withTenant(work, { stamps: inTime(() => work.tenant.clock() + DAY_MS) });
    for (const path of [PATH, PATH]) await records.record(tomorrow, path);
    expect(countCalls(client.calls)).toEqual({ put: 4 });
  });

  it('may be there already, from another process', async () => {
    const { client, work } = await start();
    await createAccessRecords().record(work, PATH);
    await createAccessRecords().record(work, PATH);
    expect(countCalls(client.calls)).toEqual({ put: 2 });
  });

  it('is written although the caller whose read it was has cancelled, for others may wait for it', async () => {
    const { client, work } = await start();
    const records = createAccessRecords();
    await records.record({ ...work, call: { signal: AbortSignal.abort() } }, PATH);
    await records.record(work, PATH);
    expect(countCalls(client.calls)).toEqual({ put: 1 });
  });

  it('is there when no answer tells so and it is seen', async () => {
    const { client, work } = await start();
    let refused = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') return loseAnswer(proceed);
      if (call.verb !== 'get' || refused) return proceed();
      refused = true;
      throw noAnswer();
    });
    await createAccessRecords().record(work, PATH);
    expect(client.calls.map(({ verb }) => verb)).toContain('head');
  });

  it('is missing when no answer tells whether it is there and it is not seen', async () => {
    const { client, work } = await start();
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' || call.verb === 'get') throw noAnswer();
      return proceed();
    });
    const recording = createAccessRecords().record(work, PATH);
    await expect(recording).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('is missing when the store refuses it, whatever lies at its place', async () => {
    const { client, work } = await start();
    await createAccessRecords().record(work, PATH);
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') throw new MemoryError('access_denied', 'no');
      return proceed();
    });
    const recording = createAccessRecords().record(work, PATH);
    await expect(recording).rejects.toMatchObject({ code: 'access_denied' });
  });

  it('is written again after a failure', async () => {
    const { client, work } = await start();
    const records = createAccessRecords();
    client.intercept(
      atFirst('put', () => {
        throw new MemoryError('unavailable', 'not now');
      }),
    );
    await expect(records.record(work, PATH)).rejects.toMatchObject({ code: 'unavailable' });
    await records.record(work, PATH);
    await records.record(work, PATH);
    expect(countCalls(client.calls)).toEqual({ put: 2 });
  });

  it('of another day is not forgotten when one of the day before fails at last', async () => {
    const { client, work } = await start();
    const records = createAccessRecords();
    const failing = Promise.withResolvers<never>();
    client.intercept(atFirst('put', () => failing.promise));
    const yesterday = records.record(work, PATH);
    const today = withTenant(work, { stamps: inTime(() => work.tenant.clock() + DAY_MS) });
    await records.record(today, PATH);
    failing.reject(new MemoryError('unavailable', 'not now'));
    await expect(yesterday).rejects.toMatchObject({ code: 'unavailable' });
    await records.record(today, PATH);
    expect(countCalls(client.calls)).toEqual({ put: 2 });
  });

  it('is remembered for 100,000 files, and asked for again beyond', async () => {
    const { client, work } = await start();
    const records = createAccessRecords();
    await records.record(work, PATH);
    const { keyrings } = work.tenant;
    const { keyring } = work;
    /** Files whose records are under way: they wait for a keyring that never comes. */
    const stuck: Work = {
      ...work,
      tenant: {
        ...work.tenant,
        keyrings: {
          ...keyrings,
          load: () => new Promise(() => {}),
          sendBy() {
            throw new MemoryError('unavailable', 'the keys are too old');
          },
        },
      },
      keyring: { ...keyring, names: { ...keyring.names, keyedHash: (_, path) => path } },
    };
    for (let file = 1; file < 99_999; file++) void records.record(stuck, `${file}` as MemoryPath);
    await records.record(work, PATH);
    expect(countCalls(client.calls)).toEqual({ put: 1 });
    void records.record(stuck, '0' as MemoryPath);
    await records.record(work, PATH);
    expect(countCalls(client.calls)).toEqual({ put: 2 });
  });
});

it.each([
  [undefined, 1],
  [false, 1],
  [true, 0],
])('a read is recorded by a tree whose readOnly is %s: %i', async (readOnly, puts) => {
  const site = await createSite();
  const client = await site.client();
  await client.create('/memories/a', 'text');
  const { tenant } = await client.open();
  client.calls.length = 0;
  const accessRecords = createAccessRecords();
  const tree = createTree({ ...tenant, accessRecords, ...(readOnly !== undefined && { readOnly }) });
  expect(await tree.read(PATH)).toBeDefined();
  expect(await tree.read(at('/memories/missing'))).toBeUndefined();
  expect(countCalls(client.calls)['put'] ?? 0).toBe(puts);
  await site.base[Symbol.asyncDispose]();
});
