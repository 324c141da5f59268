import { MemoryError } from '../../errors.ts';
import { directoryPrefix, fileKey, type ObjectKey } from '../../format/object-keys.ts';
import { joinPath, MEMORY_ROOT, type MemoryPath, segmentsOf } from '../../language/path.ts';
import { compareUtf8, KEYS_PER_REQUEST, type ListedObject } from '../../store/port.ts';
import { pause } from '../../time.ts';
import { countFor, createCounts } from '../../tool/call-counts.ts';
import { decodeEntry } from '../../tree/list-directory.ts';
import { openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import type { StoredFile, TreeChange } from '../protocol.ts';
import type { Asking } from './answer-questions.ts';

/** The time from the end of a look to the next one: an edit of what is open is seen within a second. */
const PAUSE_MS = 800;
/** The most LISTs that a look spends on what is open, beside the one for the rest. */
const MOST_LISTS = 4;
/** The objects that a first look tells at once: a few more than a screen has rows for. */
const FIRST_OBJECTS = 100;

/** The age up to which a listing ahead is shown; the look that follows it corrects it. */
const AHEAD_MS = 10_000;
/** The longest wait for a listing ahead. */
const AHEAD_WAIT_MS = 1_000;

/** The time for which a look pauses, so that a browser on the same machine can draw what was told first. */
const DRAWING_MS = 120;

/** The watches of a page, one for each of its windows. */
export interface Watches {
  /** Lists the first objects while the browser still starts, for the next watch to show at once. */
  lookAhead(signal: AbortSignal): void;
  /**
   * Sends the whole tree, and then whatever changed in it, until the page no longer waits. Each look lists what is open
   * and, where the tree has more than 1,000 objects, the next 1,000 of the rest.
   */
  watch(id: string, asking: Asking<TreeChange>): Promise<never>;
  /** Makes the watch of that id list these files and directories at each look, in this order. */
  attend(id: string, paths: readonly MemoryPath[]): void;
  /** Makes every watch look at once at these files or directories and everything below them. */
  nudge(paths: readonly MemoryPath[]): void;
}

/** The wishes of the page that a watch heeds at its next look. */
interface Wishes {
  open: readonly MemoryPath[];
  changed: readonly MemoryPath[];
  /** Ends the pause before the next look. */
  hurry: () => void;
}

export function createWatches(tenant: Tenant): Watches {
  const all = new Map<string, Wishes>();
  let ahead: Promise<Ahead | undefined> | undefined;
  return {
    lookAhead(signal) {
      // Whatever fails here is told by the watch.
      ahead = listAhead(tenant, signal).catch(() => undefined);
    },
    async watch(id, asking) {
      const wishes: Wishes = { open: [], changed: [], hurry() {} };
      all.set(id, wishes);
      try {
        const listed = ahead;
        ahead = undefined;
        // A store that is slow is asked anew, so that the page hears of its failure.
        const late = (): Promise<undefined> => pause(AHEAD_WAIT_MS, asking.signal).then(() => undefined);
        const found = listed && (await Promise.race([listed, late()]));
        return await watchTree(tenant, asking, { wishes, ahead: found });
      } finally {
        if (all.get(id) === wishes) all.delete(id);
      }
    },
    attend(id, paths) {
      const wishes = all.get(id);
      if (wishes !== undefined) wishes.open = paths;
    },
    nudge(paths) {
      for (const wishes of all.values()) {
        wishes.changed = [...wishes.changed, ...paths];
        wishes.hurry();
      }
    },
  };
}

/** The first objects of the tree as they were a moment ago. */
interface Ahead {
  readonly stretch: Stretch;
  readonly requests: TreeChange['requests'];
  /** Milliseconds of the tenant's monotonic clock. */
  readonly at: number;
}

async function listAhead(tenant: Tenant, signal: AbortSignal): Promise<Ahead | undefined> {
  const counts = createCounts();
  return countFor(counts, async () => {
    if ((await openWork(tenant, { signal })) === undefined) return undefined;
    for await (const stretch of stretchesOf(tenant, tenant.layout.data, signal)) {
      const [first = stretch] = divided(stretch, FIRST_OBJECTS);
      return { stretch: first, requests: counts.requests, at: tenant.monotonic() };
    }
    return undefined;
  });
}

async function watchTree(
  tenant: Tenant,
  { signal, send }: Asking<TreeChange>,
  { wishes, ahead }: { readonly wishes: Wishes; readonly ahead: Ahead | undefined },
): Promise<never> {
  const list = createRunningList(tenant);
  let pass: Stretches | undefined;
  let isWhole = true;
  /** The files that are others than was told, by their paths; undefined for one that is gone. */
  let found = new Map<string, StoredFile | undefined>();
  const tell = async (
    rest: Pick<TreeChange, 'isPartial' | 'requests' | 'everyMs' | 'restMs'>,
  ): Promise<void> => {
    const changed = [...found.values()].filter((file) => file !== undefined);
    const removed = [...found].flatMap(([path, file]) => (file === undefined ? path : []));
    found = new Map();
    const change = { ...rest, changed, removed, whole: isWhole, foreign: list.foreign };
    isWhole = false;
    await send(change);
  };
  const tellPart = (requests: TreeChange['requests']): Promise<void> =>
    tell({ isPartial: true, requests, everyMs: 0, restMs: 0 });
  const take = (work: Work | undefined, stretch: Stretch): void => {
    const { changed, removed } = list.take(work, stretch);
    for (const path of removed) found.set(path, undefined);
    for (const file of changed) found.set(file.path, file);
  };
  /** Goes on with the pass over the whole tree by one LIST, or to its end. */
  const passOn = async (work: Work, to: 'next' | 'end' | 'first end'): Promise<void> => {
    pass ??= stretchesOf(tenant, tenant.layout.data, signal);
    for (;;) {
      const { value: stretch } = await pass.next();
      if (stretch === undefined) break;
      // Each stretch of the first look is told as it comes; the first one is told in two parts.
      const parts = to === 'first end' && list.size === 0 ? divided(stretch, FIRST_OBJECTS) : [stretch];
      for (const part of parts) {
        take(work, part);
        const isMore = part !== parts.at(-1) || stretch.objects.length === KEYS_PER_REQUEST;
        if (isMore && to === 'first end') await tellPart({});
      }
      if (stretch.through === undefined) break;
      if (stretch.objects.length === KEYS_PER_REQUEST && to === 'next') return;
    }
    pass = undefined;
  };
  const look = async (isFirst: boolean): Promise<void> => {
    const { open, changed } = wishes;
    wishes.changed = [];
    const work = await openWork(tenant, { signal });
    if (work === undefined) {
      await pass?.return();
      pass = undefined;
      take(work, { prefix: tenant.layout.data, objects: [] });
      return;
    }
    if (isFirst && ahead !== undefined && tenant.monotonic() - ahead.at < AHEAD_MS) {
      take(work, ahead.stretch);
      await tellPart(ahead.requests);
      if (ahead.stretch.objects.length === FIRST_OBJECTS) await pause(DRAWING_MS, signal);
    }
    const prefixes = isFirst ? [] : list.prefixesOf(work, { changed, open });
    for (const prefix of prefixes) {
      for await (const stretch of stretchesOf(tenant, prefix, signal)) take(work, stretch);
    }
    if (prefixes.includes(tenant.layout.data)) return;
    if (!changed.includes(MEMORY_ROOT)) return passOn(work, isFirst ? 'first end' : 'next');
    await pass?.return();
    pass = undefined;
    await passOn(work, 'end');
  };
  try {
    for (let isFirst = true; ; isFirst = false) {
      const counts = createCounts();
      await countFor(counts, () => look(isFirst));
      const restMs = PAUSE_MS * Math.max(1, Math.ceil(list.size / KEYS_PER_REQUEST));
      await tell({ isPartial: false, requests: counts.requests, everyMs: PAUSE_MS, restMs });
      if (wishes.changed.length === 0) await pauseOrHurry(wishes, signal);
    }
  } finally {
    await pass?.return();
  }
}

async function pauseOrHurry(wishes: Wishes, signal: AbortSignal): Promise<void> {
  const hurry = Promise.withResolvers<void>();
  wishes.hurry = hurry.resolve;
  const ending = new AbortController();
  const paused = pause(PAUSE_MS, AbortSignal.any([signal, ending.signal]));
  try {
    await Promise.race([paused, hurry.promise]);
  } finally {
    paused.catch(() => {});
    ending.abort();
  }
}

/**
 * All objects whose keys begin with `prefix` and come after `after`, up to `through`; to the end where one of these is
 * undefined.
 */
interface Stretch {
  readonly prefix: string;
  readonly after?: string | undefined;
  readonly through?: string | undefined;
  readonly objects: readonly ListedObject[];
}

type Stretches = AsyncGenerator<Stretch, void>;

/** Lists the objects of a prefix, a LIST a stretch; the last stretch has no objects and reaches to the end. */
async function* stretchesOf({ store }: Tenant, prefix: string, signal: AbortSignal): Stretches {
  let after: string | undefined;
  for await (const { objects } of store.list({ prefix, signal })) {
    const through = objects.at(-1)?.key;
    if (through === undefined) continue;
    yield { prefix, after, through, objects };
    after = through;
  }
  yield { prefix, after, objects: [] };
}

/** Divides a stretch after that many objects; one that has no more stays whole. */
function divided(stretch: Stretch, count: number): readonly Stretch[] {
  const through = stretch.objects[count - 1]?.key;
  if (through === undefined || stretch.objects.length === count) return [stretch];
  const objects = stretch.objects.slice(0, count);
  return [
    { ...stretch, through, objects },
    { ...stretch, after: through, objects: stretch.objects.slice(count) },
  ];
}

/** An object as it was listed last; without a file where no writer of this tenant made it. */
interface SeenObject {
  readonly etag: string;
  readonly file: StoredFile | undefined;
}

/** The objects of the tree as the listings so far have them. */
interface RunningList {
  readonly size: number;
  /** Objects that no writer of this tenant made. */
  readonly foreign: number;
  /**
   * Takes what lies in a stretch in place of what lay there before, and tells what is other now. Costs time for the
   * stretch alone, not for the whole list.
   */
  take(work: Work | undefined, stretch: Stretch): Pick<TreeChange, 'changed' | 'removed'>;
  /**
   * Finds the prefixes to list for paths. For open paths these are as many as a few LISTs show; for a file in a very
   * large directory only its own. For changed paths they cover everything at and below them. None for a tree that one
   * LIST shows.
   */
  prefixesOf(
    work: Work,
    paths: { readonly changed: readonly MemoryPath[]; readonly open: readonly MemoryPath[] },
  ): readonly string[];
}

function createRunningList({ layout }: Tenant): RunningList {
  const seen = new Map<ObjectKey, SeenObject>();
  /** The keys of `seen`, in the order of a listing. */
  const keys: ObjectKey[] = [];
  /** The key that a path was found under last: while names are re-encrypted a path has two. */
  const byPath = new Map<string, ObjectKey>();
  let foreign = 0;

  /** Finds the first place of a key that is not `before` what is looked for. */
  const placeOf = (before: (key: ObjectKey) => boolean): number => {
    let [low, high] = [0, keys.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const key = keys[middle];
      if (key !== undefined && before(key)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const rangeOf = ({ prefix, after, through }: Omit<Stretch, 'objects'>): readonly [number, number] => [
    placeOf((key) => (after === undefined ? compareUtf8(key, prefix) < 0 : compareUtf8(key, after) <= 0)),
    placeOf((key) =>
      through === undefined
        ? key.startsWith(prefix) || compareUtf8(key, prefix) < 0
        : compareUtf8(key, through) <= 0,
    ),
  ];
  /** Tells how many LISTs show what lies below a prefix. */
  const listsFor = (prefix: string): number => {
    const [from, to] = rangeOf({ prefix });
    return Math.max(1, Math.ceil((to - from) / KEYS_PER_REQUEST));
  };
  const put = (key: ObjectKey, object: SeenObject | undefined): void => {
    const before = seen.get(key);
    if (before !== undefined && before.file === undefined) foreign -= 1;
    if (object === undefined) seen.delete(key);
    else seen.set(key, object);
    if (object !== undefined && object.file === undefined) foreign += 1;
  };

  return {
    get size() {
      return keys.length;
    },
    get foreign() {
      return foreign;
    },
    take(work, stretch) {
      const [from, to] = rangeOf(stretch);
      const changed: StoredFile[] = [];
      const removed: string[] = [];
      const found = new Set(stretch.objects.map(({ key }) => key));
      const gone = keys.slice(from, to).filter((key) => !found.has(key));
      for (const key of gone) {
        const path = seen.get(key)?.file?.path;
        put(key, undefined);
        if (path === undefined || byPath.get(path) !== key) continue;
        byPath.delete(path);
        removed.push(path);
      }
      for (const object of stretch.objects) {
        const before = seen.get(object.key);
        if (before?.file !== undefined && before.etag === object.etag) continue;
        const file = work && fileOf(work, object);
        put(object.key, { etag: object.etag, file });
        if (file === undefined) continue;
        byPath.set(file.path, object.key);
        changed.push(file);
      }
      if (gone.length > 0 || found.size !== to - from) keys.splice(from, to - from, ...found);
      return { changed, removed };
    },
    prefixesOf(work, { changed, open }) {
      if (keys.length < KEYS_PER_REQUEST) return [];
      const { names } = work.keyring;
      const belowOf = (path: MemoryPath): string => directoryPrefix(layout, names, path);
      const openPrefix = (path: MemoryPath): string => {
        const key = path === MEMORY_ROOT ? undefined : fileKey(layout, names, path);
        if (key === undefined || !seen.has(key)) return belowOf(path);
        const beside = belowOf(joinPath(MEMORY_ROOT, ...segmentsOf(path).slice(0, -1)));
        return listsFor(beside) <= MOST_LISTS ? beside : key;
      };
      const all = changed
        .filter((path) => path !== MEMORY_ROOT)
        .flatMap((path) => unlessRefused(() => belowOf(path).slice(0, -1)));
      const wanted = open
        .flatMap((path) => unlessRefused(() => openPrefix(path)))
        .filter((prefix) => listsFor(prefix) <= MOST_LISTS);
      const opened: string[] = [];
      let lists = 0;
      for (const prefix of outermost(wanted)) {
        lists += listsFor(prefix);
        if (lists > MOST_LISTS) break;
        opened.push(prefix);
      }
      return [...outermost(all), ...opened];
    },
  };

  function fileOf(work: Work, object: ListedObject): StoredFile | undefined {
    const entry = decodeEntry(work, { directory: MEMORY_ROOT, prefix: layout.data, object });
    return (
      entry && {
        path: entry.path,
        size: entry.size,
        stored: object.size,
        modified: object.lastModified,
        version: object.etag,
        key: object.key.slice(layout.data.length),
      }
    );
  }
}

/** Answers the prefix; none for a path that no file can have, which the look at the rest covers. */
function unlessRefused(prefixOf: () => string): readonly string[] {
  try {
    return [prefixOf()];
  } catch (error) {
    if (error instanceof MemoryError) return [];
    throw error;
  }
}

/** Leaves out each prefix that another one covers. */
function outermost(prefixes: readonly string[]): readonly string[] {
  const all = [...new Set(prefixes)];
  return all.filter((prefix) => !all.some((other) => other !== prefix && prefix.startsWith(other)));
}
