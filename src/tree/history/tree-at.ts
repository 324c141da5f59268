import type { MemoryPath } from '../../language/path.ts';
import type { Move } from './moves.ts';
import { createOrder } from './order.ts';
import type { Past, Version, VersionId } from './versions.ts';

/**
 * Why it cannot be told what a path held at a moment. `expired`: a version lay there that is not kept. `unrecorded`: one
 * that is gone, or came by a rename, and nothing tells when.
 */
interface Doubt {
  readonly reason: 'expired' | 'unrecorded';
  readonly version: VersionId;
}

interface TreeAt {
  /** What lay where. */
  readonly files: ReadonlyMap<MemoryPath, Version>;
  readonly doubts: ReadonlyMap<MemoryPath, Doubt>;
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
 * The files of a moment, in milliseconds since the epoch: what was written, renamed and deleted before it counts, and what
 * carries the moment itself does not.
 */
export function treeAt(past: Past, time: number): TreeAt {
  const order = createOrder(past);
  const bornAt = (version: Version): number => order(version)[0];
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
    const doubt = doubtBefore(past, version, time, bornAt);
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
  time: number,
  bornAt: (version: Version) => number,
): (Doubt & { readonly path: MemoryPath }) | undefined {
  const { id, previous, path, renamedAt } = version;
  const [first] = linkedMoves(past, version);
  const isBorn = bornAt(version) < time;
  if (!isBorn && previous !== undefined && !past.versions.has(previous))
    return { path: first?.from ?? path, reason: 'expired', version: previous };
  if (isBorn && first === undefined && renamedAt !== undefined && renamedAt >= time)
    return { path, reason: 'unrecorded', version: id };
  return undefined;
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
export function linkedMoves({ movesOf }: Pick<Past, 'movesOf'>, { id }: Version): readonly Move[] {
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
