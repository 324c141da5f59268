import { expect, it } from 'vitest';
import {
  classKey,
  classLogicalName,
  type LogicalName,
  type ObjectKey,
} from '../../../../src/format/object-keys.ts';
import { nameDamaged } from '../../../../src/history/past/damaged-records.ts';
import { readWholePast } from '../../../../src/history/past/read.ts';
import { historyRecordId, WHOLE_TREE } from '../../../../src/history/save/history-record.ts';
import { writeKept } from '../../../../src/history/save/write-kept.ts';
import { identityOf } from '../../../../src/tree/sightings.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { keysOf } from '../../../stage/bucket.ts';
import { historyOf, keepingClient } from '../../../stage/history-site.ts';
import { at, openSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const [PATH, OTHER, MOVED] = ['/memories/a', '/memories/b', '/memories/d'];

interface Scene {
  readonly site: TestSite;
  readonly client: TestClient;
  readonly work: Work;
  /** The versions of the first file, the oldest first. */
  readonly chain: readonly string[];
}

/** A file of three versions, one that was deleted, and one that was renamed. */
async function newScene(): Promise<Scene> {
  const site = await openSite();
  const client = await keepingClient(site);
  for (const path of [PATH, OTHER, '/memories/c']) await client.create(path, `in ${path}`);
  for (const text of [' two', ' three']) await client.append(PATH, text);
  await client.remove(OTHER);
  await client.rename('/memories/c', MOVED);
  const work = await client.open();
  const { versions, files } = await readWholePast(work);
  const last = versions.get(files.get(at(PATH))?.id ?? '');
  const second = versions.get(last?.previous ?? '');
  return { site, client, work, chain: [second?.previous ?? '', second?.id ?? '', last?.id ?? ''] };
}

/** The id of the record whose id ends with the first characters of a version's. */
async function recordOf({ site }: Scene, version: string): Promise<string> {
  const known = (await keysOf(site, 'history')).map((key) => key.split('/').at(-1) ?? '');
  const id = known.find((each) => each.endsWith(`_${version.slice(0, 8)}`));
  if (id === undefined) throw new Error('there is no such record');
  return id;
}

async function bodyOf({ site, client }: Scene, id: string): Promise<Uint8Array> {
  const found = await site.base.get(classKey(client.layout, 'history', id));
  if (typeof found !== 'object') throw new Error('nothing is there');
  return found.body;
}

async function putAt({ site, client }: Scene, id: string, body: Uint8Array): Promise<void> {
  await site.base.put(classKey(client.layout, 'history', id), body, { mode: 'overwrite' });
}

/** Asks for the damage among the records with these ids, as a search finds it that has seen the copied ones. */
async function damageOf(
  { work, client }: Scene,
  damaged: readonly string[],
  {
    missing = [],
    copied = [],
  }: { missing?: readonly string[]; copied?: readonly (readonly [string, Uint8Array])[] } = {},
) {
  const nameOf = (id: string): LogicalName => classLogicalName('history', id);
  return nameDamaged(work, {
    damaged: new Map(
      damaged.map((id): [LogicalName, ObjectKey] => [nameOf(id), classKey(client.layout, 'history', id)]),
    ),
    identities: new Map(copied.map(([id, body]) => [identityOf(body), nameOf(id)])),
    past: await readWholePast(work),
    missing,
  });
}

it('no damage is nothing to name, and costs no request', async () => {
  const scene = await newScene();
  const past = await readWholePast(scene.work);
  scene.client.calls.length = 0;
  expect(
    await nameDamaged(scene.work, { damaged: new Map(), identities: new Map(), past, missing: [] }),
  ).toEqual([]);
  expect(scene.client.calls).toEqual([]);
});

it('a damaged record is named by its path and as much of its version as its name tells', async () => {
  const scene = await newScene();
  const [first = ''] = scene.chain;
  const id = await recordOf(scene, first);
  await putAt(scene, id, new Uint8Array(300));
  expect(await damageOf(scene, [id])).toStrictEqual([
    { state: 'damaged', name: `/history/${id}`, expected: first.slice(0, 8), path: PATH },
  ]);
});

it('a damaged record is named by the whole version where that is known to be missing', async () => {
  const scene = await newScene();
  const [first = '', second = ''] = scene.chain;
  const id = await recordOf(scene, first);
  await putAt(scene, id, new Uint8Array(300));
  expect(await damageOf(scene, [id], { missing: [second, first] })).toMatchObject([{ expected: first }]);
  expect(await damageOf(scene, [id], { missing: [second] })).toMatchObject([{ expected: first.slice(0, 8) }]);
});

it('a record that is gone is named as damaged', async () => {
  const scene = await newScene();
  const id = await recordOf(scene, scene.chain[0] ?? '');
  await scene.site.base.delete([{ key: classKey(scene.client.layout, 'history', id) }]);
  expect(await damageOf(scene, [id])).toMatchObject([{ state: 'damaged', path: PATH }]);
});

it('two records that were exchanged name each other', async () => {
  const scene = await newScene();
  const [first = '', second = ''] = scene.chain;
  const [a, b] = [await recordOf(scene, first), await recordOf(scene, second)];
  const [left, right] = [await bodyOf(scene, a), await bodyOf(scene, b)];
  await putAt(scene, a, right);
  await putAt(scene, b, left);
  expect(await damageOf(scene, [a, b])).toStrictEqual([
    { state: 'misplaced', name: `/history/${a}`, expected: first, path: PATH, found: second },
    { state: 'misplaced', name: `/history/${b}`, expected: second, path: PATH, found: first },
  ]);
});

it('a record of a delete, and one whose text was taken out, tell what lies at the names of each other', async () => {
  const scene = await newScene();
  const [first = ''] = scene.chain;
  await historyOf(scene.client).redact({ path: PATH, version: first });
  const { leaves } = await readWholePast(scene.work);
  const event = leaves.find(({ to }) => to === undefined)?.event ?? '';
  const [a, b] = [await recordOf(scene, first), await recordOf(scene, event)];
  const [left, right] = [await bodyOf(scene, a), await bodyOf(scene, b)];
  await putAt(scene, a, right);
  await putAt(scene, b, left);
  expect(await damageOf(scene, [a, b])).toMatchObject([
    { state: 'misplaced', expected: first, found: event },
    { state: 'misplaced', expected: event, found: first },
  ]);
});

it('a malformed record at the name of another one is named by the end of its own', async () => {
  const scene = await newScene();
  const [first = ''] = scene.chain;
  const [a, b] = [1n, 2n].map((bound) =>
    historyRecordId(scene.work, { path: at(PATH), bound, id: new Uint8Array(16) }),
  ) as [string, string];
  await writeKept(scene.work, { cls: 'history', id: b, content: new Uint8Array(3) });
  const id = await recordOf(scene, first);
  await putAt(scene, id, await bodyOf(scene, b));
  expect(await damageOf(scene, [id, a, b])).toMatchObject([
    { state: 'misplaced', found: 'AAAAAAAA' },
    { state: 'damaged' },
    { state: 'damaged' },
  ]);
});

it('a copy of a whole record is named by its version', async () => {
  const scene = await newScene();
  const [first = '', second = ''] = scene.chain;
  const [a, b] = [await recordOf(scene, first), await recordOf(scene, second)];
  const body = await bodyOf(scene, b);
  await putAt(scene, a, body);
  expect(await damageOf(scene, [a], { copied: [[b, body]] })).toStrictEqual([
    { state: 'misplaced', name: `/history/${a}`, expected: first.slice(0, 8), path: PATH, found: second },
  ]);
});

it('a copy of the record of a delete is named by the end of its name, and lies at an unknown path', async () => {
  const scene = await newScene();
  const root = historyRecordId(scene.work, { path: WHOLE_TREE, bound: 1n, id: new Uint8Array(16) });
  const past = await readWholePast(scene.work);
  const event = past.leaves.find(({ to }) => to === undefined)?.event ?? '';
  const id = await recordOf(scene, event);
  const body = await bodyOf(scene, id);
  const unknown = `${'A'.repeat(root.indexOf('_'))}${root.slice(root.indexOf('_'))}`;
  await putAt(scene, unknown, body);
  expect(await damageOf(scene, [unknown], { copied: [[id, body]] })).toStrictEqual([
    { state: 'misplaced', name: `/history/${unknown}`, expected: 'AAAAAAAA', found: event },
  ]);
  expect(await damageOf(scene, [unknown, id])).toMatchObject([
    { state: 'misplaced', found: event },
    { state: 'damaged', expected: event },
  ]);
});

it('a record of a rename is named by the root, and one of a path that no file has any longer by that', async () => {
  const scene = await newScene();
  const { leaves } = await readWholePast(scene.work);
  const deleted = leaves.find(({ to }) => to === undefined);
  const moved = leaves.find(({ to }) => to !== undefined);
  const [a, b] = [await recordOf(scene, deleted?.id ?? ''), await recordOf(scene, moved?.event ?? '')];
  for (const id of [a, b]) await putAt(scene, id, new Uint8Array(300));
  const [one, two] = await damageOf(scene, [a, b]);
  expect(one).toMatchObject({ state: 'damaged', path: OTHER });
  expect(two).toMatchObject({ state: 'damaged', path: WHOLE_TREE });
});

it('a damaged file names the path of its records as well', async () => {
  const site = await openSite();
  const client = await keepingClient(site);
  await client.create(PATH, 'one');
  const work = await client.open();
  const [key] = await keysOf(site, 'data');
  if (key === undefined) throw new Error('there is no file');
  await site.base.put(key, new Uint8Array(300), { mode: 'overwrite' });
  const id = historyRecordId(work, { path: at(PATH), bound: 1n, id: new Uint8Array(16) });
  const scene: Scene = { site, client, work, chain: [] };
  expect(await damageOf(scene, [id])).toStrictEqual([
    { state: 'damaged', name: `/history/${id}`, expected: 'AAAAAAAA', path: PATH },
  ]);
});

it('no more than a hundred records are looked into', async () => {
  const scene = await newScene();
  const [first = ''] = scene.chain;
  const id = await recordOf(scene, first);
  const others = Array.from({ length: 100 }, (_, index) => {
    const bound = BigInt(index + 1);
    return historyRecordId(scene.work, { path: at(PATH), bound, id: new Uint8Array(16) });
  });
  const body = await bodyOf(scene, id);
  const [last = ''] = others.slice(-1);
  await putAt(scene, last, body);
  const copied = [[id, body]] as const;
  scene.client.calls.length = 0;
  const found = await damageOf(scene, others, { copied });
  expect(found).toHaveLength(100);
  expect(found.at(-1)).toMatchObject({ state: 'misplaced', found: first });
  const more = await damageOf(scene, [id, ...others], { copied });
  expect(more).toHaveLength(101);
  expect(more.at(-1)).toMatchObject({ state: 'damaged' });
});
