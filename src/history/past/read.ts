import { hasCode } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import { millisecondsOf } from '../../format/wrap.ts';
import { inNfc, type MemoryPath, parseMemoryPath } from '../../language/path.ts';
import type { ETag, ListedObject } from '../../store/port.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { filesIn, type ListedEntry, warnOfForeign } from '../../tree/list-directory.ts';
import { pagesBelow } from '../../tree/list-objects.ts';
import { readFile, readListed, type SealedVersion } from '../../tree/read-file.ts';
import { type ListedId, listIds, pagesOfIds } from '../../tree/records/list-ids.ts';
import { type CallOptions, type Work, withoutLimit } from '../../tree/tenant.ts';
import {
  boundOfRecord,
  historyHash,
  ID_CHARACTERS,
  versionOfRecord,
  WHOLE_TREE,
} from '../save/history-record.ts';
import { type Collector, createCollector } from './collect.ts';
import type { Past, VersionId } from './past.ts';
import { readHistoryContent } from './records.ts';

/** The most often that files are listed while other processes rename, write or delete some. */
const ROUNDS = 8;

/**
 * Reads all files and records of the tenant: a LIST for each 1,000 of both and a GET for each. It reads the files
 * first; a version that another process replaces meanwhile is then among the records. Where there are over 1,000 files,
 * or a file was gone or changed when it was read, a rename may have taken a file to a place that the listing had passed
 * already: it lists again until nothing new shows. Only facts stay in memory.
 *
 * @param onProgress gets how many were read, and how many were listed by then.
 */
export async function readWholePast(work: Work, onProgress?: CallOptions['onProgress']): Promise<Past> {
  const collector = createCollector();
  let [done, total] = [0, 0];
  const count = (): void => onProgress?.({ done: ++done, total });
  const read = new Map<ObjectKey, Pick<ListedEntry, 'path' | 'etag'>>();
  for (let round = 1, isWhole = false; round <= ROUNDS && !isWhole; round++) {
    const listed = new Set<ObjectKey>();
    let [pages, foreign] = [0, 0];
    isWhole = true;
    for await (const { objects } of pagesBelow(work, { prefix: work.tenant.layout.data })) {
      const all = filesIn(work, objects);
      foreign += objects.length - all.length;
      pages++;
      for (const { key } of all) listed.add(key);
      const files = all.filter(({ key, etag }) => read.get(key)?.etag !== etag);
      for (const { key, path, etag } of files) read.set(key, { path, etag });
      total += files.length;
      const areThere = await addFiles(work, collector, files, count);
      const isNew = round > 1 ? files.length > 0 : pages > 1;
      if (isNew || !areThere) isWhole = false;
    }
    if (round === 1) warnOfForeign(work, foreign);
    for (const [key, { path }] of read) {
      if (listed.has(key)) continue;
      read.delete(key);
      collector.removeFile(path);
      isWhole = false;
    }
  }
  for await (const { ids } of pagesOfIds(work, 'history')) {
    total += ids.length;
    await addRecords(work, collector, ids, count);
  }
  return collector.past();
}

/**
 * Reads the past of one path: of each file that lies or lay there, with its time at earlier paths. A LIST for each
 * 1,000 records of each path that the file has had, a GET for each of them, and one for each rename and directory's
 * delete of the tenant.
 */
export async function readPast(work: Work, path: MemoryPath): Promise<Past> {
  const reading = createReading(work);
  await reading.visit(path);
  return reading.readFrom(0n);
}

/**
 * Reads the past of the path that a caller means: as it was given or, where that path has no past, in NFC, in which
 * this library makes names.
 */
export async function readMeantPast(
  work: Work,
  given: MemoryPath,
  read: (path: MemoryPath) => Promise<Past> = (path) => readPast(work, path),
): Promise<{ readonly path: MemoryPath; readonly past: Past }> {
  const past = await read(given);
  const isKnown = past.versions.size > 0 || past.leaves.length > 0;
  if (isKnown || inNfc(given) === given) return { path: given, past };
  const path = parseMemoryPath(given);
  return { path, past: await read(path) };
}

