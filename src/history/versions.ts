import { isDamaged } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { equalBytes } from '../format/sodium.ts';
import { millisecondsOf, NO_ID } from '../format/wrap.ts';
import { inNfc, type MemoryPath, parseMemoryPath } from '../language/path.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { type ListedEntry, listDirectory } from '../tree/list-directory.ts';
import { readFile, readListed, type SealedVersion } from '../tree/read-file.ts';
import type { Call, Progress, Work } from '../tree/session.ts';
import { idOf, WHOLE_TREE } from './history-record.ts';
import { type Move, movesOf, settledMoves } from './moves.ts';
import { type ReadRecords, readRecords, textHashOf } from './read-records.ts';
import { leaveSealedAgain } from './sealed-again.ts';

/** A content id, in base64url: what names a version to a caller. */
export type VersionId = string;

/** One version of a file, wherever it lay. */
export interface Version {
  readonly id: VersionId;
  /** Where its text is to be had. */
  readonly path: MemoryPath;
  /** When it was written, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
  readonly bound: bigint;
  /** The version that it replaced; undefined for a new file. */
  readonly previous: VersionId | undefined;
  /** What stands for the actor in its wrap, base64url; undefined without one. */
  readonly writer: string | undefined;
  readonly size: number;
  /** `current`: in the file at `path`. `kept`: in the record of that id. `redacted`: taken out of it. */
  readonly text: 'current' | 'kept' | 'redacted';
  readonly record: string | undefined;
  /** When its text was taken out, and what stands for who did it; undefined where it was not. */
  readonly redacted?: { readonly at: number; readonly by: string | undefined };
  /** Stands for its text; undefined where that was taken out. */
  readonly textHash: string | undefined;
  /** By the clocks of those that saved it, the last of them: it was there then. Undefined: none tells. */
  readonly savedAt: number | undefined;
  /** Of one that is there: when a rename put it where it is, by the clock of that process; undefined where none did. */
  readonly renamedAt: number | undefined;
}

/** What is known of the versions of some paths. */
export interface Past {
  readonly versions: ReadonlyMap<VersionId, Version>;
  readonly moves: readonly Move[];
  /** The moves of each version. */
  readonly movesOf: ReadonlyMap<VersionId, readonly Move[]>;
  /** The version that replaced each. */
  readonly successors: ReadonlyMap<VersionId, Version>;
  /** What lies at each path now. */
  readonly files: ReadonlyMap<MemoryPath, VersionId>;
  /** Where each version lies or was saved: one that a rename was cut off with lies at two. */
  readonly places: ReadonlyMap<VersionId, ReadonlySet<MemoryPath>>;
  /** What cannot be read: ids of records, and paths of files. */
  readonly damaged: { readonly records: readonly string[]; readonly files: readonly MemoryPath[] };
}

/**
 * All that is kept of the tenant, and what its files are now: a GET for each record and each file.
 *
 * @param onProgress told how many of those were read, and of how many that are known by then: the files, then the records.
 */
export async function readWholePast(work: Work, onProgress?: Call['onProgress']): Promise<Past> {
  const found = collect();
  const { files } = await listDirectory(work, WHOLE_TREE);
  let done = 0;
  const readOne = async (file: ListedEntry): Promise<void> => {
    await addCurrent(found, file.path, readListed(work, file));
    onProgress?.({ done: ++done, total: files.length });
  };
  await eachConcurrently(work.session, files, readOne, ({ size }) => size);
  const onRecord = (records: Progress): void =>
    onProgress?.({ done: done + records.done, total: done + records.total });
  addRecords(found, await readRecords(work, undefined, onRecord));
  return pastOf(found);
}

/**
 * The past of one path: of what lies and lay there, and of the files that were renamed to it, or from it to another path. A
 * GET for each rename of the tenant and for each version of those paths.
 */
export async function readPast(work: Work, path: MemoryPath): Promise<Past> {
  const found = collect();
  addRecords(found, await readRecords(work, WHOLE_TREE));
  const seen = new Set<MemoryPath>();
  const waiting = [path];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next !== WHOLE_TREE) await addCurrent(found, next, readFile(work, next));
    addRecords(found, await readRecords(work, next));
    for (const { from, to } of found.moves) {
      if (to !== undefined && (from === next || to === next)) waiting.push(from, to);
    }
  }
  return only(pastOf(found), path);
}

/**
 * The past of the path that a caller means: in the form that was given, or where nothing is known of that, in NFC, in which
 * this library makes names.
 */
export async function readMeantPast(
  work: Work,
  given: MemoryPath,
): Promise<{ readonly path: MemoryPath; readonly past: Past }> {
  const past = await readPast(work, given);
  const isKnown = past.versions.size > 0 || past.moves.length > 0;
  if (isKnown || inNfc(given) === given) return { path: given, past };
  const path = parseMemoryPath(given);
  return { path, past: await readPast(work, path) };
}

