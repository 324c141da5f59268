import type { SinceFinding } from '../tree/findings.ts';
import type { CheckpointEntry, VersionFacts } from './checkpoint-record.ts';
import { type Comparison, isSealedAgain } from './comparison.ts';
import type { Evidence } from './evidence.ts';
import { named } from './lineage.ts';
import { mayHaveEnded } from './place.ts';

/** What an entry came to that is not at its path any more. */
export function judgeGone(comparison: Comparison, entry: CheckpointEntry): SinceFinding | undefined {
  const { evidence, untold, fileAt } = comparison;
  const line = [...evidence.descendants(entry.id)];
  const wasDeleted = line.some((id) => evidence.leaves(id).some(({ to }) => to === undefined));
  if (wasDeleted || line.some((id) => isThere(comparison, entry, id))) return undefined;
  const found = fileAt(entry.path);
  const told = {
    ...({ kind: 'since', path: entry.path } as const),
    expected: named(newestOf(evidence, line, entry)),
    ...(found !== undefined && { found: named(found) }),
  } as const;
  if (entry.note === 'young') return { ...told, state: 'untold', why: 'young' };
  if (untold !== undefined) return { ...told, state: 'untold', why: untold };
  return isUnrecorded(comparison, entry, line)
    ? { ...told, state: 'untold', why: 'unrecorded' }
    : { ...told, state: 'dropped' };
}

/** Whether a process that was cut off, or one that lost a race, may have left nothing that tells of its end. */
function isUnrecorded(comparison: Comparison, entry: CheckpointEntry, line: readonly string[]): boolean {
  const { evidence, began, entriesOf } = comparison;
  const there = entriesOf(entry.id);
  return (
    evidence.alike(entry).some((version) => isSealedAgain(comparison, { entry, version })) ||
    mayBeTakenBack(comparison, entry) ||
    line.some((id) => mayHaveEnded(evidence, { id, there, began }))
  );
}

/** Whether a file is the version `id`, which came of the entry, and not one of two that the checkpoint had. */
function isThere({ evidence, filesOf, entriesOf }: Comparison, entry: CheckpointEntry, id: string): boolean {
  const files = filesOf(id);
  if (id !== evidence.sameAs(entry.id)) return files.length > 0;
  // It may have been at two places then: a rename was under way, or had been cut off.
  return files.some((file) =>
    entriesOf(id).some(
      ({ path, bound }) => file.bound > bound || (file.path === path && file.bound === bound),
    ),
  );
}

/**
 * Whether what the checkpoint has may be the copy of a rename that was under way, and was taken back because another rename was
 * first: by a process whose clock is slow.
 */
function mayBeTakenBack({ evidence, before, filesOf }: Comparison, { id }: CheckpointEntry): boolean {
  const leaves = evidence.leaves(id);
  return filesOf(id).some(
    ({ path }) =>
      leaves.some(({ to, at }) => to === path && at >= before) && leaves.every(({ from }) => from !== path),
  );
}

function newestOf(evidence: Evidence, line: readonly string[], entry: VersionFacts): VersionFacts {
  return line
    .flatMap((id) => evidence.versionsOf(id))
    .reduce((newest, each) => (each.bound > newest.bound ? each : newest), entry);
}