/** The part of a past that is read from the end. */
interface NewestPart {
  readonly count: number;
  /** Tells whether the events after `since` (milliseconds since the epoch) are enough; earlier ones may be missing. */
  readonly isEnough: (past: Past, since: number) => Promise<boolean>;
}

/**
 * Reads the newest part of the answer of `readPast`: all events since some moment, once those are enough. A LIST for
 * each 1,000 records of the path, a GET for little more than `count` of them, and one for each rename and directory's
 * delete of the tenant.
 */
export async function readNewest(
  work: Work,
  path: MemoryPath,
  { count, isEnough }: NewestPart,
): Promise<Past> {
  const reading = createReading(work);
  await reading.visit(path);
  for (let newest = count + 1; ; newest *= GROWTH) {
    const from = reading.boundOfNewest(newest);
    const past = await reading.readFrom(from);
    if (reading.isComplete()) return past;
    if (!reading.isClosed(past, from)) return reading.readFrom(0n);
    if (await isEnough(past, millisecondsOf(from))) return past;
  }
}

/**
 * Reads the newest part of the answer of `readWholePast`, as `readNewest` does for a path: a LIST for each 1,000 files
 * and records, and a GET for twice `count` of both, and for the files of half an hour before: clocks of writers may be
 * ahead of the store's.
 */
export async function readNewestOfAll(
  work: Work,
  { count, isEnough }: NewestPart,
  onProgress?: CallOptions['onProgress'],
): Promise<Past> {
  const listFiles = async (): Promise<readonly ListedObject[]> => {
    const found: ListedObject[] = [];
    for await (const { objects } of pagesBelow(work, { prefix: work.tenant.layout.data }))
      for (const each of objects) found.push(each);
    return found;
  };
  let files = await listFiles();
  const whole = historyHash(work, WHOLE_TREE);
  const collector = createCollector();
  const read = new Set<string>();
  const isNew = (name: string): boolean => read.size < read.add(name).size;
  // Some files and records have no entry of their own; twice as many are usually enough at once.
  for (let newest = 2 * count + 1; ; newest *= GROWTH) {
    let times: number[] = [];
    for (let round = 1, isWhole = false; round <= ROUNDS && !isWhole; round++) {
      // A rename may have taken one to a place that the listing had passed already.
      if (round > 1) files = await listFiles();
      times = files.map(({ lastModified }) => lastModified);
      const oldest = nthNewest(times, newest) - SKEW_MS;
      const young = files.filter(
        ({ key, etag, lastModified }) => lastModified >= oldest && isNew(`${key} ${etag}`),
      );
      isWhole = await addFiles(work, collector, filesIn(work, young));
    }
    // Records are listed after the files, and so include a version that was replaced meanwhile.
    const ids: (ListedId & { readonly time: number })[] = [];
    for await (const page of pagesOfIds(work, 'history'))
      for (const each of page.ids) ids.push({ ...each, time: millisecondsOf(boundOfRecord(each.id)) });
    for (const { time } of ids) times.push(time);
    const since = nthNewest(times, newest);
    if (since === Number.NEGATIVE_INFINITY) return readWholePast(work, onProgress);
    const add = async (from: number, beginning = ''): Promise<Past> => {
      const young = ids.filter(({ id, time }) => time >= from && id.startsWith(beginning) && isNew(id));
      await addRecords(work, collector, young);
      return collector.past();
    };
    await add(since - SKEW_MS, whole);
    let past = await add(since);
    const later = [...past.versions.values()].filter(({ bound }) => millisecondsOf(bound) >= since);
    // A process with a slower clock may have deleted it.
    if (later.some(({ id }) => !isRouteWhole(past, id))) past = await add(since - SKEW_MS);
    if (await isEnough(past, since)) return past;
  }
}

/** Finds the time of the `count`th newest; minus infinity where there are fewer. */
function nthNewest(times: readonly number[], count: number): number {
  return Float64Array.from(times).sort().at(-count) ?? Number.NEGATIVE_INFINITY;
}

/** The factor by which the next attempt reads more. */
const GROWTH = 4;

