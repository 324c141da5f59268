import { hasCode, MemoryError } from '../../src/errors.ts';
import type { Layout } from '../../src/format/object-keys.ts';
import { createHistory, type History } from '../../src/history/history.ts';
import type { WrittenEntry } from '../../src/history/past/entries.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import type { HeldStore } from '../stage/held-store.ts';
import { createOperator } from '../stage/key-operator.ts';
import {
  at,
  bytes,
  createSite,
  type StoreKind,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
} from '../stage/test-tree.ts';
import { whereTextIs } from '../stage/traces.ts';
import { type VersionedStore, versionedStore } from '../stage/versioned-store.ts';
import type { VirtualTime } from '../stage/virtual-time.ts';

/** The text that is taken out. No other text of a scene contains it. */
const SECRET = 'the card is 4929 1838';
/** The path at which the file begins, and the paths to which renames bring it: each in a directory of its own. */
const [PATH, NEXT, THIRD] = ['/memories/d/a', '/memories/e/a', '/memories/third'];

/** Which texts the file had, before anybody redacts or writes. */
export type Past = 'once' | 'twice' | 'again';
export const PASTS: readonly Past[] = ['once', 'twice', 'again'];

/** A tenant with a file that had the text, and the processes that work on it. */
export interface Scene {
  readonly site: TestSite;
  readonly redactor: Process;
  readonly writer: Process;
  readonly version: WrittenEntry;
  /** A moment at which the file had the text. */
  readonly moment: Date;
  /** Keys of objects in which the text can be read, with all keyrings there ever were. */
  search(): Promise<readonly string[]>;
  /** One more process, which has read the file. */
  newProcess(): Promise<Process>;
  close(): Promise<void>;
}

interface Process {
  readonly client: TestClient;
  readonly history: History;
}

interface SceneOptions {
  readonly kind?: StoreKind;
  readonly isVersioned?: boolean;
  readonly past?: Past;
  readonly seed?: number;
  /** Each request takes a random time of up to so many milliseconds both ways. */
  readonly delayMs?: number;
}

/** The beginning of all scenes with the same past. */
interface Begun {
  readonly held: HeldStore;
  readonly kept: VersionedStore;
  readonly version: WrittenEntry;
  readonly moment: Date;
  readonly layout: Layout;
  /** The time at which the past ends. */
  readonly now: number;
}

const begun = new Map<string, Promise<Begun>>();

/** Lives through a past once: a scene begins with a copy of what it left. */
function begin(kind: StoreKind, past: Past): Promise<Begun> {
  const name = `${kind} ${past}`;
  const known = begun.get(name) ?? liveThrough(kind, past);
  begun.set(name, known);
  return known;
}

async function liveThrough(kind: StoreKind, past: Past): Promise<Begun> {
  let stores: Pick<Begun, 'held' | 'kept'> | undefined;
  const site = await createSite(kind, SEED_OF_PASTS, (held) => {
    stores = { held, kept: versionedStore(held) };
    return stores.kept.store;
  });
  if (stores === undefined) throw new Error('there is no store');
  const client = await site.client({ keepsHistory: true });
  const write = async (text: string, actor: string): Promise<void> => {
    await site.time.pause(1_000);
    await client.tree.overwrite(at(PATH), bytes(text), { actor });
    await site.time.pause(1_000);
  };
  await write(SECRET, 'ann');
  const moment = new Date(site.time.clock());
  await write('clean', 'bob');
  if (past !== 'once') await write(SECRET, 'ann');
  if (past === 'twice') await write('clean again', 'bob');
  const entries = await createHistory(client.tenant, client.tree, { versions: undefined }).list(PATH);
  const version = entries.findLast(({ kind }) => kind === 'written');
  if (version?.kind !== 'written') throw new Error('there is no version');
  // From here on nobody waits for a creator that might take the file back.
  await site.time.pause(61_000);
  return { ...stores, version, moment, layout: client.layout, now: site.time.clock() };
}

/** The seed of no scene: ids that the past drew do not come again. */
const SEED_OF_PASTS = -1;

/**
 * Makes a scene: `once` the file had the text and has another now; `twice` it had it two times; `again` it has it now,
 * as another version than the one that is redacted.
 */
