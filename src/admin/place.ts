import { DAY_MS } from '../time.ts';
import type { SinceFinding } from '../tree/findings.ts';
import type { VersionFacts } from './checkpoint-record.ts';
import type { Evidence, Leave } from './evidence.ts';
import { both, CLOCK_SKEW_MS, named, timeOf } from './lineage.ts';

/** A process that saved a version replaces or deletes it within this time, or saves it again; and it copies a directory so fast. */
const STOOD_STILL_MS = DAY_MS;

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
    .filter((next) => timeOf(next) > after && mayReplace(evidence, { next, file }))
    .find(
      (next) => next.path === file.path || evidence.leaves(next.id).some(({ from }) => from === file.path),
    );
  return later && { kind: 'since', state: 'rolled_back', ...both(file, later) };
}

/** What a rename brought again later was not what `next` replaced: that was saved as it was bound. */
function mayReplace(
  evidence: Evidence,
  { next, file }: { readonly next: VersionFacts; readonly file: VersionFacts },
): boolean {
  return evidence.isAsSaved(file) || timeOf(file) <= timeOf(next) + CLOCK_SKEW_MS;
}

/** The version is at the path that it left, and no record says how it came back. */
export function leftBefore(evidence: Evidence, { file, after }: Looked): SinceFinding | undefined {
  const left = evidence.leaves(file.id).filter(({ from, at }) => from === file.path && at > after);
  const came = Math.max(Number.NEGATIVE_INFINITY, ...arrivals(evidence, file).map(({ at }) => at));
  const deleted = left.find(({ to, at }) => to === undefined && at >= came);
  const told = { kind: 'since', path: file.path, found: named(file) } as const;
  if (deleted !== undefined) {
    // A copy that a rename had left elsewhere may have been renamed to here again, and its process cut off.
    return timeOf(file) > deleted.at || mayBeCopiedAgain(evidence, { file, deleted })
      ? { ...told, state: 'untold', why: 'twice' }
      : { ...told, state: 'brought_back' };
  }
  const moved = left.find(({ at }) => at > Math.max(came, timeOf(file)) + CLOCK_SKEW_MS);
  if (moved === undefined) return undefined;
  return moved.isOfDirectory
    ? { ...told, state: 'untold', why: 'twice' }
    : { ...told, state: 'brought_back' };
}

/**
 * Whether a directory's rename may have brought the file after that delete: the process that finishes it copies again what was
 * deleted at its target, and binds it. What is bound as the delete found it is no such copy.
 */
function mayBeCopiedAgain(
  evidence: Evidence,
  { file, deleted }: { readonly file: VersionFacts; readonly deleted: Leave },
): boolean {
  return (
    !evidence.isAsSaved(file) &&
    arrivals(evidence, file).some(
      ({ isOfDirectory, at }) =>
        isOfDirectory && at + CLOCK_SKEW_MS >= deleted.at && timeOf(file) + STOOD_STILL_MS >= at,
    )
  );
}

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
    if (entriesOfIt.length > 0 && entriesOfIt.every((entry) => isOvertaken(evidence, { version, entry })))
      return false;
    const { savedAt = Number.POSITIVE_INFINITY } = version;
    return savedAt + STOOD_STILL_MS + CLOCK_SKEW_MS >= began;
  });
}

/**
 * Whether a version was renamed or migrated to what the checkpoint has since it was saved: a delete then found another object, and
 * came to nothing. A copy of which no rename tells may have been taken back because of that delete.
 */
function isOvertaken(
  evidence: Evidence,
  { version, entry }: { readonly version: VersionFacts; readonly entry: VersionFacts },
): boolean {
  if (version.bound >= entry.bound) return false;
  const wentOn = evidence
    .leaves(version.id)
    .some(
      ({ from, to, at }) =>
        from === version.path && to !== undefined && at + CLOCK_SKEW_MS >= timeOf(version),
    );
  return wentOn || version.path === entry.path;
}
