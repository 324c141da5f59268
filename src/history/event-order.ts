import type { MemoryPath } from '../language/path.ts';
import { chainOf } from './chain.ts';
import type { Move } from './moves.ts';
import { linkedMoves } from './tree-at.ts';
import type { Past, Version, VersionId } from './versions.ts';

/** What happened to a file: a version was written, or one was renamed or deleted. */
export type PastEvent = { readonly version: Version } | { readonly move: Move };

/** An event among the others of its file. */
interface Placed {
  readonly event: PastEvent;
  /** Not before what happened to the file before it, whatever clocks say. */
  readonly time: number;
  /** What happened to the file before it, as far as that is known. */
  readonly before: Placed | undefined;
  /** When the first that is known of the file happened, and its name. */
  readonly since: number;
  readonly file: string;
  /** How much happened to the file before it. */
  readonly depth: number;
  readonly leaves: MemoryPath | undefined;
  /** Of the first version of a file, and of a rename. */
  readonly comesTo: MemoryPath | undefined;
}

/**
 * All that happened, the oldest first: of one file in the order of its versions and of their places, whatever clocks say;
 * besides by the clocks of writers. Of what several files did at one path in one millisecond, what lay there before leaves
 * first, and what stays comes last.
 */
export function eventsInOrder(past: Past): readonly PastEvent[] {
  const placed = placeEvents(past).sort(compare);
  const byTime = Map.groupBy(placed, ({ time }) => time);
  return [...byTime.values()].flatMap(settle).map(({ event }) => event);
}

/** The oldest version first, in that order; what is not kept comes before. */
export function versionsInOrder(past: Past, ids: readonly VersionId[]): readonly VersionId[] {
  const ranks = new Map<VersionId, number>();
  for (const [rank, event] of eventsInOrder(past).entries()) {
    if ('version' in event) ranks.set(event.version.id, rank);
  }
  const rankOf = (id: VersionId): number => ranks.get(id) ?? -1;
  return ids.toSorted((a, b) => rankOf(a) - rankOf(b));
}

function placeEvents(past: Past): Placed[] {
  const placed: Placed[] = [];
  const last = new Map<VersionId, Placed>();
  const place = (
    at: Placed | undefined,
    event: PastEvent,
    where: Pick<Placed, 'leaves' | 'comesTo'>,
  ): Placed => {
    const time = Math.max(at?.time ?? 0, 'move' in event ? event.move.at : event.version.mtime);
    const { since = time, file = nameOf(event), depth = 0 } = at ?? {};
    const next = { event, time, before: at, since, file, depth: depth + 1, ...where };
    placed.push(next);
    return next;
  };
  const placeMoves = (at: Placed | undefined, id: VersionId): Placed | undefined => {
    const linked = linkedMoves(past, { id });
    const others = (past.movesOf.get(id) ?? []).filter((move) => !linked.includes(move));
    for (const move of [...linked, ...others]) {
      at = place(at, { move }, { leaves: move.from, comesTo: move.to });
    }
    return at;
  };
  for (const version of past.versions.values()) {
    for (const each of chainOf(past, version, (known) => last.has(known)).toReversed()) {
      const { id, previous } = each;
      const born = previous === undefined ? (linkedMoves(past, each)[0]?.from ?? each.path) : undefined;
      const before = previous === undefined ? undefined : last.get(previous);
      const at = place(before, { version: each }, { leaves: undefined, comesTo: born });
      last.set(id, placeMoves(at, id) ?? at);
    }
  }
  const unknown = past.moves.filter(({ version }) => !past.versions.has(version));
  for (const id of new Set(unknown.map(({ version }) => version))) placeMoves(undefined, id);
  return placed;
}

/** By time; in one millisecond file by file, the same in every process. */
function compare(a: Placed, b: Placed): number {
  if (a.time !== b.time) return a.time - b.time;
  if (a.since !== b.since) return a.since - b.since;
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.depth - b.depth || (nameOf(a.event) < nameOf(b.event) ? -1 : 1);
}

function nameOf(event: PastEvent): string {
  if ('version' in event) return `${event.version.path} ${event.version.id}`;
  const { from, version, to = '' } = event.move;
  return `${from} ${version} ${to}`;
}

/** What happened in one millisecond, so that no path holds two files at once. */
function settle(events: readonly Placed[]): readonly Placed[] {
  if (events.length === 1) return events;
  const isIn = new Set(events);
  /** When what leaves a path came to it: undefined where that was earlier. */
  const cameBy = new Map(
    events.flatMap((event) => (event.leaves === undefined ? [] : [[event, arrivalOf(event, isIn)] as const])),
  );
  const leftAgain = new Set(cameBy.values());
  const leaving = Map.groupBy(cameBy.keys(), ({ leaves }) => leaves);
  const settled = new Set<Placed>();
  const under = new Set<Placed>();
  /** What happened to its file before waits for this: the order of the file comes first. */
  const isHeldUp = (event: Placed): boolean => {
    for (let at: Placed | undefined = event; at !== undefined && isIn.has(at); at = at.before)
      if (under.has(at) && !settled.has(at)) return true;
    return false;
  };
  const add = (event: Placed): void => {
    if (settled.has(event) || under.has(event)) return;
    under.add(event);
    if (event.before !== undefined && isIn.has(event.before)) add(event.before);
    for (const other of (event.comesTo && leaving.get(event.comesTo)) ?? []) {
      const leavesBefore = !leftAgain.has(event) || cameBy.get(other) === undefined;
      if (leavesBefore && !isHeldUp(other)) add(other);
    }
    settled.add(event);
  };
  for (const event of events) add(event);
  return [...settled];
}

function arrivalOf({ leaves, before }: Placed, isIn: ReadonlySet<Placed>): Placed | undefined {
  for (let at = before; at !== undefined && isIn.has(at); at = at.before)
    if (at.comesTo === leaves) return at;
  return undefined;
}
