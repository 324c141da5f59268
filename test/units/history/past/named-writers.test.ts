import { expect, it } from 'vitest';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { readNamedWriters } from '../../../../src/history/past/named-writers.ts';
import { keyOf, keysOf } from '../../../stage/bucket.ts';
import { historyOf, keepingClient } from '../../../stage/history-site.ts';
import { at, bytes, openSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const [A, B, C] = ['/memories/a', '/memories/b', '/memories/c'];

/** The actors among these that files and history name; undefined where one of those cannot be opened. */
async function namedBy(client: TestClient): Promise<readonly string[] | undefined> {
  const work = await client.open();
  const named = await readNamedWriters(work);
  const actors = ['ann', 'bob', 'cora', 'dan', 'eve', 'fay', 'gus'];
  const hashOf = (actor: string): string => toBase64url(work.keyring.names.writerId(actor));
  expect(named === undefined ? 0 : named.size).toBe(
    actors.filter((actor) => named?.has(hashOf(actor))).length,
  );
  return named && actors.filter((actor) => named.has(hashOf(actor)));
}

/** Files that ann created, bob replaced, cora deleted and dan renamed; and one without an actor. */
async function newScene(): Promise<{ readonly site: TestSite; readonly client: TestClient }> {
  const site = await openSite();
  const client = await keepingClient(site);
  const { tree } = client;
  await client.create(C, 'by nobody');
  await tree.create(at(A), bytes('one'), { actor: 'ann' });
  await tree.overwrite(at(A), bytes('two'), { actor: 'bob' });
  await tree.create(at(B), bytes('one'), { actor: 'ann' });
  await tree.remove(at(B), { actor: 'cora' });
  await tree.rename({ from: at(A), to: at('/memories/d') }, { actor: 'dan' });
  return { site, client };
}

it('actors are named by what they wrote, replaced, deleted and renamed', async () => {
  const { client } = await newScene();
  expect(await namedBy(client)).toEqual(['ann', 'bob', 'cora', 'dan']);
});

it('an actor is named by the text that it took out', async () => {
  const { client } = await newScene();
  const version = (await historyOf(client).list('/memories/d')).findLast(({ kind }) => kind === 'written');
  if (version === undefined) throw new Error('nothing was written');
  await historyOf(client).redact(version, { actor: 'eve' });
  expect(await namedBy(client)).toEqual(['ann', 'bob', 'cora', 'dan', 'eve']);
});

it('an actor is named by a file that is larger than files may be by now', async () => {
  const site = await openSite();
  const writer = await site.client({ keepsHistory: true });
  await writer.tree.create(at(A), bytes('x'.repeat(2_000)), { actor: 'fay' });
  expect(await namedBy(await site.client({ keepsHistory: true, maxFileBytes: 1_000 }))).toEqual(['fay']);
});

it.each(['data', 'history'])(
  'nobody is named where something of the class %s cannot be opened',
  async (cls) => {
    const { site, client } = await newScene();
    const [key] = cls === 'data' ? [await keyOf(client, C)] : await keysOf(site, cls);
    if (key === undefined) throw new Error('nothing is there');
    await site.base.put(key, bytes('x'.repeat(300)), { mode: 'overwrite' });
    expect(await namedBy(await site.client())).toBeUndefined();
  },
);

it('nobody is named where a file and a record cannot be opened', async () => {
  const { site, client } = await newScene();
  for (const key of [await keyOf(client, C), ...(await keysOf(site, 'history')).slice(0, 1)])
    await site.base.put(key, bytes('x'.repeat(300)), { mode: 'overwrite' });
  expect(await namedBy(await site.client())).toBeUndefined();
});

/** Runs something once, when the records are listed: all files were read by then. */
function whenRecordsAreListed(client: TestClient, run: () => Promise<unknown>): void {
  let isDone = false;
  client.intercept(async (call, proceed) => {
    if (!isDone && call.verb === 'list' && JSON.stringify(call).includes('/history/')) {
      isDone = true;
      await run();
    }
    return proceed();
  });
}

it('an actor is named by a file that came while the history was read', async () => {
  const { site, client } = await newScene();
  const other = await site.client();
  whenRecordsAreListed(client, () =>
    other.tree.create(at('/memories/late'), bytes('late'), { actor: 'gus' }),
  );
  expect(await namedBy(client)).toEqual(['ann', 'bob', 'cora', 'dan', 'gus']);
});

it('nobody is named where such a file cannot be opened', async () => {
  const { site, client } = await newScene();
  const other = await site.client();
  whenRecordsAreListed(client, async () => {
    await other.tree.create(at('/memories/late'), bytes('late'), { actor: 'gus' });
    await site.base.put(await keyOf(other, '/memories/late'), bytes('x'.repeat(300)), { mode: 'overwrite' });
  });
  expect(await namedBy(client)).toBeUndefined();
});
