import { dateOf } from '../../time.ts';
import { turnActor } from '../../turns/turn-trace.ts';
import type { VersionId } from '../past/past.ts';
import type { KnownTurns } from './known.ts';

/** A reason why a trace may be incomplete. */
export type Untold =
  /** The version is older than `before`, and turns that ended before that may have expired. */
  | { readonly kind: 'expired'; readonly before: Date }
  /**
   * Actors who wrote since the version, and whose reads no answer tells: users, or turns that died, expired or are at
   * work.
   */
  | { readonly kind: 'writers'; readonly writers: readonly string[] }
  /** The number of versions that were written since without an actor. */
  | { readonly kind: 'unnamed'; readonly versions: number }
  /** The turn touched `count` more files than are listed. */
  | { readonly kind: 'unlisted'; readonly turn: string; readonly count: number }
  /** An earlier version of the library stored `count` answers, and left out the deeds of their turns. */
  | { readonly kind: 'untraced'; readonly count: number }
  /** `count` files, and records of turns and of the history, cannot be read. */
  | { readonly kind: 'damaged'; readonly count: number };

/** Finds the reasons why more may have come of versions than is known, in steps. */
export function* untoldOf(
  known: KnownTurns,
  starts: readonly VersionId[],
): Generator<void, readonly Untold[]> {
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

/**
 * Finds when the first of the versions was written, by its writer's clock, or when its turn was stored; 0 where one is
 * unknown.
 */
function* startOf({ past, turns }: KnownTurns, starts: readonly VersionId[]): Generator<void, number> {
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
