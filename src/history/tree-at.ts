import { FOLLOWED_MS } from '../keys/keyring.ts';
import type { MemoryPath } from '../language/path.ts';
import { createBirths } from './births.ts';
import type { Move } from './moves.ts';
import type { Past, Version, VersionId } from './versions.ts';

/**
 * Why it cannot be told what a path held at a moment. `expired`: a version lay there that is not kept. `unrecorded`: one
 * that is gone, or came by a rename, and nothing tells when. `too_early`: what came there later may have been written over a
 * version that the history has not seen.
 */
interface Doubt {
  readonly reason: 'expired' | 'unrecorded' | 'too_early';
  readonly version: VersionId;
}

interface TreeAt {
  /** What lay where. */
  readonly files: ReadonlyMap<MemoryPath, Version>;
  readonly doubts: ReadonlyMap<MemoryPath, Doubt>;
}

/** Milliseconds since the epoch. */
interface Moment {
  readonly time: number;
  /** From when on every writer keeps the history; undefined where none does, or nothing tells. */
  readonly keptSince: number | undefined;
}

/** From when to when a version lay at a path, by the clocks of writers. */
interface Stay {
  readonly version: Version;
  readonly path: MemoryPath;
  readonly from: number;
  /** Infinite where it lies there still. */
  readonly to: number;
  /** Until then it certainly did; `to` where its end is known. */
  readonly certainTo: number;
}

/**
 * The files of a moment: what was written, renamed and deleted before it counts, and what carries the moment itself does
 * not.
 */
export function treeAt(past: Past, moment: Moment): TreeAt {
  const { time } = moment;
  const bornAt = createBirths(past);
  const stays = new Map<MemoryPath, Stay>();
  const doubts = new Map<MemoryPath, Doubt>();
  /** When something is known to have come to a path last, before the moment. */
  const arrivals = new Map<MemoryPath, number>();
  const unsure: Stay[] = [];
  for (const version of past.versions.values()) {
    for (const stay of staysOf(past, version, bornAt)) {
      const { path, from, to, certainTo } = stay;
      if (from >= time) continue;
      arrivals.set(path, Math.max(from, arrivals.get(path) ?? 0));
      if (to < time) continue;
      if (certainTo < time) unsure.push(stay);
      else if ((stays.get(path)?.from ?? -1) <= from) stays.set(path, stay);
    }
    const doubt = doubtBefore(past, version, moment, bornAt);
    if (doubt !== undefined) doubts.set(doubt.path, doubt);
  }
  for (const { version, path, certainTo } of unsure) {
    // What came to the path later shows that it was gone.
    if ((arrivals.get(path) ?? 0) > certainTo) continue;
    doubts.set(path, { reason: 'unrecorded', version: version.id });
  }
  for (const path of stays.keys()) doubts.delete(path);
  return { files: new Map([...stays].map(([path, { version }]) => [path, version])), doubts };
}

/** What is not known of the time before a version came to its first place. */
function doubtBefore(
  past: Past,
  version: Version,
  moment: Moment,
  bornAt: (version: Version) => number,
): (Doubt & { readonly path: MemoryPath }) | undefined {
  const { id, path, renamedAt } = version;
  const { time } = moment;
  const [first] = linkedMoves(past, version);
  const isBorn = bornAt(version) < time;
  const unknown = isBorn ? undefined : unknownBefore(past, version, moment);
  if (unknown !== undefined) return { ...unknown, path: first?.from ?? path };
  if (isBorn && first === undefined && renamedAt !== undefined && renamedAt >= time)
    return { path, reason: 'unrecorded', version: id };
  return undefined;
}

/** Why it cannot be told what a version replaced that was written behind the moment; undefined where it can. */
export function unknownBefore(past: Past, version: Version, moment: Moment): Doubt | undefined {
  const { id, previous } = version;
  if (previous !== undefined)
    return past.versions.has(previous) ? undefined : { reason: 'expired', version: previous };
  return isCreation(version, moment) ? undefined : { reason: 'too_early', version: id };
}

/**
 * Whether a version that names no other was the first of its file. What a process wrote that kept no history may have
 * replaced one all the same, but named no writer. Of a moment before the history was turned on, the time until all had
 * followed does not count.
 */
function isCreation({ writer, mtime }: Version, { time, keptSince }: Moment): boolean {
  if (writer !== undefined) return true;
  if (keptSince === undefined) return false;
  const turnedOn = keptSince - FOLLOWED_MS;
  return mtime >= (time < turnedOn ? keptSince : turnedOn);
}

/** Where a version lay, one place after the other. */
function staysOf(past: Past, version: Version, bornAt: (version: Version) => number): readonly Stay[] {
  const { id, renamedAt, savedAt } = version;
  const stays: Stay[] = [];
  const born = bornAt(version);
  const moves = linkedMoves(past, version);
  let [from, path]: [number, MemoryPath | undefined] = [born, moves[0]?.from ?? version.path];
  for (const move of moves) {
    const to = Math.max(from, move.at);
    stays.push({ version, path: move.from, from, to, certainTo: to });
    [from, path] = [to, move.to];
  }
  if (version.text === 'current') {
    const here = {
      version,
      path: version.path,
      to: Number.POSITIVE_INFINITY,
      certainTo: Number.POSITIVE_INFINITY,
    };
    const cameAt = Math.max(born, renamedAt ?? from);
    if (path === version.path) return [...stays, { ...here, from: moves.length > 0 ? from : cameAt }];
    // The rename that brought it here was not written down.
    if (path !== undefined) stays.push({ version, path, from, to: cameAt, certainTo: cameAt });
    return [...stays, { ...here, from: cameAt }];
  }
  if (path === undefined) return stays;
  const successor = past.successors.get(id);
  const to = successor === undefined ? Number.POSITIVE_INFINITY : bornAt(successor);
  const certainTo = successor === undefined ? Math.max(from, savedAt ?? from) : to;
  return [...stays, { version, path, from, to, certainTo }];
}

/** The moves of a version, each from where the one before has brought it; the same rename may be written down twice. */
export function linkedMoves(
  { movesOf }: Pick<Past, 'movesOf'>,
  { id }: Pick<Version, 'id'>,
): readonly Move[] {
  const waiting = [...(movesOf.get(id) ?? [])].sort((a, b) => a.at - b.at);
  const targets = new Set(waiting.map(({ to }) => to));
  const linked: Move[] = [];
  let next = waiting.find(({ from }) => !targets.has(from)) ?? waiting[0];
  while (next !== undefined) {
    linked.push(next);
    waiting.splice(waiting.indexOf(next), 1);
    const { to } = next;
    next = waiting.find(({ from }) => from === to);
  }
  return linked;
}