/** Leaves away what other files have to do with the paths that are looked through. */
function only(past: Past, path: MemoryPath): Past {
  const wanted = new Set<VersionId>();
  for (const [id, places] of past.places) if (places.has(path)) wanted.add(id);
  for (const { from, to, version } of past.moves) if (from === path || to === path) wanted.add(version);
  for (const id of wanted) {
    const previous = past.versions.get(id)?.previous;
    if (previous !== undefined) wanted.add(previous);
  }
  return {
    ...past,
    versions: new Map([...past.versions].filter(([id]) => wanted.has(id))),
    moves: past.moves.filter(({ version }) => wanted.has(version)),
  };
}

interface Collected {
  readonly versions: Map<VersionId, Version>;
  /** As they are written down. */
  readonly moves: Move[];
  readonly places: Map<VersionId, Set<MemoryPath>>;
  readonly files: Map<MemoryPath, VersionId>;
  readonly damaged: { readonly records: string[]; readonly files: MemoryPath[] };
}

function collect(): Collected {
  const damaged = { records: [], files: [] };
  return { versions: new Map(), moves: [], places: new Map(), files: new Map(), damaged };
}

function pastOf({ versions, moves: told, places, files, damaged }: Collected): Past {
  const successors = new Map<VersionId, Version>();
  for (const version of versions.values()) {
    if (version.previous !== undefined) successors.set(version.previous, version);
  }
  const moves = settledMoves(told, { versions, successors, places });
  const movesOf = Map.groupBy(moves, ({ version }) => version);
  leaveSealedAgain(versions, { places, hasEnd: (id) => successors.has(id) || movesOf.has(id) });
  return { versions, moves, movesOf, successors, places, files, damaged };
}

async function addCurrent(
  found: Collected,
  path: MemoryPath,
  read: Promise<SealedVersion | undefined>,
): Promise<void> {
  try {
    const file = await read;
    if (file === undefined) return;
    const { contentId, mtime, bound, previous, writer, content, origin } = file;
    const id = toBase64url(contentId);
    addPlace(found, id, path);
    found.files.set(path, id);
    // At the path that is asked for, which comes first, rather than at another one.
    if (found.versions.get(id)?.text === 'current') return;
    found.versions.set(id, {
      ...{ id, path, mtime, bound, size: content.length, text: 'current', record: undefined },
      textHash: textHashOf(content),
      savedAt: undefined,
      renamedAt: equalBytes(origin, NO_ID) ? undefined : millisecondsOf(bound),
      previous: idOf(previous),
      writer: idOf(writer),
    });
  } catch (error) {
    if (!isDamaged(error)) throw error;
    found.damaged.files.push(path);
  }
}

function addRecords(found: Collected, { versions, events, damaged }: ReadRecords): void {
  found.damaged.records.push(...damaged);
  const moves = events.flatMap(movesOf);
  const deletes = new Set(
    moves.flatMap(({ version, from, to }) => (to === undefined ? [`${version} ${from}`] : [])),
  );
  const isDeletedAt = (id: VersionId, path: MemoryPath): boolean => deletes.has(`${id} ${path}`);
  for (const { contentId, previous, writer, redacted, id: record, ...facts } of versions) {
    const id = toBase64url(contentId);
    addPlace(found, id, facts.path);
    // One that was saved and not replaced, or at several paths, is one version. What is there now is nearest.
    // A text that was taken out stays out, also where another process wrote the version down once more.
    const known = found.versions.get(id);
    const savedAt = latest(facts.savedAt, known?.savedAt);
    // Of several places where it lay, it is told of where it was deleted: elsewhere a version that was sealed again may stand for it.
    const isEnded = isDeletedAt(id, facts.path) && known !== undefined && !isDeletedAt(id, known.path);
    const isNearer = known?.text === 'kept' && (redacted !== undefined || isEnded);
    if (known !== undefined && !isNearer) {
      found.versions.set(id, { ...known, savedAt });
      continue;
    }
    const { path, mtime, bound, size, textHash } = facts;
    found.versions.set(id, {
      ...{ id, path, mtime, bound, size, record, textHash, savedAt, renamedAt: undefined },
      text: redacted === undefined ? 'kept' : 'redacted',
      ...(redacted !== undefined && { redacted: { at: redacted.at, by: idOf(redacted.by) } }),
      previous: idOf(previous),
      writer: idOf(writer),
    });
  }
  found.moves.push(...moves);
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function addPlace({ places }: Collected, id: VersionId, path: MemoryPath): void {
  places.set(id, (places.get(id) ?? new Set()).add(path));
}