/**
 * Reads the past of the versions at a path whose names have that beginning. First it reads the file, and those records
 * of the path whose ids carry the name. Where these lack the version, or the beginning is shorter than the part in an
 * id, it reads such records at the file's other paths too. Where it then found several, or one elsewhere, it reads the
 * path's whole past: only the chains tell whose version it is.
 */
export async function readNamed(work: Work, path: MemoryPath, beginning: VersionId): Promise<Past> {
  const reading = createReading(work);
  await reading.visit(path);
  const found = ({ versions }: Past) => [...versions.keys()].filter((id) => id.startsWith(beginning));
  let past = await reading.readNamed(beginning, 'here');
  if (beginning.length >= ID_CHARACTERS && found(past).length > 0) return past;
  past = await reading.readNamed(beginning, 'everywhere');
  const isHere = (id: VersionId): boolean => past.bindings(id).some((binding) => binding.path === path);
  const ids = found(past);
  return ids.length < 2 && ids.every(isHere) ? past : reading.readFrom(0n);
}

/** The most that two clocks may differ by while S3 accepts requests of both: milliseconds. */
const SKEW_MS = 1_800_000;

interface PastReader {
  /** Reads the file at a path, and lists the records of the path and those of the whole tree. */
  visit(path: MemoryPath): Promise<void>;
  /** Finds the bound of the `count`th newest record of the first path; 0 where there are fewer. */
  boundOfNewest(count: number): bigint;
  /** Reads every record from a bound on, also those of each path that a rename leads to. */
  readFrom(from: bigint): Promise<Past>;
  /** Reads the records that carry a version's name, at the first path or at each that a rename leads to as well. */
  readNamed(beginning: VersionId, where: 'here' | 'everywhere'): Promise<Past>;
  /** Tells whether every record was read. */
  isComplete(): boolean;
  /** Tells whether the records that wait to be read include all that the chains of newer versions lack. */
  isClosed(past: Past, from: bigint): boolean;
}

function createReading(work: Work): PastReader {
  const collector = createCollector();
  /** The records that wait to be read, by their paths, the oldest first. */
  const unread = new Map<MemoryPath, readonly ListedId[]>();
  let first = WHOLE_TREE;

  const visit = async (path: MemoryPath): Promise<void> => {
    if (unread.has(path)) return;
    // The file is read first: a version that is replaced meanwhile is then listed.
    if (path !== WHOLE_TREE) await addFile(collector, path, readFile(withoutLimit(work), path));
    unread.set(path, await listIds(work, 'history', `${historyHash(work, path)}_`));
  };
  const read = async (path: MemoryPath, isAsked: (id: string) => boolean): Promise<boolean> => {
    const waiting = unread.get(path) ?? [];
    const asked = waiting.filter(({ id }) => isAsked(id));
    await addRecords(work, collector, asked);
    if (asked.length > 0) {
      unread.set(
        path,
        waiting.filter(({ id }) => !isAsked(id)),
      );
    }
    return asked.length > 0;
  };
  /**
   * Reads all renames, and the wanted records of each path to which they lead: a version that left a path long ago may
   * be deleted now.
   */
  const readAlong = async (isAsked: (id: string) => boolean): Promise<Past> => {
    for (let isChanged = true; isChanged; ) {
      isChanged = await read(WHOLE_TREE, () => true);
      for (const path of unread.keys()) if (path !== WHOLE_TREE) await read(path, isAsked);
      for (const { from: source, to } of collector.leaves()) {
        if (to === undefined || unread.has(source) === unread.has(to)) continue;
        await visit(unread.has(to) ? source : to);
        isChanged = true;
      }
    }
    return collector.past();
  };
  return {
    async visit(path) {
      first = path;
      await visit(path);
      await visit(WHOLE_TREE);
    },
    boundOfNewest(count) {
      const at = unread.get(first)?.at(-count);
      return at === undefined ? 0n : boundOfRecord(at.id);
    },
    async readFrom(from) {
      return only(await readAlong((id) => boundOfRecord(id) >= from), first);
    },
    async readNamed(beginning, where) {
      const start = beginning.slice(0, ID_CHARACTERS);
      const isNamed = (id: string): boolean => versionOfRecord(id).startsWith(start);
      if (where === 'everywhere') return readAlong(isNamed);
      await read(first, isNamed);
      return collector.past();
    },
    isComplete: () => [...unread.values()].every((ids) => ids.length === 0),
    isClosed(past, from) {
      const listed = new Set([...unread.values()].flatMap((ids) => ids.map(({ id }) => versionOfRecord(id))));
      const newer = [...past.versions.values()].filter(({ bound }) => bound >= from);
      return newer.every(({ id, previous = '' }) => {
        const isBefore = previous === '' || past.versions.has(previous);
        return isRouteWhole(past, id) && (isBefore || listed.has(previous.slice(0, ID_CHARACTERS)));
      });
    },
  };
}

