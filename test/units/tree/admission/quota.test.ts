import { describe, expect, it } from 'vitest';
import { hasCode, MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { parseTenantId } from '../../../../src/format/object-keys.ts';
import { parseMemoryPath } from '../../../../src/language/path.ts';
import { createQuota, createTenantUsage, openQuota } from '../../../../src/tree/admission/quota.ts';
import {
  countCalls,
  loseAnswer,
  type NotedOptions,
  noAnswer,
  noteOptions,
  type StoreCall,
} from '../../../stage/store-wrappers.ts';
import { createSite, describeOnBothKinds, type TestClient, withTenant } from '../../../stage/test-tree.ts';

const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(97);
const at = (name: string) => parseMemoryPath(`/memories/${name}`);

async function amount({ tree }: TestClient): Promise<readonly [number, number]> {
  const { files } = await tree.list(parseMemoryPath('/memories'));
  return [files.length, files.reduce((sum, { size }) => sum + size, 0)];
}

const refusedFor = (limit: string) => ({ code: 'limit_exceeded', details: { limit } });

/** Holds the first such request, before it is sent or before its answer is seen, until it is released. */
function hold(
  client: TestClient,
  when: 'before' | 'after',
  isHeld: (call: StoreCall) => boolean,
): { readonly reached: Promise<void>; release(): void } {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let met = false;
  client.intercept(async (call, proceed) => {
    if (met || !isHeld(call)) return proceed();
    met = true;
    if (when === 'after') {
      const answer = await proceed();
      reached.resolve();
      await released.promise;
      return answer;
    }
    reached.resolve();
    await released.promise;
    return proceed();
  });
  return { reached: reached.promise, release: () => released.resolve() };
}

describeOnBothKinds('a quota', (site) => {
  it('lists once a minute when something is to grow, and not without a limit', async () => {
    const { client, time } = await site();
    const lists = ({ calls }: TestClient): number => countCalls(calls)['list'] ?? 0;
    const [plain, limited] = [await client(), await client({ limits: { files: 100, tenantBytes: 1_000 } })];
    await plain.create('/memories/warm', 'x');
    await limited.text('/memories/warm');
    for (const each of [plain, limited]) each.calls.length = 0;
    // A create looks for clashes with one LIST.
    for (const name of ['p1', 'p2']) await plain.create(`/memories/${name}`, 'x');
    expect(lists(plain)).toBe(2);
    for (const name of ['l1', 'l2', 'l3']) await limited.create(`/memories/${name}`, 'x');
    expect(lists(limited)).toBe(4);
    await time.pause(61_000);
    await limited.append('/memories/l1', 'more');
    expect(lists(limited)).toBe(5);
    await limited.append('/memories/l1', 'more');
    await time.pause(61_000);
    await limited.tree.edit(at('l1'), () => ({ content: bytes(1), result: undefined }));
    await limited.remove('/memories/l2');
    await limited.rename('/memories/l3', '/memories/l4');
    const others = lists(limited);
    await limited.create('/memories/l5', '');
    // One for the clash and one to count: an empty file grows by no byte, but by a file.
    expect(lists(limited)).toBe(others + 2);
  });

  it('does not list for the size of a file where only files are limited', async () => {
    const { client } = await site();
    const limited = await client({ limits: { files: 5 } });
    await limited.create('/memories/a', 'x');
    const other = await client({ limits: { files: 5 } });
    await other.text('/memories/a');
    other.calls.length = 0;
    await other.append('/memories/a', 'much more');
    // One looks for clashes of a young file.
    expect(countCalls(other.calls)['list'] ?? 0).toBeLessThanOrEqual(1);
  });

  it.each([1, 2])(
    'never lets 50 creates at once exceed a limit, in %i sessions of one process',
    async (sessions) => {
      const { client } = await site();
      for (const limits of [{ files: 10 }, { tenantBytes: 105 }]) {
        const usage = createTenantUsage();
        const tenant = `t-${Object.keys(limits).join('').toLowerCase()}`;
        const clients = await Promise.all(
          Array.from({ length: sessions }, () => client({ limits, usage, delayMs: 20, tenant })),
        );
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, async (_, i) =>
            clients[i % sessions]?.tree.create(at(`f${i}`), bytes(10)),
          ),
        );
        const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
        expect(refused).toHaveLength(40);
        expect(refused.every((error) => hasCode(error, 'limit_exceeded'))).toBe(true);
        const [first] = clients;
        expect(first && (await amount(first))).toEqual([10, 100]);
      }
    },
  );

  it('counts bytes that are replaced, whichever verb replaces them', async () => {
    const { client } = await site();
    const one = await client({ limits: { tenantBytes: 100 } });
    const { tree } = one;
    await tree.create(at('a'), bytes(60));
    await tree.overwrite(at('a'), bytes(90));
    await tree.overwrite(at('a'), bytes(100));
    await expect(tree.overwrite(at('a'), bytes(101))).rejects.toMatchObject(refusedFor('tenant_bytes'));
    const version = (await tree.readVersion(at('a')))?.etag;
    if (version === undefined) throw new Error('there is no file');
    await expect(tree.replace(at('a'), { content: bytes(101), version })).rejects.toMatchObject(
      refusedFor('tenant_bytes'),
    );
    const shorter = await tree.replace(at('a'), { content: bytes(50), version });
    await tree.replace(at('a'), { content: bytes(100), version: shorter });
    await tree.edit(at('a'), () => ({ content: bytes(20), result: undefined }));
    await tree.create(at('b'), bytes(80));
    await expect(tree.create(at('c'), bytes(1))).rejects.toMatchObject(refusedFor('tenant_bytes'));
    // Another process, which has read nothing.
    const other = await client({ limits: { tenantBytes: 100 } });
    await other.tree.overwrite(at('b'), bytes(70));
    const { etag = shorter } = (await one.tree.readVersion(at('a'))) ?? {};
    await other.tree.replace(at('a'), { content: bytes(30), version: etag });
    await expect(other.tree.overwrite(at('a'), bytes(31))).rejects.toMatchObject(refusedFor('tenant_bytes'));
    expect(await amount(one)).toEqual([2, 100]);
  });

  it('answers a version that is no longer there as such, not with a limit', async () => {
    const { client } = await site();
    const { tree } = await client({ limits: { tenantBytes: 100 } });
    const version = await tree.create(at('a'), bytes(60));
    await tree.overwrite(at('a'), bytes(90));
    const late = tree.replace(at('a'), { content: bytes(200), version });
    await expect(late).rejects.toMatchObject({ code: 'version_conflict' });
  });

  it('lets what shrinks, goes or gets another name pass above a limit', async () => {
    const { client } = await site();
    const plain = await client();
    for (const name of ['a', 'd/b', 'd/c']) await plain.tree.create(at(name), bytes(50));
    const limited = await client({ limits: { files: 2, tenantBytes: 60 } });
    await expect(limited.append('/memories/a', 'x')).rejects.toMatchObject(refusedFor('tenant_bytes'));
    await limited.tree.edit(at('a'), () => ({ content: bytes(49), result: undefined }));
    await limited.tree.overwrite(at('a'), bytes(48));
    await limited.rename('/memories/a', '/memories/e');
    await limited.rename('/memories/d', '/memories/f');
    await limited.remove('/memories/f');
    await limited.create('/memories/g', 'x'.repeat(12));
    await expect(limited.create('/memories/h', '')).rejects.toMatchObject(refusedFor('files'));
    expect(await amount(limited)).toEqual([2, 60]);
  });

  it('has room at once for what it deleted, also while it counts', async () => {
    const { client, time } = await site();
    const one = await client({ limits: { files: 2 } });
    for (const name of ['a', 'b']) await one.create(`/memories/${name}`, 'x');
    await time.pause(61_000);
    const list = hold(one, 'after', (call) => call.verb === 'list');
    const waiting = one.create('/memories/c', 'x');
    await list.reached;
    await one.remove('/memories/a');
    list.release();
    await waiting;
    await expect(one.create('/memories/d', 'x')).rejects.toMatchObject(refusedFor('files'));
    expect(await one.paths()).toEqual(['/memories/b', '/memories/c']);
  });

  it('gives the room of a write back that did not land, and keeps that of one that may have landed', async () => {
    const { client } = await site();
    const one = await client({ limits: { files: 2 } });
    await one.create('/memories/a', 'x');
    await expect(one.create('/memories/a', 'x')).rejects.toMatchObject({ code: 'already_exists' });
    await expect(one.create('/memories/a/b', 'x')).rejects.toMatchObject({ code: 'already_exists' });
    one.intercept((call, proceed) =>
      call.verb === 'put' || call.verb === 'get' ? loseAnswer(proceed) : proceed(),
    );
    await expect(one.create('/memories/b', 'x')).rejects.toMatchObject({ code: 'outcome_unknown' });
    one.intercept((_, proceed) => proceed());
    await expect(one.create('/memories/c', 'x')).rejects.toMatchObject(refusedFor('files'));
  });

  it('takes the room of an edit once, however often that is judged, and keeps that of one that may have landed', async () => {
    const { client } = await site();
    const [one, other] = [await client({ limits: { tenantBytes: 10 } }), await client()];
    await one.create('/memories/a', 'xx');
    const edit = (length: number) => () => ({ content: bytes(length), result: undefined });
    one.intercept(async (call, proceed) => {
      if (call.verb === 'put') {
        one.intercept((_, go) => go());
        await other.tree.overwrite(at('a'), bytes(2));
      }
      return proceed();
    });
    await one.tree.edit(at('a'), edit(4));
    await one.create('/memories/b', 'x'.repeat(5));
    let lost = false;
    one.intercept((call, proceed) => {
      lost ||= call.verb === 'put';
      return lost ? loseAnswer(proceed) : proceed();
    });
    await expect(one.tree.edit(at('a'), edit(5))).rejects.toMatchObject({ code: 'outcome_unknown' });
    one.intercept((_, proceed) => proceed());
    await expect(one.create('/memories/c', 'x')).rejects.toMatchObject(refusedFor('tenant_bytes'));
  });

  it('writes nothing where it cannot count', async () => {
    const { client } = await site();
    const plain = await client();
    await plain.create('/memories/a', 'x');
    const one = await client({ limits: { files: 5 } });
    await one.text('/memories/a');
    one.calls.length = 0;
    const down = new MemoryError('unavailable', 'the store is down');
    one.intercept((call, proceed) => (call.verb === 'list' ? Promise.reject(down) : proceed()));
    await expect(one.create('/memories/b', 'x')).rejects.toMatchObject({ code: 'unavailable' });
    expect(countCalls(one.calls)).not.toHaveProperty('put');
    one.intercept((_, proceed) => proceed());
    await one.create('/memories/b', 'x');
  });

  it('judges edits that are written together one by one', async () => {
    const { client } = await site();
    const one = await client({ limits: { tenantBytes: 10 } });
    await one.create('/memories/a', 'x');
    const outcomes = await Promise.allSettled(
      ['1234', 'too much to fit', '56789', '!'].map((text) => one.append('/memories/a', text)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(await one.text('/memories/a')).toBe('x123456789');
  });

  it.each(['before', 'after'] as const)(
    'counts a write under way, held %s it lands, once when it lists meanwhile',
    async (when) => {
      const { client, time } = await site();
      const one = await client({ limits: { files: 3 } });
      await one.create('/memories/a', 'x');
      const late = hold(one, when, (call) => call.verb === 'put');
      const writing = one.create('/memories/b', 'x');
      await late.reached;
      await time.pause(61_000);
      await one.create('/memories/c', 'x');
      const beyond = one.create('/memories/d', 'x');
      await expect(beyond).rejects.toMatchObject(refusedFor('files'));
      late.release();
      await writing;
      expect(await one.paths()).toHaveLength(3);
    },
  );

  it('counts what landed after a listing under way had passed it', async () => {
    const { client, time } = await site();
    const one = await client({ limits: { files: 3 } });
    await one.create('/memories/a', 'x');
    const put = hold(one, 'before', (call) => call.verb === 'put');
    const writing = one.create('/memories/b', 'x');
    await put.reached;
    await time.pause(61_000);
    const list = hold(one, 'after', (call) => call.verb === 'list');
    const waiting = one.create('/memories/c', 'x');
    await list.reached;
    put.release();
    await writing;
    list.release();
    await waiting;
    const beyond = one.create('/memories/d', 'x');
    await expect(beyond).rejects.toMatchObject(refusedFor('files'));
  });

  it('gives no room away that a write under way will leave only once it has landed', async () => {
    const { client } = await site();
    const one = await client({ limits: { tenantBytes: 100 } });
    await one.tree.create(at('a'), bytes(60));
    const put = hold(one, 'before', (call) => call.verb === 'put');
    const shrinking = one.tree.overwrite(at('a'), bytes(10));
    await put.reached;
    await expect(one.tree.create(at('b'), bytes(50))).rejects.toMatchObject(refusedFor('tenant_bytes'));
    put.release();
    await shrinking;
    await one.tree.create(at('b'), bytes(50));
  });

  it('counts nothing while it renames: a file may be listed at two places then, or at none', async () => {
    const { client, time } = await site();
    const one = await client({ limits: { files: 5 } });
    for (const name of ['d/a', 'd/b', 'd/c']) await one.create(`/memories/${name}`, 'x');
    const deleting = hold(one, 'before', (call) => call.verb === 'delete');
    const renaming = one.rename('/memories/d', '/memories/z');
    await deleting.reached;
    await time.pause(61_000);
    await one.create('/memories/n1', 'x');
    await one.create('/memories/n2', 'x');
    const beyond = one.create('/memories/n3', 'x');
    await expect(beyond).rejects.toMatchObject(refusedFor('files'));
    deleting.release();
    await renaming.catch(() => undefined);
    expect(await one.paths()).toHaveLength(5);
  });

  it('renames nothing while it counts, and counts first what is being renamed', async () => {
    const { client, time } = await site();
    const one = await client({ limits: { files: 5 } });
    await one.create('/memories/a', 'x');
    await time.pause(61_000);
    const list = hold(one, 'after', (call) => call.verb === 'list');
    const creating = one.create('/memories/b', 'x');
    await list.reached;
    one.calls.length = 0;
    const renaming = one.rename('/memories/a', '/memories/z');
    await time.pause(1_000);
    expect(one.calls.filter(({ verb }) => verb === 'put')).toEqual([]);
    list.release();
    await Promise.all([creating, renaming]);
    const other = await client({ limits: { files: 2 } });
    const deleting = hold(other, 'before', (call) => call.verb === 'delete');
    const again = other.rename('/memories/z', '/memories/y');
    await deleting.reached;
    const first = expect(other.create('/memories/c', 'x')).rejects.toMatchObject(refusedFor('files'));
    await time.pause(1_000);
    deleting.release();
    await Promise.all([again, first]);
    expect(await one.paths()).toEqual(['/memories/b', '/memories/y']);
  });

  it('counts for the first time once the renames under way have ended, whose files lie at two places', async () => {
    const { client, time } = await site();
    const unlimited = await client();
    for (const name of ['a', 'b']) await unlimited.create(`/memories/${name}`, 'x');
    const one = await client({ limits: { files: 3 } });
    const deleting = hold(one, 'before', (call) => call.verb === 'delete');
    const renaming = one.rename('/memories/a', '/memories/z');
    await deleting.reached;
    const creating = one.create('/memories/c', 'x');
    creating.catch(() => {});
    await time.pause(1_000);
    deleting.release();
    await Promise.all([renaming, creating]);
    expect((await one.paths()).toSorted()).toEqual(['/memories/b', '/memories/c', '/memories/z']);
  });

  it('counts again a minute after a listing began, however long that took', async () => {
    const { client, time } = await site();
    const one = await client({ limits: { files: 5 } });
    await one.create('/memories/warm', 'x');
    await time.pause(61_000);
    one.intercept(async (call, proceed) => {
      if (call.verb !== 'list') return proceed();
      one.intercept((_, go) => go());
      await time.pause(40_000);
      return proceed();
    });
    await one.create('/memories/a', 'x');
    await time.pause(21_000);
    one.calls.length = 0;
    await one.create('/memories/b', 'x');
    expect(countCalls(one.calls)['list']).toBe(2);
  });

  it('renames nothing while it counts, also where a listing ends that was cancelled before', async () => {
    const { client, time } = await site();
    const one = await client({ limits: { files: 5 } });
    await one.create('/memories/a', 'x');
    await time.pause(61_000);
    const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let lists = 0;
    one.intercept(async (call, proceed) => {
      const at = call.verb === 'list' ? lists++ : 2;
      reached[at]?.resolve();
      await held[at]?.promise;
      return proceed();
    });
    const controller = new AbortController();
    const cancelled = one.tree.create(at('b'), bytes(1), { signal: controller.signal });
    await reached[0].promise;
    controller.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
    const creating = one.create('/memories/c', 'x');
    await reached[1].promise;
    held[0].resolve();
    await time.pause(1_000);
    one.calls.length = 0;
    const renaming = one.rename('/memories/a', '/memories/z');
    await time.pause(1_000);
    expect(one.calls.filter(({ verb }) => verb === 'put')).toEqual([]);
    held[1].resolve();
    await Promise.all([creating, renaming]);
  });

  it('exceeds a limit by what other processes write within a minute, and not further', async () => {
    const { client, time } = await site();
    const processes = await Promise.all([1, 2, 3].map(() => client({ limits: { files: 6 } })));
    for (const each of processes) await each.create(`/memories/p${processes.indexOf(each)}`, 'x');
    // Each saw 1, 2 or 3 files, so each has room for some.
    const fill = (): Promise<unknown> =>
      Promise.allSettled(
        processes.flatMap((each, index) =>
          Array.from({ length: 10 }, (_, i) => each.create(`/memories/${index}-${i}`, 'x')),
        ),
      );
    await fill();
    const [one] = processes;
    const over = one === undefined ? 0 : (await one.paths()).length;
    expect(over).toBeLessThanOrEqual(3 * 6);
    await time.pause(61_000);
    await fill();
    expect((await one?.paths())?.length).toBe(over);
  });
});

describe('the room of a tenant', () => {
  const [A, B] = ['a', 'b'] as unknown as [ObjectKey, ObjectKey];
  const GROWN = { code: 'limit_exceeded' };

  async function start(limits: Parameters<typeof createQuota>[1]) {
    const site = await createSite();
    const client = await site.client();
    const work = await client.open();
    client.calls.length = 0;
    const usage = createTenantUsage();
    const quota = createQuota(usage, limits, client.tenant);
    const lists = () => countCalls(client.calls)['list'] ?? 0;
    return { client, work, usage, quota, lists, time: site.time };
  }

  it('is what its limits leave, counted when it is asked for', async () => {
    const { client, work, quota, lists } = await start({ files: 3, tenantBytes: 100 });
    await client.create('/memories/x', '12345');
    client.calls.length = 0;
    expect(await quota.left(work)).toEqual({ files: 2, bytes: 95 });
    expect(lists()).toBe(1);
    await client.create('/memories/y', '12345');
    client.calls.length = 0;
    expect(await quota.left(work)).toEqual({ files: 2, bytes: 95 });
    expect(lists()).toBe(0);
  });

  it('is infinite where nothing is limited', async () => {
    const { work, quota } = await start({});
    const { files, bytes: left } = await quota.left(work);
    expect([files, left]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });

  it('is negative beyond a limit', async () => {
    const { client, work, quota } = await start({ files: 0, tenantBytes: 4 });
    await client.create('/memories/x', '12345');
    expect(await quota.left(work)).toEqual({ files: -1, bytes: -1 });
  });

  it.each([
    [{ tenantBytes: 10 }, 10, undefined],
    [{ tenantBytes: 10 }, 11, { limit: 'tenant_bytes', value: 11, max: 10 }],
    [{ files: 1 }, 11, undefined],
    [{ files: 0 }, 0, { limit: 'files', value: 1, max: 0 }],
    [{}, 11, undefined],
  ])('may be too small even when it is empty: %j for %i bytes', async (limits, size, details) => {
    const { quota } = await start(limits);
    expect(quota.refusalOf(size)?.details).toEqual(details);
  });

  it('is taken once for a file, whose last size counts, and given back as its write ended', async () => {
    const { work, quota, usage } = await start({ tenantBytes: 100 });
    const room = quota.open(work, { key: A, replaced: undefined });
    room.close('written');
    expect(usage.total).toEqual({ files: 0, bytes: 0 });
    await room.take(40);
    await room.take(60);
    expect([usage.total, usage.held.size]).toEqual([{ files: 1, bytes: 60 }, 1]);
    room.close('not_written');
    room.close('written');
    expect([usage.total, usage.held.size]).toEqual([{ files: 0, bytes: 0 }, 0]);
  });

  it.each([
    ['written', { files: 1, bytes: 20 }],
    ['not_written', { files: 1, bytes: 50 }],
    ['unknown', { files: 1, bytes: 50 }],
  ] as const)('holds the larger of both versions until a write has ended: %s', async (outcome, total) => {
    const { work, quota, usage } = await start({ tenantBytes: 100 });
    usage.total = { files: 1, bytes: 50 };
    const room = quota.open(work, { key: A, replaced: 50 });
    await room.take(20);
    expect(usage.total).toEqual({ files: 1, bytes: 50 });
    room.close(outcome);
    expect(usage.total).toEqual(total);
  });

  it.each([
    ['lands', async () => 'done', 'done', 10],
    ['has to begin again', async () => 'again', 'again', 0],
    ['fails', () => Promise.reject(new MemoryError('access_denied', 'no')), 'access_denied', 0],
    ['may have landed', () => Promise.reject(noAnswer()), 'outcome_unknown', 10],
  ])('is kept as long as a write may need it, which %s', async (_, write, outcome, left) => {
    const { work, quota, usage } = await start({ tenantBytes: 100 });
    const file = { key: A, replaced: undefined, size: 10 };
    const writing = quota.within(work, file, write).catch((error: MemoryError) => error.code);
    expect(await writing).toBe(outcome);
    expect([usage.total.bytes, usage.held.size]).toEqual([left, 0]);
  });

  it('is asked for by no request where what grows is not limited', async () => {
    const { work, quota, lists, time } = await start({ files: 5 });
    await quota.open(work, { key: A, replaced: 1 }).take(50);
    expect(lists()).toBe(0);
    await quota.open(work, { key: B, replaced: undefined }).take(0);
    expect(lists()).toBe(1);
    await time.pause(61_000);
    await quota.open(work, { key: A, replaced: 50 }).take(50);
    expect(lists()).toBe(1);
    const other = await start({ tenantBytes: 5 });
    await other.quota.open(other.work, { key: B, replaced: undefined }).take(0);
    expect(other.lists()).toBe(0);
  });

  it('is counted no longer than anybody waits for it', async () => {
    const { work, quota } = await start({ files: 1 });
    const noted: NotedOptions[] = [];
    const controller = new AbortController();
    const watched = withTenant(work, { store: noteOptions(work.tenant.store, noted) });
    const counting = quota.left({ ...watched, call: { signal: controller.signal } });
    controller.abort();
    await expect(counting).rejects.toMatchObject({ code: 'aborted' });
    expect(noted.map(({ verb, signal }) => [verb, signal?.aborted])).toEqual([['list', true]]);
  });

  it('is counted by one listing for all that wait, of which nothing stays behind', async () => {
    const { client, work, quota, usage, lists } = await start({ files: 1 });
    const rooms = [A, B].map((key) => quota.open(work, { key, replaced: undefined }));
    const taken = await Promise.allSettled(rooms.map((room) => room.take(1)));
    expect(taken.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect([lists(), usage.listings.size, usage.counting]).toEqual([1, 0, undefined]);
    expect(taken[1]).toMatchObject({ reason: GROWN });
    client.intercept(() => Promise.reject(new MemoryError('unavailable', 'down')));
    const other = createTenantUsage();
    await expect(createQuota(other, { files: 1 }, client.tenant).left(work)).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect([other.listings.size, other.counting]).toEqual([0, undefined]);
  });

  it('is shared by the memories of a process that name the same place and tenant', async () => {
    const { client, work } = await start({});
    const [acme, other] = [parseTenantId('acme'), parseTenantId('other')];
    const [store, another] = [{}, {}];
    const leftOf = async (place: string | object, tenant = acme) =>
      (await openQuota({ place, tenant }, { tenantBytes: 100 }, client.tenant).left(work)).bytes;
    const fill = async (place: string | object, tenant = acme): Promise<void> => {
      const quota = openQuota({ place, tenant }, { tenantBytes: 100 }, client.tenant);
      await quota.within(work, { key: A, replaced: undefined, size: 30 }, async () => 'done');
    };
    await fill('here, says the test');
    await fill(store);
    expect(await leftOf('here, says the test')).toBe(70);
    expect(await leftOf(store)).toBe(70);
    for (const [place, tenant] of [
      ['there, says the test', acme],
      ['here, says the test', other],
      [another, acme],
      [store, other],
    ] as const)
      expect(await leftOf(place, tenant)).toBe(100);
  });
});
