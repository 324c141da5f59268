import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { createHistory } from '../../src/history/history.ts';
import { readRecords } from '../../src/history/read-records.ts';
import { VERSION_SAVER } from '../../src/history/version-saver.ts';
import type { Work } from '../../src/tree/session.ts';
import { countCalls, noAnswer, type StoreCall } from '../doubles/intercepted-store.ts';
import { keepingClient } from '../support/history-site.ts';
import { at, bytes, createSite, type TestClient, type TestSite } from '../support/test-tree.ts';

const PATH = '/memories/d/a';
const DAY = 86_400_000;

async function start(): Promise<{ readonly site: TestSite; readonly client: TestClient }> {
  const site = await createSite();
  const client = await site.client({ keepsHistory: true });
  await client.create(PATH, 'one');
  client.calls.length = 0;
  return { site, client };
}

const isPut = (call: StoreCall, cls: string): boolean => call.verb === 'put' && call.key.includes(`/${cls}/`);
const putsOf = ({ calls }: TestClient, cls: string): number =>
  calls.filter((call) => isPut(call, cls)).length;

describe('what is replaced or removed', () => {
  const overwrite = ({ tree }: TestClient): Promise<unknown> => tree.overwrite(at(PATH), bytes('two'));
  const replace = async ({ tree }: TestClient): Promise<unknown> => {
    const version = (await tree.readVersion(at(PATH)))?.etag;
    if (version === undefined) throw new Error('there is no file');
    return tree.replace(at(PATH), { content: bytes('two'), version });
  };

  it.each<readonly [string, (client: TestClient) => Promise<unknown>, string]>([
    ['an edit', (client) => client.append(PATH, ' two'), 'unavailable'],
    ['an overwrite', overwrite, 'unavailable'],
    ['a replacement', replace, 'unavailable'],
    ['a delete of the file', (client) => client.remove(PATH), 'unavailable'],
    ['a delete of its directory', (client) => client.remove('/memories/d'), 'unavailable'],
    // Its copies are there already.
    ['a rename of its directory', (client) => client.rename('/memories/d', '/memories/e'), 'outcome_unknown'],
  ])('stays where it cannot be saved: %s', async (_, change, code) => {
    const { site, client } = await start();
    client.intercept((call, proceed) => (isPut(call, 'history') ? Promise.reject(noAnswer()) : proceed()));
    await expect(change(client)).rejects.toMatchObject({ code });
    const other = await site.client();
    const kept = await other.tree.readVersion(at(PATH));
    expect(new TextDecoder().decode(kept?.content)).toBe('one');
  });

  it('is saved as the version that a listing showed, or as the next one shows', async () => {
    const { site, client } = await start();
    const other = await site.client();
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key.includes('/data/')) {
        client.intercept((_, go) => go());
        await other.append(PATH, ' two');
      }
      return proceed();
    });
    await client.remove(PATH);
    // The newer version once, and that it was deleted.
    expect(putsOf(client, 'history')).toBe(2);
  });

  it('is saved though it is larger than the limit of the process that deletes it', async () => {
    const { site, client } = await start();
    await (await site.client({ maxFileBytes: 2 })).remove(PATH);
    const history = createHistory(client.session, client.tree);
    const written = (await history.list(PATH)).find(({ kind }) => kind === 'written');
    if (written === undefined) throw new Error('there is no version');
    expect((await history.read(written)).text()).toBe('one');
  });

  it('is not what a restored version replaces where it was changed meanwhile', async () => {
    const { site, client } = await start();
    await client.append(PATH, ' two');
    const history = createHistory(client.session, client.tree);
    const oldest = (await history.list(PATH)).at(-1);
    if (oldest === undefined) throw new Error('there is no version');
    const other = await site.client();
    client.intercept(async (call, proceed) => {
      if (isPut(call, 'history')) {
        client.intercept((_, go) => go());
        await other.append(PATH, ' three');
      }
      return proceed();
    });
    await expect(history.restore(oldest)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await client.text(PATH)).toBe('one two three');
  });

  it('is not saved for a replacement of a version that is not there any more', async () => {
    const { site, client } = await start();
    const version = (await client.tree.readVersion(at(PATH)))?.etag;
    if (version === undefined) throw new Error('there is no file');
    await client.append(PATH, ' two');
    const other = await site.client();
    const replacing = other.tree.replace(at(PATH), { content: bytes('three'), version });
    await expect(replacing).rejects.toMatchObject({ code: 'version_conflict' });
    expect(putsOf(other, 'history')).toBe(0);
  });

  it('is read once for a replacement by a process that does not hold it', async () => {
    const { site } = await start();
    const other = await site.client();
    await other.open();
    const version = (await site.client().then(({ tree }) => tree.readVersion(at(PATH))))?.etag;
    if (version === undefined) throw new Error('there is no file');
    await other.paths('/memories/none');
    other.calls.length = 0;
    await other.tree.replace(at(PATH), { content: bytes('two'), version });
    // A file that young may be taken back, so a LIST and a HEAD of the directory make sure.
    expect(countCalls(other.calls)).toEqual({ get: 1, list: 1, head: 1, put: 2 });
  });

  it('is noted as deleted where the delete of its directory stopped half-way', async () => {
    const { site, client } = await start();
    await client.create('/memories/d/b', 'two');
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>) => {
      if (call.verb !== 'delete') return proceed();
      const [first, second] = call.targets;
      await site.base.delete(call.targets.slice(0, 1));
      expect(first?.key).not.toBe(second?.key);
      return [{ key: second?.key, error: new MemoryError('access_denied', 'not that one') }] as T;
    });
    await expect(client.remove('/memories/d')).rejects.toMatchObject({ code: 'outcome_unknown' });
    const entries = await createHistory(client.session, client.tree).list();
    expect(entries.filter(({ kind }) => kind === 'deleted')).toHaveLength(1);
  });

  it('is noted as deleted when its caller cancels meanwhile', async () => {
    const { client } = await start();
    const controller = new AbortController();
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'delete') controller.abort();
      return answer;
    });
    await client.tree.remove(at(PATH), { signal: controller.signal }).catch(() => {});
    const entries = await createHistory(client.session, client.tree).list(PATH);
    expect(entries.map(({ kind }) => kind)).toContain('deleted');
  });
});

