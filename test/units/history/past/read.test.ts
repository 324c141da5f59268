import { expect, it } from 'vitest';
import type { Past } from '../../../../src/history/past/past.ts';
import { readMeantPast, readNamed, readPast, readWholePast } from '../../../../src/history/past/read.ts';
import type { MemoryPath } from '../../../../src/language/path.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { keyOf } from '../../../stage/bucket.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import { at, createSite, openSite, type TestClient } from '../../../stage/test-tree.ts';
import { short } from '../story.ts';

const [A, B, C] = ['/memories/a', '/memories/b', '/memories/c'];

/** Answers what a past knows, in words: the files, and the paths of all versions and leaves. */
function wordsOf({ files, versions, leaves, damaged }: Past) {
  return {
    files: [...files.keys()].map(short).sort(),
    versions: [...versions.values()].map(({ path, text }) => `${text} ${short(path)}`).sort(),
    leaves: leaves
      .map(({ from, to }) => `${short(from)} to ${to === undefined ? 'nowhere' : short(to)}`)
      .sort(),
    damaged: [...damaged.files.map(short), ...damaged.records],
  };
}

/** How often the files are listed and read while a past is read. */
async function costOf(client: TestClient, read: () => Promise<Past>) {
  client.calls.length = 0;
  const past = await read();
  const { data } = client.layout;
  const isPage = (page: number) =>
    client.calls.filter((call) => call.verb === 'list' && call.prefix === data && call.page === page).length;
  const reads = client.calls.filter((call) => call.verb === 'get' && call.key.startsWith(data)).length;
  return {
    past,
    lists: isPage(Math.min(...client.calls.flatMap((call) => (call.verb === 'list' ? [call.page] : [])))),
    reads,
  };
}

/** Three files, of which one was edited, and one that was deleted. */
async function newClient(): Promise<TestClient> {
  const client = await keepingClient(await openSite());
  for (const path of [A, B, C, '/memories/d']) await client.create(path, `in ${path}`);
  await client.append(A, ', edited');
  await client.remove('/memories/d');
  return client;
}

it('the whole past counts what was read, and what was listed by then', async () => {
  const client = await newClient();
  const told: (readonly [number, number])[] = [];
  const past = await readWholePast(await client.open(), ({ done, total }) => told.push([done, total]));
  // The record of the edit, that of the deleted text, and that of the delete.
  expect(told).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
    [4, 6],
    [5, 6],
    [6, 6],
  ]);
  expect(wordsOf(past)).toEqual({
    files: ['a', 'b', 'c'],
    versions: ['current a', 'current b', 'current c', 'kept a', 'kept d'],
    leaves: ['d to nowhere'],
    damaged: [],
  });
});

it('the whole past costs one listing of the files, and one GET for each', async () => {
  const client = await newClient();
  const work = await client.open();
  expect(await costOf(client, () => readWholePast(work))).toMatchObject({ lists: 1, reads: 3 });
});

it('a record that expires behind the listing is passed over, and is no damage', async () => {
  const client = await newClient();
  const before = wordsOf(await readWholePast(await client.open()));
  const { store } = (await client.open()).tenant;
  client.intercept(async (call, proceed) => {
    if (call.verb === 'get' && call.key.includes('/history/')) await store.delete([{ key: call.key }]);
    return proceed();
  });
  expect(before).toMatchObject({ leaves: ['d to nowhere'] });
  const past = wordsOf(await readWholePast(await client.open()));
  expect(past).toMatchObject({ files: ['a', 'b', 'c'], leaves: [], damaged: [] });
});

it('files of several pages are listed once more, and read once', async () => {
  const inPages = (store: ObjectStore): ObjectStore => ({
    ...store,
    async *list(options) {
      for await (const page of store.list(options))
        for (const object of page.objects) yield { ...page, objects: [object] };
    },
  });
  const site = await createSite('guarded', 1, (store) => ({
    ...inPages(store),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }));
  await using _ = site.base;
  const client = await keepingClient(site);
  for (const path of [A, B, C]) await client.create(path, 'text');
  const work = await client.open();
  const { past, lists, reads } = await costOf(client, () => readWholePast(work));
  expect([wordsOf(past).files, lists, reads]).toEqual([['a', 'b', 'c'], 2, 3]);
});

