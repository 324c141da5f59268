import { toBase64url } from '../../format/encoding.ts';
import { rebase } from '../../language/path.ts';
import { type HistoryRecord, idOf } from '../history-record.ts';
import type { Binding, Leave, VersionId } from './past.ts';

/** A leave as a record tells it. */
export interface ToldLeave extends Omit<Leave, 'state'> {
  /** Written down before it was done: by the rename of a directory. */
  readonly isPlanned: boolean;
}

/** What one record tells of files that were deleted or renamed. */
export function leavesIn(
  record: Extract<HistoryRecord, { kind: 'deleted' | 'moved' }>,
  event: string,
): readonly ToldLeave[] {
  const { at } = record;
  const by = idOf(record.by);
  return record.files.map(([from, version, bound]) => ({
    ...{ id: toBase64url(version), from, bound, at, lastAt: at, by, event },
    to: record.kind === 'moved' ? rebase(from, record.from, record.to) : undefined,
    isPlanned: record.kind === 'moved' && from !== record.from,
  }));
}

/** What is known of the versions besides. */
export interface Witnesses {
  /** All that is known of where a version lay, by leaves as well. */
  bindings(id: VersionId): readonly Binding[];
  /** Ids of what was written over it. */
  successors(id: VersionId): readonly VersionId[];
}

/**
 * One leave for all that tells of one rename of a file, in steps: several processes may have carried it out, each by its own
 * clock. The first one's time counts, and the last bound that one of them met there.
 */
export function* mergeLeaves(told: Iterable<ToldLeave>): Generator<void, Iterable<ToldLeave>> {
  const once = new Map<string, ToldLeave>();
  for (const leave of told) {
    yield;
    const { id, event, from, to = '' } = leave;
    // A binding is deleted once, whoever tells of it.
    const name = JSON.stringify(
      leave.to === undefined ? [id, from, String(leave.bound)] : [id, event, from, to],
    );
    const other = once.get(name);
    if (other === undefined) once.set(name, leave);
    else {
      const [first, second] = other.at <= leave.at ? [other, leave] : [leave, other];
      const lastAt = Math.max(first.lastAt, second.lastAt);
      once.set(name, { ...first, lastAt, bound: first.bound > second.bound ? first.bound : second.bound });
    }
  }
  return once.values();
}

/** Tells of each leave of one version whether it happened. */
export function judgeLeaves(leaves: readonly ToldLeave[], witnesses: Witnesses): readonly Leave[] {
  const state = (leave: ToldLeave): Leave['state'] => {
    if (!leave.isPlanned || isKnownThere(leave, witnesses)) return 'done';
    return hasStayed(leave, leaves, witnesses) ? 'undone' : 'supposed';
  };
  return leaves.map((leave) => {
    const { isPlanned: _, ...rest } = leave;
    return { ...rest, state: state(leave) };
  });
}

/** Whether the version lay at the new place, bound there later. */
function isKnownThere({ id, to, bound }: ToldLeave, { bindings }: Witnesses): boolean {
  return bindings(id).some((binding) => binding.path === to && binding.bound > bound);
}

/** Whether the version is where it was, left from there otherwise, or was replaced there. */
function hasStayed(leave: ToldLeave, leaves: readonly ToldLeave[], witnesses: Witnesses): boolean {
  const { id, from, bound, event } = leave;
  const own = witnesses.bindings(id).filter(({ path }) => path === from);
  if (own.some(({ isThere }) => isThere)) return true;
  const leftOtherwise = leaves.some(
    (other) =>
      other.from === from &&
      other.event !== event &&
      other.bound >= bound &&
      (!other.isPlanned || isKnownThere(other, witnesses)),
  );
  if (leftOtherwise) return true;
  const wasSaved = own.some((binding) => binding.saved !== undefined && binding.bound >= bound);
  return witnesses
    .successors(id)
    .some((next) => wasSaved || witnesses.bindings(next).some(({ path }) => path === from));
}