it('a renamed file is noted as the version that was renamed, not as one before it', async () => {
  const { site, client } = await start();
  const other = await site.client();
  client.intercept(async (call, proceed) => {
    if (call.verb === 'delete') {
      client.intercept((_, go) => go());
      await other.append(PATH, ' two');
    }
    return proceed();
  });
  await client.rename(PATH, '/memories/e');
  const entries = await createHistory(client.session, client.tree).list();
  const current = entries.find((entry) => entry.kind === 'written' && entry.end === 'current');
  const moved = entries.filter(({ kind }) => kind === 'renamed');
  expect(current?.path).toBe('/memories/e');
  expect(moved.map(({ version }) => version)).toEqual([current?.version]);
});

describe('what becomes of 10,001 files', () => {
  const files = Array.from({ length: 10_001 }, (_, n) => {
    const id = new Uint8Array(16);
    new DataView(id.buffer).setUint32(0, n + 1);
    return [at(`/memories/from/${n}`), id] as const;
  });
  const moved = { from: at('/memories/from'), to: at('/memories/to'), id: new Uint8Array(16).fill(1) };

  it.each<readonly [string, (work: Work) => Promise<void>]>([
    ['renamed', (work) => VERSION_SAVER.saveMoves(work, moved, files)],
    ['deleted', (work) => VERSION_SAVER.noteDeleted(work, moved.from, files)],
  ])('takes two records where they are %s, and each is told of once', async (kind, note) => {
    const client = await keepingClient(await createSite());
    await client.create(PATH, 'one');
    await note(await client.open());
    expect(putsOf(client, 'history')).toBe(2);
    const { events } = await readRecords(await client.open());
    const told = events.flatMap(({ files }) => files);
    expect(told.map(([path]) => path).sort()).toEqual(files.map(([path]) => path).sort());
    expect(new Set(events.map((event) => event.kind))).toEqual(
      new Set([kind === 'renamed' ? 'moved' : 'deleted']),
    );
  });
});

describe('an actor', () => {
  const create = ({ tree }: TestClient, name: string, signal?: AbortSignal): Promise<unknown> =>
    tree.create(at(`/memories/${name}`), bytes(name), { actor: 'ann', signal });

  it('is named once by a process in a day, and written again in a week', async () => {
    const { site, client } = await start();
    for (const name of ['x', 'y', 'z']) await create(client, name);
    expect(putsOf(client, 'actors')).toBe(1);
    for (const name of ['second', 'third', 'fourth', 'fifth', 'sixth', 'seventh']) {
      await site.time.pause(DAY);
      await create(client, name);
      await create(client, `${name} once more`);
    }
    expect(putsOf(client, 'actors')).toBe(7);
    await site.time.pause(2 * DAY);
    await create(client, 'eighth');
    expect(putsOf(client, 'actors')).toBe(9);
  });

  it('is named by the next command where that failed', async () => {
    const { client } = await start();
    client.intercept(async (call, proceed) => {
      if (isPut(call, 'actors')) throw new MemoryError('unavailable', 'not now');
      return proceed();
    });
    await expect(create(client, 'x')).rejects.toMatchObject({ code: 'unavailable' });
    client.intercept((_, proceed) => proceed());
    await create(client, 'x');
    expect(putsOf(client, 'actors')).toBe(2);
  });

  it('is named for all commands that wait when the first of them is cancelled', async () => {
    const { client } = await start();
    const controller = new AbortController();
    client.intercept(async (call, proceed) => {
      if (isPut(call, 'actors')) controller.abort();
      return proceed();
    });
    const cancelled = create(client, 'x', controller.signal).catch((error: unknown) => error);
    await create(client, 'y');
    expect(await cancelled).toMatchObject({ code: 'aborted' });
    expect(await client.text('/memories/y')).toBe('y');
  });
});
