import { beforeAll, describe, expect, it } from 'vitest';
import { createHistory, type History } from '../../../../src/history/history.ts';
import { createSite, openSite, type TestClient } from '../../../stage/test-tree.ts';

const NOTES = '/memories/notes.md';
const EDITS = 1_000;

describe('a file of 1,001 versions', () => {
  let client: TestClient;
  let history: History;

  beforeAll(async () => {
    const site = await createSite();
    client = await site.client({ keepsHistory: true, clock: () => Math.floor(site.time.clock()) });
    history = createHistory(client.tenant, client.tree);
    await client.create(NOTES, '0\n');
    for (let edit = 1; edit <= EDITS; edit++) {
      await site.time.pause(2);
      await client.append(NOTES, `${edit}\n`);
    }
    return () => site.base[Symbol.asyncDispose]();
  }, 60_000);

  /** The requests of what is done; those of the keyring are made before. */
  async function requestsOf(
    act: () => Promise<unknown>,
  ): Promise<{ get: number; list: number; put: number }> {
    client.calls.length = 0;
    await act();
    const count = (verb: string): number => client.calls.filter((call) => call.verb === verb).length;
    return { get: count('get'), list: count('list'), put: count('put') };
  }

  it('is listed by its newest twenty with a GET for little more than each of them', async () => {
    const { get, list } = await requestsOf(() => history.list(NOTES, { limit: 20 }));
    expect(get).toBeLessThanOrEqual(25);
    expect(list).toBeLessThanOrEqual(4);
  });

  it('is listed page by page as it is listed at once', async () => {
    const all = await history.list(NOTES);
    expect(all).toHaveLength(EDITS + 1);
    const first = await history.list(NOTES, { limit: 20 });
    const last = first.at(-1);
    if (last === undefined) throw new Error('the page is empty');
    const second = await history.list(NOTES, { limit: 20, before: last });
    expect([...first, ...second]).toEqual(all.slice(0, 40));
    const { get } = await requestsOf(() => history.list(NOTES, { limit: 20, before: last }));
    // The file, 21 records at first, and then four times as many.
    expect(get).toBeLessThanOrEqual(25 + 4 * 21);
    const rest = await history.list(NOTES, { limit: 20, before: all.at(-6) as (typeof all)[number] });
    expect(rest).toEqual(all.slice(-5));
  });

  it('has one of its versions read, and restored, with a handful of requests', async () => {
    const entry = (await history.list(NOTES)).at(500);
    if (entry === undefined) throw new Error('there is no such version');
    const { version } = entry;
    const read = await requestsOf(() => history.read({ path: NOTES, version }));
    expect(read.get).toBeLessThanOrEqual(3);
    expect(read.list).toBeLessThanOrEqual(3);
    await client.create('/memories/other.md', 'renamed, so that a short name may mean what lay elsewhere');
    await client.rename('/memories/other.md', '/memories/another.md');
    const short = await requestsOf(() => history.read({ path: NOTES, version: version.slice(0, 5) }));
    expect(short.get).toBeLessThanOrEqual(5);
    const none = await requestsOf(() => history.read({ path: NOTES, version: '____' }).catch(() => {}));
    expect(none.get).toBeLessThanOrEqual(3);
    const restored = await requestsOf(() => history.restore({ path: NOTES, version }));
    expect(restored.get).toBeLessThanOrEqual(6);
    expect(await client.text(NOTES)).toBe((await history.read({ path: NOTES, version })).text());
  });
});

describe('a tenant of 200 files of 5 versions each', () => {
  it('has its newest twenty entries listed with a GET for a few times as many', async () => {
    const site = await openSite();
    const client = await site.client({ keepsHistory: true, clock: () => Math.floor(site.time.clock()) });
    const history = createHistory(client.tenant, client.tree);
    for (let file = 0; file < 200; file++) {
      await client.create(`/memories/${file}`, '0');
      for (let edit = 1; edit < 5; edit++) {
        await site.time.pause(60_000);
        await client.append(`/memories/${file}`, ` ${edit}`);
      }
    }
    await client.rename('/memories/7', '/memories/d/7');
    await site.time.pause(1_000);
    await client.remove('/memories/8');
    client.calls.length = 0;
    const newest = await history.list(undefined, { limit: 20 });
    const count = (verb: string): number => client.calls.filter((call) => call.verb === verb).length;
    expect(count('get')).toBeLessThanOrEqual(100);
    expect(count('list')).toBeLessThanOrEqual(3);
    expect(newest.slice(0, 2).map(({ kind }) => kind)).toEqual(['deleted', 'renamed']);
    expect(newest).toEqual((await history.list()).slice(0, 20));
  });
});
