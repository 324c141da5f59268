import { toBase64url } from '../format/encoding.ts';
import { millisecondsOf, NO_ID } from '../format/wrap.ts';
import type { MemoryPath } from '../language/path.ts';
import type { SinceFinding, SinceVersion } from '../tree/findings.ts';
import type { VersionFacts } from './checkpoint-record.ts';
import type { Evidence } from './evidence.ts';

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

/** Whether the version may have been renamed past a checkpoint while that was taken: it was somewhere then. */
export function mayBeMissed(
  evidence: Evidence,
  {
    version,
    began,
    ended,
  }: { readonly version: VersionFacts; readonly began: number; readonly ended: number },
): boolean {
  const alike = evidence.alike(version);
  const ids = new Set(alike.map(({ id }) => evidence.sameAs(id)));
  const renames = [...ids].flatMap((id) => evidence.leaves(id));
  const saved = [...ids].flatMap((id) => evidence.saved(id));
  const times = [
    // What is bound again is still of the time at which it was written.
    version.mtime,
    ...alike.map(timeOf),
    ...[...renames, ...evidence.unknownLeaves(version.path)].map(({ at }) => at),
    // Until then it was where a process that was cut off may have copied it from.
    ...saved.flatMap(({ savedAt }) => (savedAt === undefined ? [] : [savedAt])),
  ];
  return times.some((time) => time + CLOCK_SKEW_MS >= began && time <= ended + CLOCK_SKEW_MS);
}

/** Another version than `next` replaced the same one, at the same path. */
export function forkOf(evidence: Evidence, next: VersionFacts): VersionFacts | undefined {
  const { sameAs } = evidence;
  const came = evidence.leaves(next.previous).some(({ to }) => to === next.path);
  if (came) return undefined;
  const others = evidence
    .successors(next.previous)
    .filter((other) => sameAs(other.id) !== sameAs(next.id) && other.path === next.path);
  return others.find((other) => [next, other].every((each) => mayBeWrittenThere(evidence, each)));
}

/** Whether a version may have been written where it is, as far as records tell: not only renamed to there. */
function mayBeWrittenThere(evidence: Evidence, { id, path }: VersionFacts): boolean {
  // What is renamed or sealed again is bound later.
  const asWritten = evidence.versionsOf(id).filter((version) => timeOf(version) === version.mtime);
  if (asWritten.length > 0) return asWritten.some((version) => version.path === path);
  const leaves = evidence.leaves(id);
  const left = (place: MemoryPath): number => leaves.filter(({ from }) => from === place).length;
  const came = (place: MemoryPath): number => leaves.filter(({ to }) => to === place).length;
  return left(path) > came(path) || leaves.every(({ from }) => left(from) <= came(from));
}

/**
 * Whether the file is an ancestor of the entry, and whether they have one in common while neither came of the other. It is neither
 * for what the checkpoint has elsewhere, and for what came of that: a rename that was cut off leaves two of a version, and each
 * may be written and renamed.
 */
export function ancestry(
  evidence: Evidence,
  {
    entry,
    file,
    entriesOf,
  }: {
    readonly entry: VersionFacts;
    readonly file: VersionFacts;
    /** What the checkpoint has of a version, wherever. */
    readonly entriesOf: (id: string) => readonly VersionFacts[];
  },
): readonly [older: boolean, shared: boolean] {
  const before = ancestorsOf(evidence, entry);
  const own = [...ancestorsOf(evidence, file)];
  if (before.has(evidence.sameAs(file.id))) {
    return [!mayHaveCome(evidence, { file, there: entriesOf(file.id) }), false];
  }
  const isOfEntry = [file.id, ...own].some((id) => entriesOf(id).length > 0);
  return [false, !isOfEntry && own.some((id) => before.has(id))];
}

/** Whether a rename may have brought the file since the checkpoint, from where that has the same version too. */
export function mayHaveCome(
  evidence: Evidence,
  { file, there }: { readonly file: VersionFacts; readonly there: readonly VersionFacts[] },
): boolean {
  return there.some(({ bound }) => bound < file.bound) && !evidence.isAsSaved(file);
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
