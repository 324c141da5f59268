import type { Known } from './known.ts';
import { turnActor } from './turn-trace.ts';
import type { VersionId } from './versions.ts';

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

/** What may have come of these versions beside what is known. */
export function untoldOf(known: Known, starts: readonly VersionId[]): readonly Untold[] {
  const { past, actors, turns, keptSince, writerOf } = known;
  const start = startOf(known, starts);
  const kept = Math.min(keptSince, turns.runs[0]?.time ?? keptSince);
  const told = new Set(turns.runs.map(({ turn }) => writerOf(turnActor(turn))));
  const later = [...past.versions.values()].filter(({ id, mtime, writer }) => {
    return mtime > start && !starts.includes(id) && (writer === undefined || !told.has(writer));
  });
  const writers = new Set(
    later.flatMap(({ writer }) => (writer === undefined ? [] : (actors.get(writer) ?? writer))),
  );
  const unnamed = later.filter(({ writer }) => writer === undefined).length;
  const damaged = turns.damaged.length + past.damaged.records.length + past.damaged.files.length;
  return [
    ...(start < kept ? [{ kind: 'expired' as const, before: new Date(kept) }] : []),
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
function startOf({ past, turns }: Known, starts: readonly VersionId[]): number {
  const times = starts.map((id) => {
    const author = turns.runs.find(({ list }) =>
      list.some((touch) => touch.kind === 'written' && touch.version === id),
    );
    return past.versions.get(id)?.mtime ?? author?.time ?? 0;
  });
  return Math.min(...times);
}
