import { expect, it } from 'vitest';
import { toBase64url } from '../../../../src/format/encoding.ts';
import type { PastVersion } from '../../../../src/history/past/past.ts';
import { readWholePast } from '../../../../src/history/past/read.ts';
import { contentOf, isRedactedElsewhere } from '../../../../src/history/past/read-version.ts';
import {
  encodeHistoryRecord,
  historyHash,
  historyRecordId,
} from '../../../../src/history/save/history-record.ts';
import { writeKept } from '../../../../src/history/save/write-kept.ts';
import { keyOf } from '../../../stage/bucket.ts';
import { historyOf, keepingClient } from '../../../stage/history-site.ts';
import { at, bytes, openSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const [PATH, OTHER] = ['/memories/a', '/memories/b'];

interface Scene {
  readonly site: TestSite;
  readonly client: TestClient;
  /** The only version of the file. */
  readonly version: PastVersion;
}

async function newScene(): Promise<Scene> {
  const site = await openSite();
  const client = await keepingClient(site);
  await client.create(PATH, 'one');
  const [version] = (await readWholePast(await client.open())).versions.values();
  if (version === undefined) throw new Error('there is no version');
  return { site, client, version };
}

/** Runs something before each GET of the file, which is told its number, and something behind it. */
async function aroundReads(
  { client }: Scene,
  before: (read: number) => Promise<unknown>,
  behind: (read: number) => Promise<unknown> = async () => {},
): Promise<() => number> {
  const key = await keyOf(client, PATH);
  let reads = 0;
  client.intercept(async (call, proceed) => {
    const isRead = call.verb === 'get' && call.key === key;
    if (!isRead) return proceed();
    const read = ++reads;
    await before(read);
    const result = await proceed();
    await behind(read);
    return result;
  });
  return () => reads;
}

/** Lets the file be at another path for each read of its text; each look finds it. */
async function away(scene: Scene, until: number): Promise<() => number> {
  const other = await scene.site.client();
  const isAway = (read: number): boolean => read % 2 === 0 && read < until;
  return aroundReads(
    scene,
    async (read) => isAway(read) && other.rename(PATH, OTHER),
    async (read) => isAway(read) && other.rename(OTHER, PATH),
  );
}

it('a version that is found four times, and is elsewhere each time it is read, is not found', async () => {
  const scene = await newScene();
  const reads = await away(scene, Number.POSITIVE_INFINITY);
  const reading = historyOf(scene.client).read({ path: PATH, version: scene.version.id });
  await expect(reading).rejects.toMatchObject({ code: 'not_found', details: {} });
  expect(reads()).toBe(8);
});

it('a version that is there at the fourth look is read', async () => {
  const scene = await newScene();
  await away(scene, 8);
  const read = await historyOf(scene.client).read({ path: PATH, version: scene.version.id });
  expect(read).toMatchObject({ path: PATH, version: scene.version.id, bytes: bytes('one') });
});

it('a version that is replaced between look and read is read from its record', async () => {
  const scene = await newScene();
  const other = await scene.site.client();
  await aroundReads(scene, async (read) => read === 2 && other.append(PATH, ' two'));
  const read = await historyOf(scene.client).read({ path: PATH, version: scene.version.id });
  expect(read.text()).toBe('one');
});

it('a text is read from its file with one GET, and from its record with one', async () => {
  const { client, version } = await newScene();
  const work = await client.open();
  client.calls.length = 0;
  expect(await contentOf(work, version)).toEqual(bytes('one'));
  await client.append(PATH, ' two');
  const kept = (await readWholePast(work)).versions.get(version.id);
  if (kept === undefined) throw new Error('the version is gone');
  client.calls.length = 0;
  expect(await contentOf(work, kept)).toEqual(bytes('one'));
  expect(client.calls.map(({ verb }) => verb)).toEqual(['get']);
});

it('nothing is read or found of a tenant that was never written to', async () => {
  const client = await (await openSite()).client();
  const reading = historyOf(client).read({ path: PATH, version: 'abcd' });
  await expect(reading).rejects.toMatchObject({ code: 'not_found' });
});

it('a text counts as redacted where a record of the version at another path says so', async () => {
  const { client } = await newScene();
  const work = await client.open();
  const [id, other] = [1, 2].map((byte) => new Uint8Array(16).fill(byte)) as [Uint8Array, Uint8Array];
  // The first characters of both ids are the same, as those of one in 2^48.
  other.set(id.subarray(0, 12));
  const none = new Uint8Array(16);
  const write = async (kind: 'replaced' | 'redacted', path: string, bound: bigint, version: Uint8Array) => {
    const facts = { path: at(path), bound, id: version, mtime: 1, previous: none, writer: none, size: 1 };
    const said = { at: 1, by: none, version: facts };
    const content = encodeHistoryRecord(
      kind === 'replaced' ? { ...said, kind, text: bytes('x') } : { ...said, kind },
    );
    const record = historyRecordId(work, facts);
    await writeKept(work, { cls: 'history', id: record, content });
    return record;
  };
  const name = toBase64url(id);
  const asked = (options?: Parameters<typeof isRedactedElsewhere>[2]) =>
    isRedactedElsewhere(work, name, options);
  await write('redacted', OTHER, 1n, other);
  await write('replaced', PATH, 2n, id);
  expect(await asked()).toBe(false);
  const record = await write('redacted', PATH, 3n, id);
  expect(await asked()).toBe(true);
  expect(await asked({ but: record })).toBe(false);
  expect(await asked({ beginning: historyHash(work, at(PATH)) })).toBe(true);
  expect(await asked({ beginning: historyHash(work, at(OTHER)) })).toBe(false);
  expect(await isRedactedElsewhere(work, toBase64url(new Uint8Array(16).fill(3)))).toBe(false);
});
