import { toBase64url } from '../format/encoding.ts';
import { type MemoryPath, rebase } from '../language/path.ts';
import { idOf } from './history-record.ts';
import type { FileEvent } from './read-records.ts';

/** A version that came to a place, or left it, by a rename or a delete. */
export interface Move {
  /** A content id, in base64url. */
  readonly version: string;
  readonly at: number;
  /** What stands for the actor, base64url; undefined without one. */
  readonly by: string | undefined;
  readonly from: MemoryPath;
  /** Undefined: it was deleted. */
  readonly to: MemoryPath | undefined;
  /** The same for all that is told of one rename. */
  readonly event: string;
  /** Written down before it was done: by the rename of a directory. */
  readonly planned: boolean;
}

export function movesOf(event: FileEvent): readonly Move[] {
  const { at, id } = event;
  const by = idOf(event.by);
  return event.files.map(([from, contentId]) => ({
    ...{ version: toBase64url(contentId), at, by, from, event: id },
    to: event.kind === 'moved' ? rebase(from, event.from, event.to) : undefined,
    planned: event.kind === 'moved' && from !== event.from,
  }));
}

/** What is known besides, by the content ids of versions. */
interface Known {
  readonly versions: ReadonlyMap<string, { readonly path: MemoryPath; readonly text: string }>;
  readonly successors: ReadonlyMap<string, { readonly id: string }>;
  /** Where each lies or was saved. */
  readonly places: ReadonlyMap<string, ReadonlySet<MemoryPath>>;
}

/**
 * Those that happened. What two processes have written down that carried out one rename is one. A directory's rename writes
 * down what it is about to do; where another process was first, the version stayed and never was at its new place.
 */
export function settledMoves(told: readonly Move[], known: Known): readonly Move[] {
  const once = new Map(told.toReversed().map((move) => [nameOf(move), move]));
  const moves = told.filter((move) => once.get(nameOf(move)) === move);
  const byCommon = {
    byVersion: Map.groupBy(moves, ({ version }) => version),
    byPlaces: Map.groupBy(moves, placesOf),
  };
  return moves.filter((move) => !move.planned || hasHappened(move, byCommon, known));
}

function nameOf(move: Move): string {
  return `${move.version} ${placesOf(move)}`;
}

/** The same for all that one rename did between two paths. */
function placesOf({ event, from, to }: Move): string {
  return JSON.stringify([event, from, to]);
}

/** The moves that are told of, by what they have in common. */
interface Told {
  readonly byVersion: ReadonlyMap<string, readonly Move[]>;
  readonly byPlaces: ReadonlyMap<string, readonly Move[]>;
}

function hasHappened(move: Move, { byVersion, byPlaces }: Told, known: Known): boolean {
  const { version, event, from, to } = move;
  const { versions, successors, places } = known;
  const wasAt = (id: string, path: MemoryPath): boolean =>
    places.get(id)?.has(path) === true || byVersion.get(id)?.some((move) => move.from === path) === true;
  if (to !== undefined && wasAt(version, to)) return true;
  const current = versions.get(version);
  if (current?.text === 'current' && current.path === from) return false;
  const isElsewhere = (other: Move): boolean =>
    other.from === from &&
    other.event !== event &&
    (!other.planned || (other.to !== undefined && wasAt(version, other.to)));
  if (byVersion.get(version)?.some(isElsewhere) === true) return false;
  const successor = successors.get(version);
  // It was replaced where it was saved: before it went.
  const stayed = successor !== undefined && (wasAt(successor.id, from) || places.get(version)?.has(from));
  if (stayed === true) return false;
  if (versions.has(version)) return true;
  // A migration of keys has sealed it again since: what it made of it was renamed. Of several versions that the rename has
  // met there it is the last one; those that it met before, and that are known, stayed or ended otherwise.
  const others = (byPlaces.get(placesOf(move)) ?? []).filter((other) => other !== move);
  return others.every((other) =>
    versions.has(other.version)
      ? other.at < move.at && !hasHappened(other, { byVersion, byPlaces }, known)
      : other.at <= move.at,
  );
}
