import { dateOf } from '../time.ts';
import type { Known } from './known.ts';
import type { VersionId } from './past/past.ts';
import { turnActor } from './turn-trace.ts';

/** Why there may be more than a trace tells. */
export type Untold =
  /** Turns that ended before that moment are not stored any more, and the version is older. */
  | { readonly kind: 'expired'; readonly before: Date }
  /** These wrote since then, and no answer says what they read: not turns, dead, expired, or at work. */
  | { readonly kind: 'writers'; readonly writers: readonly string[] }
  /** Versions were written since then for no actor. */
  | { readonly kind: 'unnamed'; readonly versions: number }
  /** The turn touched so many more files than are listed. */
  | { readonly kind: 'unlisted'; readonly turn: string; readonly count: number }
  /** So many answers were stored by a version of the library that did not note what turns did. */
  | { readonly kind: 'untraced'; readonly count: number }
  /** So many records of turns and of the history cannot be read. */
  | { readonly kind: 'damaged'; readonly count: number };

/** What may have come of these versions beside what is known, in steps. */
export function* untoldOf(known: Known, starts: readonly VersionId[]): Generator<void, readonly Untold[]> {
  const { past, actors, turns, keptSince, writerOf } = known;
  const start = yield* startOf(known, starts);
  const kept = Math.min(keptSince, turns.runs[0]?.time ?? keptSince);
  const told = new Set<string>();
  for (const { turn } of turns.runs) {
    yield;
    told.add(writerOf(turnActor(turn)));
  }
  const asked = new Set(starts);
  const writers = new Set<string>();
  let unnamed = 0;
  for (const { id, mtime, writer } of past.versions.values()) {
    yield;
    if (mtime <= start || asked.has(id)) continue;
    if (writer === undefined) unnamed += 1;
    else if (!told.has(writer)) writers.add(actors.get(writer) ?? writer);
  }
  const damaged = turns.damaged.length + past.damaged.records.length + past.damaged.files.length;
  return [
    ...(start < kept ? [{ kind: 'expired' as const, before: dateOf(kept) }] : []),
    ...(writers.size > 0 ? [{ kind: 'writers' as const, writers: [...writers] }] : []),
    ...(unnamed > 0 ? [{ kind: 'unnamed' as const, versions: unnamed }] : []),
    ...turns.runs
      .filter(({ unlisted, time }) => unlisted > 0 && time >= start)
      .map(({ turn, unlisted: count }) => ({ kind: 'unlisted' as const, turn, count })),
    ...(turns.untraced > 0 ? [{ kind: 'untraced' as const, count: turns.untraced }] : []),
    ...(damaged > 0 ? [{ kind: 'damaged' as const, count: damaged }] : []),
  ];
}

/** When the first of the versions was written, by the clock of the process that tells; 0 where that is not known of one of them. */
function* startOf({ past, turns }: Known, starts: readonly VersionId[]): Generator<void, number> {
  const answered = new Map<VersionId, number>();
  for (const { list, time } of turns.runs) {
    yield;
    for (const touch of list)
      if (touch.kind === 'written' && !answered.has(touch.version)) answered.set(touch.version, time);
  }
  let first = Number.POSITIVE_INFINITY;
  for (const id of starts) first = Math.min(first, past.versions.get(id)?.mtime ?? answered.get(id) ?? 0);
  return first;
}