export async function createScene(options: SceneOptions = {}): Promise<Scene> {
  const { kind = 'guarded', isVersioned = false, past = 'once', seed = 1, delayMs } = options;
  const { held, kept, version, moment, layout, now } = await begin(kind, past);
  let store: VersionedStore | undefined;
  const dress = (_: HeldStore, { clock }: VirtualTime): ObjectStore => {
    store = kept.copy(held.copy(clock));
    return store.store;
  };
  const site = await createSite(kind, seed, dress, now);
  if (store === undefined) throw new Error('there is no store');
  const { versions, all } = store;
  const surroundings = { versions: isVersioned ? versions : undefined };
  const processOf = (client: TestClient): Process => ({
    client,
    history: createHistory(client.tenant, client.tree, surroundings),
  });
  const newProcess = async (): Promise<Process> => {
    const client = await site.client(delayMs === undefined ? {} : { delayMs });
    await client.text(PATH);
    client.calls.length = 0;
    return processOf(client);
  };
  return {
    site,
    version,
    moment,
    newProcess,
    redactor: await newProcess(),
    writer: await newProcess(),
    async search() {
      const objects = isVersioned ? all() : await currentObjects(site);
      return whereTextIs(objects, { layout, rootKey: TEST_ROOT_KEY }, SECRET);
    },
    close: async () => site.base[Symbol.asyncDispose](),
  };
}

async function currentObjects({ base }: TestSite) {
  const found = [];
  for await (const { objects } of base.list({ prefix: '' })) {
    for (const { key } of objects) {
      const stored = await base.get(key);
      if (typeof stored === 'object') found.push({ key, body: stored.body });
    }
  }
  return found;
}

let count = 0;

/** The deeds of another process beside a redaction. None of them writes the text by itself. */
export const WRITERS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  overwrite: ({ writer }) => writer.client.tree.overwrite(at(PATH), bytes(`clean ${++count}`)),
  overwriteRenamed: async ({ writer }) => {
    await writer.client.rename(PATH, NEXT);
    await writer.client.tree.overwrite(at(NEXT), bytes(`clean ${++count}`));
  },
  rename: ({ writer }) => writer.client.rename(PATH, NEXT),
  renameDirectory: ({ writer }) => writer.client.rename('/memories/d', '/memories/e'),
  renameTwice: async ({ writer }) => {
    await writer.client.rename(PATH, NEXT);
    await writer.client.rename(NEXT, THIRD);
  },
  remove: ({ writer }) => writer.client.remove(PATH),
  removeDirectory: ({ writer }) => writer.client.remove('/memories/d'),
  restore: ({ writer, version }) => writer.history.restore(version),
  restoreAndRename: async ({ writer, version }) => {
    await writer.history.restore(version);
    await writer.client.rename(PATH, NEXT);
  },
  restoreDeleted: async ({ writer, version }) => {
    await writer.client.remove(PATH);
    await writer.history.restore(version);
  },
  undo: ({ writer }) => writer.history.undo({ writer: 'bob', actor: 'cyd' }),
  restoreAt: ({ writer, moment }) => writer.history.restoreAt(moment, { actor: 'cyd' }),
  migrate: (scene) => migrate(scene, false),
  reencrypt: (scene) => migrate(scene, true),
  edit: ({ writer }) =>
    writer.client.tree.edit(at(PATH), () => ({ content: bytes(`edited ${++count}`), result: undefined })),
  editThatKeepsTheText: ({ writer }) =>
    writer.client.tree.edit(at(PATH), (content) => ({ content, result: undefined })),
};

async function migrate({ site, writer }: Scene, reencrypt: boolean): Promise<void> {
  const operator = await createOperator(site, writer.client);
  await operator.rotate();
  // After this pause no process holds the older key alone.
  await site.time.pause(1_200_000);
  await operator.migrate({ reencrypt });
}

/**
 * Follows what a failed redaction says until one is acknowledged: the files that it names get another text, and the
 * versions that it names are redacted as well. Fails where it says nothing that can be followed.
 */
export async function followAdvice({ redactor, version }: Scene, failure: unknown): Promise<void> {
  const toRedact = new Map([[version.version, version.path]]);
  let said = failure;
  for (let round = 0; round < 8; round++) {
    if (!(said instanceof MemoryError)) throw said;
    const { reason, paths = [], versions = [] } = said.details;
    if (reason !== 'current' && reason !== 'redacted') throw said;
    for (const [index, path] of (paths as readonly string[]).entries()) {
      const name = (versions as readonly string[])[index];
      if (name !== undefined) toRedact.set(name, path);
      await redactor.client.tree.overwrite(at(path), bytes('clean, as was said'));
    }
    const outcomes = [];
    for (const [name, path] of toRedact) {
      outcomes.push(
        await redactor.history.redact({ path, version: name }).then(
          () => undefined,
          // Nothing is left of a version that is not known any more.
          (error: unknown) => (hasCode(error, 'not_found') ? undefined : error),
        ),
      );
    }
    said = outcomes.find((outcome) => outcome !== undefined);
    if (said === undefined) return;
  }
  throw said;
}
