import { toBase64url } from '../../format/encoding.ts';
import { rebase } from '../../language/path.ts';
import { type HistoryRecord, idOf } from '../save/history-record.ts';
import type { Leave, Past } from './past.ts';

/** A leave as one record tells it, before anybody has judged whether it happened. */
export interface ToldLeave extends Omit<Leave, 'state'> {
  /** True where the rename of a directory wrote the leave down before it moved the file. */
  readonly isPlanned: boolean;
}

/** Reads the leaves that one record tells of. */
export function leavesIn(
  record: Extract<HistoryRecord, { kind: 'deleted' | 'moved' }>,
  event: string,
): readonly ToldLeave[] {
  const { at } = record;
  const by = idOf(record.by);
  return record.files.map(([from, version, bound]) => ({
    id: toBase64url(version),
    from,
    bound,
    at,
    lastAt: at,
    by,
    event,
    to: record.kind === 'moved' ? rebase(from, record.from, record.to) : undefined,
    isPlanned: record.kind === 'moved' && from !== record.from,
  }));
}

/** The knowledge about versions that decides whether a planned leave happened. */
type Witnesses = Pick<Past, 'bindings' | 'successors'>;

/**
 * Merges the leaves of one rename of a file into one, in steps: several processes may have carried the rename out, each
 * by its own clock. The earliest time counts, and the greatest bound that one of them met at the old path.
 */
export function* mergeLeaves(told: Iterable<ToldLeave>): Generator<void, Iterable<ToldLeave>> {
  const once = new Map<string, ToldLeave>();
  for (const leave of told) {
    yield;
    const { id, event, from, to, bound } = leave;
    // A binding is deleted once, however many records tell of it.
    const name = JSON.stringify(to === undefined ? [id, from, String(bound)] : [id, event, from, to]);
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

/** Judges for each leave of one version whether it happened. */
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

/** Tells whether the version lay at the new path, under a greater bound than at the old one. */
function isKnownThere({ id, to, bound }: ToldLeave, { bindings }: Witnesses): boolean {
  return bindings(id).some((binding) => binding.path === to && binding.bound > bound);
}

/**
 * Tells whether the version stayed at the old path: it lies there still, left by another event, or was replaced there.
 */
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
    .some((next) => wasSaved || witnesses.bindings(next.id).some(({ path }) => path === from));
}
