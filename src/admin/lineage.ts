import { toBase64url } from '../format/encoding.ts';
import { millisecondsOf, NO_ID } from '../format/wrap.ts';
import type { MemoryPath } from '../language/path.ts';
import { DAY_MS } from '../time.ts';
import type { SinceFinding, SinceVersion } from '../tree/findings.ts';
import type { VersionFacts } from './checkpoint-record.ts';
import type { Evidence, Leave } from './evidence.ts';

/** What a new file names as the version that it replaced. */
export const NO_VERSION: string = toBase64url(NO_ID);
/** Clocks of writers that may sign requests to S3 at all differ by no more than this from the server's. */
export const CLOCK_SKEW_MS = 900_000;

export function named({ id, bound }: VersionFacts): SinceVersion {
  return { version: id, bound: String(bound) };
}

export function both(
  file: VersionFacts,
  expected: VersionFacts,
): Pick<SinceFinding, 'path'> & Required<Pick<SinceFinding, 'expected' | 'found'>> {
  return { path: file.path, expected: named(expected), found: named(file) };
}

/** When it was bound to its name, by the clocks of its writers; milliseconds since the epoch. */
export function timeOf({ bound }: VersionFacts): number {
  return millisecondsOf(bound);
}

function arrivals({ leaves }: Evidence, { id, path }: VersionFacts): readonly Leave[] {
  return leaves(id).filter(({ to }) => to === path);
}

interface Looked {
  readonly file: VersionFacts;
  /** What is from before does not count; milliseconds since the epoch. */
  readonly after: number;
}

/** A version that was at the path replaced this one, which is there. */
export function replacedBefore(evidence: Evidence, { file, after }: Looked): SinceFinding | undefined {
  if (arrivals(evidence, file).length > 0) return undefined;
  const later = evidence
    .successors(file.id)
    .filter((next) => timeOf(next) > after)
    .find(
      (next) => next.path === file.path || evidence.leaves(next.id).some(({ from }) => from === file.path),
    );
  return later && { kind: 'since', state: 'rolled_back', ...both(file, later) };
}

/** The version is at the path that it left, and no record says how it came back. */
export function leftBefore(evidence: Evidence, { file, after }: Looked): SinceFinding | undefined {
  const left = evidence.leaves(file.id).filter(({ from, at }) => from === file.path && at > after);
  const came = Math.max(Number.NEGATIVE_INFINITY, ...arrivals(evidence, file).map(({ at }) => at));
  const deleted = left.find(({ to, at }) => to === undefined && at >= came);
  const told = { kind: 'since', path: file.path, found: named(file) } as const;
  if (deleted !== undefined) {
    // A copy that a rename had left elsewhere may have been renamed to here again, and its process cut off.
    return timeOf(file) <= deleted.at
      ? { ...told, state: 'brought_back' }
      : { ...told, state: 'untold', why: 'twice' };
  }
  const moved = left.find(({ at }) => at > Math.max(came, timeOf(file)) + CLOCK_SKEW_MS);
  if (moved === undefined) return undefined;
  return moved.isOfDirectory
    ? { ...told, state: 'untold', why: 'twice' }
    : { ...told, state: 'brought_back' };
}

/** Whether the version may have been renamed past a checkpoint while that was taken. */
export function mayBeMissed(
  evidence: Evidence,
  {
    version: { id },
    began,
    ended,
  }: { readonly version: VersionFacts; readonly began: number; readonly ended: number },
): boolean {
  const times = [...evidence.versionsOf(id).map(timeOf), ...evidence.leaves(id).map(({ at }) => at)];
  return times.some((time) => time + CLOCK_SKEW_MS >= began && time <= ended + CLOCK_SKEW_MS);
}

/** Another version than `next` replaced the same one, at the same path. */
export function forkOf(evidence: Evidence, next: VersionFacts): VersionFacts | undefined {
  const { sameAs } = evidence;
  const came = evidence.leaves(next.previous).some(({ to }) => to === next.path);
  if (came) return undefined;
  return evidence
    .successors(next.previous)
    .find((other) => sameAs(other.id) !== sameAs(next.id) && other.path === next.path);
}

/** Whether the file is an ancestor of the entry, and whether they have one in common while neither came of the other. */
export function ancestry(
  evidence: Evidence,
  { entry, file }: { readonly entry: VersionFacts; readonly file: VersionFacts },
): readonly [older: boolean, shared: boolean] {
  const before = ancestorsOf(evidence, entry);
  if (before.has(evidence.sameAs(file.id))) return [true, false];
  const own = ancestorsOf(evidence, file);
  if (own.has(evidence.sameAs(entry.id))) return [false, false];
  return [false, [...own].some((id) => before.has(id))];
}

/** As far as the chain can be followed. */
function ancestorsOf(evidence: Evidence, version: VersionFacts): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at: VersionFacts | undefined = version; at !== undefined && at.previous !== NO_VERSION; ) {
    const id = evidence.sameAs(at.previous);
    if (found.has(id)) break;
    found.add(id);
    [at] = evidence.versionsOf(at.previous);
  }
  return found;
}

/** Whether what `next` replaced lay where `next` was written: since then, or in the checkpoint. */
export function wasThere(
  evidence: Evidence,
  {
    next,
    replaced,
    since,
  }: { readonly next: VersionFacts; readonly replaced: readonly VersionFacts[]; readonly since: number },
): boolean {
  const places = placesOf(evidence, next);
  return (
    replaced.some(({ path }) => places.has(path)) ||
    evidence.leaves(next.previous).some(({ to, at }) => to !== undefined && places.has(to) && at >= since)
  );
}

/**
 * Whether what `next` replaced had come to where `next` was written before the checkpoint, and only then: a rename that was
 * cut off since would have bound it there since, and the process that replaced it saved it as bound.
 */
export function wasPutBack(
  evidence: Evidence,
  { next, began }: { readonly next: VersionFacts; readonly began: number },
): boolean {
  const places = placesOf(evidence, next);
  const there = evidence.versionsOf(next.previous).filter(({ path }) => places.has(path));
  return there.length > 0 && there.every((version) => timeOf(version) + CLOCK_SKEW_MS < began);
}

function placesOf(evidence: Evidence, { id }: VersionFacts): ReadonlySet<MemoryPath> {
  return new Set([
    ...evidence.versionsOf(id).map(({ path }) => path),
    ...evidence.leaves(id).map(({ from }) => from),
  ]);
}

/** A process that saved a version replaces or deletes it within this time, or saves it again. */
const STOOD_STILL_MS = DAY_MS;

/**
 * Whether a process may have deleted the version since the checkpoint, and been cut off before it wrote that down: it saved
 * it before, as it was bound where it lay.
 */
export function mayHaveEnded(
  evidence: Evidence,
  {
    id,
    there,
    began,
  }: { readonly id: string; readonly there: readonly VersionFacts[]; readonly began: number },
): boolean {
  const entriesOfIt = there.filter((entry) => evidence.sameAs(entry.id) === evidence.sameAs(id));
  return evidence.saved(id).some((version) => {
    const { bound, savedAt } = version;
    // It has been renamed or migrated since it was saved: that delete found another object, and came to nothing.
    if (entriesOfIt.length > 0 && entriesOfIt.every((entry) => bound < entry.bound)) return false;
    const isOld = savedAt !== undefined && savedAt + STOOD_STILL_MS + CLOCK_SKEW_MS < began;
    return !isOld;
  });
}