/**
 * Tells whether the route of a version has no gap: each leave begins where the one before ended, and the end is known.
 */
function isRouteWhole(past: Past, id: VersionId): boolean {
  const leaves = past.leavesOf(id);
  const last = leaves.at(-1);
  const there = past.bindings(id).filter(({ isThere }) => isThere);
  const isLinked = leaves.every(({ from }, at) => at === 0 || leaves[at - 1]?.to === from);
  const isWhereItCame = there.every(({ path }) => last === undefined || path === last.to);
  const hasEnd = there.length > 0 || past.successors(id).length > 0 || (last && last.to === undefined);
  return isLinked && isWhereItCame && hasEnd === true;
}

/** Keeps the versions and leaves of a path's files, and drops those of other files that shared one of their paths. */
function only(past: Past, path: MemoryPath): Past {
  const wanted = new Set<VersionId>();
  for (const id of past.versions.keys())
    if (past.bindings(id).some((binding) => binding.path === path)) wanted.add(id);
  for (const { id, from, to } of past.leaves) if (from === path || to === path) wanted.add(id);
  for (const id of [...wanted]) {
    for (const before of past.ancestors(id, (each) => wanted.has(each))) wanted.add(before.id);
  }
  return {
    ...past,
    versions: new Map([...past.versions].filter(([id]) => wanted.has(id))),
    leaves: past.leaves.filter(({ id }) => wanted.has(id)),
  };
}

/**
 * Adds the content of the files. False where some were gone or had changed since they were listed: a rename may have
 * taken the listed file to a path that the listing had passed already, and another file may lie in its place.
 */
async function addFiles(
  work: Work,
  collector: Collector,
  files: readonly ListedEntry[],
  onRead: () => void = () => {},
): Promise<boolean> {
  let isWhole = true;
  const addOne = async (file: ListedEntry): Promise<void> => {
    const found = await addFile(collector, file.path, readListed(withoutLimit(work), file));
    if (found !== 'damaged' && found !== file.etag) isWhole = false;
    onRead();
  };
  await eachConcurrently(work.tenant, files, addOne, ({ size }) => size);
  return isWhole;
}

/** Adds the content of a file, and answers which version was read; undefined where it is gone. */
async function addFile(
  collector: Collector,
  path: MemoryPath,
  reading: Promise<SealedVersion | undefined>,
): Promise<ETag | 'damaged' | undefined> {
  try {
    const file = await reading;
    if (file !== undefined) collector.addFile(path, file);
    return file?.stored.etag;
  } catch (error) {
    if (!isNotWhole(error)) throw error;
    collector.addDamagedFile(path);
    return 'damaged';
  }
}

async function addRecords(
  work: Work,
  collector: Collector,
  listed: readonly ListedId[],
  onRead: () => void = () => {},
): Promise<void> {
  const addOne = async ({ id }: ListedId): Promise<void> => {
    try {
      const content = await readHistoryContent(work, id);
      if (content !== undefined) collector.addRecord(id, content);
    } catch (error) {
      if (!isNotWhole(error)) throw error;
      collector.addDamagedRecord(id);
    }
    onRead();
  };
  await eachConcurrently(work.tenant, listed, addOne, ({ object }) => object.size);
}

/** Tells whether an error means that one object cannot be read: a finding, and no reason to stop. */
function isNotWhole(error: unknown): boolean {
  return hasCode(error, 'integrity', 'limit_exceeded', 'unsupported_format');
}
