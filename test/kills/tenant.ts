import { writeCheckpoint } from '../../src/admin/checkpoints/checkpoint.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyringEditor, type KeyringEditor } from '../../src/keys/keyring-editor.ts';
import type { RootKey } from '../../src/keys/root-key.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { type BucketStore, openBucketStore } from '../checkpoints/bucket-store.ts';
import { historyOf, textsOf } from '../stage/history-site.ts';
import {
  at,
  bytes,
  createSite,
  type StoreKind,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
} from '../stage/test-tree.ts';
import { type VersionedStore, versionedStore } from '../stage/versioned-store.ts';

const HOUR = 3_600_000;

/** The root key that wraps the tenant's keys, and the one that may follow it: every process has both. */
export const ROOT_KEYS: readonly [RootKey, RootKey] = [
  envRootKey(TEST_ROOT_KEY),
  envRootKey(new Uint8Array(32).fill(8)),
];

/** A tenant that keeps history, in a bucket within the process that keeps versions, and the processes that meet there. */
export interface Place {
  readonly site: TestSite;
  readonly kept: VersionedStore;
  /** The process of the verb that is judged, and the one that acts at one of its requests. Both have read all files. */
  readonly operator: TestClient;
  readonly writer: TestClient;
  /** A moment before the actor `bad` did anything. */
  readonly moment: Date;
  /** Lines of checkpoints, the first one of that moment; a verb may add one. */
  readonly lines: string[];
  /** The first version of the file `a`. */
  readonly version: string;
  /** The versions that files have before anybody meets, and all that they had. */
  readonly first: ReadonlySet<string>;
  readonly known: ReadonlySet<string>;
  /** Texts that were written, or added to one, and acknowledged. */
  readonly acknowledged: Set<string>;
}

export const pathOf = (name: string) => at(`/memories/${name}`);

/** A text that somebody redacts; no other one contains it. */
export const SECRET = 'the card is 4929 1838';

/** Texts come twice: `same` at three paths and in two versions of one file, `poison` at two paths. */
const [SAME, POISON] = ['same', 'poison'];

/** Each text that any version has before anybody meets. */
export const TEXTS: readonly string[] = [SAME, POISON, 'x', 'z', 'kept', 'kept still', 'poisoned x', 'y'];

/** A process whose requests take time: no two things happen in one millisecond. */
export async function newProcess(site: TestSite): Promise<TestClient> {
  const clock = (): number => Math.floor(site.time.clock());
  const client = await site.client({ keepsHistory: true, clock, rootKeys: ROOT_KEYS });
  takeTime(site, client);
  return client;
}

export function takeTime({ time }: TestSite, client: TestClient): void {
  client.intercept(async (_, proceed) => {
    await time.pause(2);
    return proceed();
  });
}

/** Changes and reads the keyring past the caches of the process. */
export function editorOf({ tenant }: TestClient): KeyringEditor {
  const { store, layout, stamps, random } = tenant;
  return createKeyringEditor({ store, layout, rootKeys: ROOT_KEYS, clock: stamps.now, random });
}

/** The objects that lay in the bucket when its past was made, and the time of that. */
interface Made extends Pick<Place, 'moment' | 'version' | 'first' | 'known'> {
  readonly objects: readonly {
    readonly key: Parameters<ObjectStore['get']>[0];
    readonly body: Uint8Array;
    readonly at: number;
  }[];
  readonly until: number;
  readonly lines: readonly string[];
}

const made = new Map<StoreKind, Promise<Made>>();
let seeds = 1;

/** Opens one more place with the same past. */
export async function openPlace(kind: StoreKind): Promise<Place> {
  if (!made.has(kind)) made.set(kind, makePast(kind));
  const { objects, until, moment, lines, version, first, known } = await (made.get(kind) as Promise<Made>);
  let [now, kept]: [number | undefined, VersionedStore | undefined] = [undefined, undefined];
  // Another seed: no two processes draw the same.
  const site = await createSite(kind, ++seeds, (_, { clock }) => {
    kept = versionedStore(openBucketStore(() => now ?? clock()));
    return kept.store;
  });
  if (kept === undefined) throw new Error('there is no store');
  for (const { key, body, at: written } of objects) {
    now = written;
    await site.base.put(key, body, { mode: 'overwrite' });
  }
  now = undefined;
  await site.time.pause(until - site.time.clock());
  const [operator, writer] = [await newProcess(site), await newProcess(site)];
  for (const client of [operator, writer]) await textsOf(client);
  return {
    site,
    kept,
    operator,
    writer,
    moment,
    lines: [...lines],
    version,
    first,
    known,
    acknowledged: new Set(),
  };
}

async function makePast(kind: StoreKind): Promise<Made> {
  const site = await createSite(kind, 1, (_, { clock }): BucketStore => openBucketStore(clock));
  const client = await newProcess(site);
  const { tree } = client;
  const create = (name: string, text: string, actor = 'ann') =>
    tree.create(pathOf(name), bytes(text), { actor });
  const bad = { actor: 'bad' };
  for (const name of ['a', 'b', 'd/y']) await create(name, SAME);
  await create('d/x', 'x');
  await create('z', 'z');
  await create('d/k', 'kept');
  await site.time.pause(2 * HOUR);
  const moment = new Date(client.tenant.clock());
  const lines = [(await writeCheckpoint(client.tenant)).line];
  await site.time.pause(HOUR);
  await tree.overwrite(pathOf('a'), bytes(POISON), bad);
  await tree.rename({ from: pathOf('b'), to: pathOf('c') }, bad);
  await tree.overwrite(pathOf('d/x'), bytes('poisoned x'), bad);
  await tree.overwrite(pathOf('d/y'), bytes('y'), bad);
  await tree.overwrite(pathOf('d/y'), bytes(SAME), bad);
  await tree.remove(pathOf('z'), bad);
  await site.time.pause(HOUR);
  lines.push((await writeCheckpoint(client.tenant)).line);
  await site.time.pause(HOUR);
  // These the next checkpoint must read.
  await create('n', POISON, 'bad');
  await tree.overwrite(pathOf('d/k'), bytes('kept still'), { actor: 'ann' });
  const [oldest] = (await historyOf(client).list('/memories/a')).slice(-1);
  const written = (await historyOf(client).list()).filter((entry) => entry.kind === 'written');
  const known = new Set(written.map(({ version: each }) => each));
  const first = new Set(written.filter(({ end }) => end === 'current').map(({ version: each }) => each));
  await site.time.pause(HOUR);
  const objects: Made['objects'][number][] = [];
  for await (const page of site.base.list({ prefix: '' })) {
    for (const { key, lastModified } of page.objects) {
      const found = await site.base.get(key);
      if (typeof found === 'object') objects.push({ key, body: found.body, at: lastModified });
    }
  }
  return { objects, until: site.time.clock(), moment, lines, version: oldest?.version ?? '', first, known };
}