it('a file that is renamed while files are read is found where it went, and not where it was', async () => {
  for (const path of [A, B, C]) {
    const client = await newClient();
    const work = await client.open();
    const key = await keyOf(client, path);
    let isMoved = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key === key && !isMoved) {
        isMoved = true;
        await client.rename(path, '/memories/moved');
      }
      return proceed();
    });
    const { files, damaged } = wordsOf(await readWholePast(work));
    expect({ files, damaged }).toEqual({
      files: [...['a', 'b', 'c'].filter((name) => name !== short(path)), 'moved'],
      damaged: [],
    });
  }
});

it('a file that was read, and is gone when the files are listed again, is no file', async () => {
  const client = await newClient();
  const work = await client.open();
  const [first, last] = [await keyOf(client, A), await keyOf(client, C)];
  const { promise: isRead, resolve } = Promise.withResolvers<void>();
  let isDone = false;
  client.intercept(async (call, proceed) => {
    if (call.verb === 'get' && call.key === first && !isDone) {
      isDone = true;
      await isRead;
      await client.remove(C);
      await client.append(A, ', again');
    }
    const result = await proceed();
    if (call.verb === 'get' && call.key === last) resolve();
    return result;
  });
  const { past, lists } = await costOf(client, () => readWholePast(work));
  const words = wordsOf(past);
  expect(words.files).toEqual(['a', 'b']);
  // The look after the one that missed the file shows nothing new, and is the last.
  expect(lists).toBe(3);
  expect(words.leaves).toEqual(['c to nowhere', 'd to nowhere']);
});

it('files that change at every look are listed eight times', async () => {
  const client = await newClient();
  const work = await client.open();
  const other = await keyOf(client, B);
  let isBusy = false;
  client.intercept(async (call, proceed) => {
    if (call.verb === 'get' && call.key === other && !isBusy) {
      isBusy = true;
      await client.append(B, '.');
      isBusy = false;
    }
    return proceed();
  });
  const { lists } = await costOf(client, () => readWholePast(work));
  expect(lists).toBeGreaterThanOrEqual(8);
});

it('objects that nobody of the tenant made are told of once', async () => {
  const site = await openSite();
  const client = await keepingClient(site);
  await client.create(A, 'text');
  const work = await client.open();
  for (const name of ['foreign', 'alien'])
    await site.base.put(`${client.layout.data}${name}` as never, new Uint8Array(3), { mode: 'create' });
  const before = client.logged.length;
  await readWholePast(work);
  expect(client.logged.slice(before).map(({ fields }) => fields)).toEqual([{ foreign: 2 }]);
});

it('the past of a path has the files that lie or lay there, wherever they were before and went since', async () => {
  const client = await keepingClient(await openSite());
  const work = await client.open();
  await client.create(A, 'first');
  await client.rename(A, B);
  await client.append(B, ', edited');
  await client.create(A, 'second');
  await client.remove(A);
  await client.create(C, 'third');
  await client.rename(C, A);
  await client.create('/memories/other', 'other');
  const [whole, other] = [await readPast(work, at(A)), await readPast(work, at('/memories/other'))];
  expect(wordsOf(whole)).toEqual({
    files: ['a', 'b'],
    versions: ['current a', 'kept a', 'kept b'],
    leaves: ['a to b', 'a to nowhere', 'c to a'],
    damaged: [],
  });
  expect(wordsOf(other)).toMatchObject({ versions: ['current other'], leaves: [] });
  const [first] = [...whole.versions.values()].filter(({ size }) => size === 5);
  if (first === undefined) throw new Error('the first version is gone');
  expect([...(await readNamed(work, at(A), first.id)).versions.keys()]).toContain(first.id);
});

it.each([
  ['as it was given, where it has versions', 1, 0, 'e\u0301', ['e\u0301']],
  ['as it was given, where a file left it', 0, 1, 'e\u0301', ['e\u0301']],
  ['in NFC, where it has no past as it was given', 0, 0, '\u00e9', ['e\u0301', '\u00e9']],
])('a path is read %s', async (_, versions, leaves, meant, asked) => {
  const client = await keepingClient(await openSite());
  const given = '/memories/e\u0301' as MemoryPath;
  const reads: string[] = [];
  const { path } = await readMeantPast(await client.open(), given, async (each) => {
    reads.push(short(each));
    return { versions: { size: versions }, leaves: { length: leaves } } as unknown as Past;
  });
  expect([short(path), reads]).toEqual([meant, asked]);
});
