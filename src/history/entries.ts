import type { Call } from '../tree/session.ts';
import { eventsInOrder, type PastEvent } from './event-order.ts';
import type { Move } from './moves.ts';
import { earlierWithSameText } from './same-text-as.ts';
import type { Past, Version, VersionId } from './versions.ts';

/** What became of a version. `unrecorded`: it is not there any more, and the process that could tell why was cut off. */
export type VersionEnd = 'current' | 'replaced' | 'renamed' | 'deleted' | 'unrecorded';

/** A version that was written. */
export interface WrittenEntry {
  readonly kind: 'written';
  /** Where its text is, or was last. */
  readonly path: string;
  /** Names the version. */
  readonly version: string;
  /** By its writer's clock. */
  readonly time: Date;
  /** On whose behalf: an actor's text; where only its sealed hash is known, that; absent without one. */
  readonly writer?: string;
  /** Bytes of content. */
  readonly size: number;
  /** The version that it replaced; absent for a new file. */
  readonly previous?: string;
  /** The newest of the earlier versions of the file that had the same text, as after a restore; absent where none is known. */
  readonly sameTextAs?: string;
  /** Whether the text can be read: `redacted` was taken out. */
  readonly text: 'kept' | 'redacted';
  /** When it was taken out, by the clock of the process that did it, and on whose behalf. */
  readonly redacted?: { readonly time: Date; readonly writer?: string };
  readonly end: VersionEnd;
}

/** A file that was renamed or deleted, and as which version. */
export interface MovedEntry {
  readonly kind: 'renamed' | 'deleted';
  readonly path: string;
  readonly version: string;
  /** By the clock of the process that did it. */
  readonly time: Date;
  readonly writer?: string;
  /** Of a rename: the new path. */
  readonly to?: string;
}

/** What became of the text of a version. */
export interface Redaction {
  readonly path: string;
  readonly version: string;
  /** Records out of which the text was taken now: of this version, and of others of the file with the same text. */
  readonly records: number;
  /**
   * Versions that a bucket kept of those records and of files, which held the text and are gone; undefined where the store
   * is none that tells.
   */
  readonly versionsRemoved: number | undefined;
}

export type HistoryEntry = WrittenEntry | MovedEntry;

/** A part of a list. What is read for it is the same as for the whole, for the order of versions is told by all of them. */
export interface HistoryListOptions extends Call {
  /** What one actor did alone: its text, or what stands for it, whichever of the two `list` shows. */
  readonly writer?: string;
  /** At most so many entries; default all. */
  readonly limit?: number;
  /** The last entry of the page before this one; default: from the newest on. */
  readonly before?: HistoryEntry;
}

/** What happened, the newest first; of one file in the order of its versions, whatever clocks say. */
export function entriesOf(past: Past, actors: ReadonlyMap<string, string>): readonly HistoryEntry[] {
  const nameOf: NameOf = (writer) => (writer === undefined ? {} : { writer: actors.get(writer) ?? writer });
  const sameText = earlierWithSameText(past);
  const entryOf = (event: PastEvent): HistoryEntry => {
    if ('move' in event) return movedEntry(event.move, nameOf(event.move.by));
    const { version } = event;
    return writtenEntry(past, version, { nameOf, sameTextAs: sameText.get(version.id) });
  };
  return eventsInOrder(past).map(entryOf).reverse();
}

/** The actor's text, or what stands for it. */
type NameOf = (writer: string | undefined) => { readonly writer?: string };

function writtenEntry(
  past: Past,
  version: Version,
  { nameOf, sameTextAs }: { readonly nameOf: NameOf; readonly sameTextAs: VersionId | undefined },
): WrittenEntry {
  const { id, path, mtime, size, previous, text, redacted } = version;
  return {
    ...{ kind: 'written', path, version: id, time: new Date(mtime), ...nameOf(version.writer), size },
    ...(previous !== undefined && { previous }),
    ...(sameTextAs !== undefined && { sameTextAs }),
    text: text === 'redacted' ? text : 'kept',
    ...(redacted && { redacted: { time: new Date(redacted.at), ...nameOf(redacted.by) } }),
    end: endOf(past, version),
  };
}

function movedEntry(move: Move, writer: { readonly writer?: string }): MovedEntry {
  const { version, at, from, to } = move;
  const entry = { path: from, version, time: new Date(at), ...writer };
  return to === undefined ? { kind: 'deleted', ...entry } : { kind: 'renamed', ...entry, to };
}

export function endOf({ successors, movesOf }: Past, { id, text }: Version): VersionEnd {
  if (text === 'current') return 'current';
  if (successors.has(id)) return 'replaced';
  const left = movesOf.get(id) ?? [];
  if (left.some(({ to }) => to === undefined)) return 'deleted';
  return left.length > 0 ? 'renamed' : 'unrecorded';
}
