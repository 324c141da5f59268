/*
 * The order of events. The events of one file follow its versions and its places, whatever clocks say. The events of
 * several files follow the clocks of their writers.
 */
import type { MemoryPath } from '../../language/path.ts';
import { push } from './model.ts';
import type { Leave, Past, PastVersion, VersionId } from './past.ts';

/** An event of one file: a version was written, or one was renamed or deleted. */
export type PastEvent = { readonly version: PastVersion } | { readonly leave: Leave };

/** An event among the others of its file. */
export interface PlacedEvent {
  readonly event: PastEvent;
  /** Milliseconds since the epoch, moved up to the file's event before where a clock was behind. */
  readonly time: number;
}

interface Placed extends PlacedEvent {
  /** The file's event before, where one is known. */
  readonly before: Placed | undefined;
  /** The name of the file's first event in that millisecond. */
  readonly first: string;
  /** The place among the file's events of that millisecond, from 1. */
  readonly depth: number;
  readonly leaves: MemoryPath | undefined;
  /** The path that a new file or a rename takes. */
  readonly comesTo: MemoryPath | undefined;
}

/**
 * Orders all events, the oldest first, in steps: those of one file by its versions and their places, those of several
 * files by the clocks of writers. Where several files share a path within one millisecond, the file that lay there
 * leaves first, and the file that stays comes last.
 */
export function* eventsInOrder(past: Past): Generator<void, readonly PlacedEvent[]> {
  const placed = yield* inOrder(yield* placeEvents(past), compare);
  const ordered: Placed[] = [];
  for (let start = 0; start < placed.length; ) {
    yield;
    const time = placed[start]?.time;
    let end = start + 1;
    while (placed[end]?.time === time) end++;
    for (const each of yield* arrange(placed.slice(start, end))) {
      yield;
      ordered.push(each);
    }
    start = end;
  }
  return ordered;
}

/**
 * Sorts versions in the order of `eventsInOrder`, the oldest first; versions that are not kept come before all others.
 */
export function* versionsInOrder(
  past: Past,
  ids: readonly VersionId[],
): Generator<void, readonly VersionId[]> {
  const asked = new Set(ids);
  const ordered = ids.filter((id) => !past.versions.has(id));
  for (const { event } of yield* eventsInOrder(past)) {
    yield;
    if ('version' in event && asked.has(event.version.id)) ordered.push(event.version.id);
  }
  return ordered;
}

function* placeEvents(past: Past): Generator<void, Placed[]> {
  const placed: Placed[] = [];
  const last = new Map<VersionId, Placed>();
  const place = (
    at: Placed | undefined,
    event: PastEvent,
    where: Pick<Placed, 'leaves' | 'comesTo'>,
  ): Placed => {
    const time = Math.max(at?.time ?? 0, 'leave' in event ? event.leave.at : event.version.mtime);
    const { first, depth } = at?.time === time ? at : { first: nameOf(event), depth: 0 };
    const next = { event, time, before: at, first, depth: depth + 1, ...where };
    placed.push(next);
    return next;
  };
  const placeLeaves = (at: Placed | undefined, id: VersionId): Placed | undefined => {
    for (const leave of past.leavesOf(id))
      at = place(at, { leave }, { leaves: leave.from, comesTo: leave.to });
    return at;
  };
  for (const version of past.versions.values()) {
    if (last.has(version.id)) continue;
    const before = past.ancestors(version.id, (id) => last.has(id));
    for (const each of [version, ...before].reverse()) {
      yield;
      const { id, previous } = each;
      const comesTo = previous === undefined ? past.birthplace(id) : undefined;
      const at = place(
        previous === undefined ? undefined : last.get(previous),
        { version: each },
        { leaves: undefined, comesTo },
      );
      last.set(id, placeLeaves(at, id) ?? at);
    }
  }
  const unknown = new Set<VersionId>();
  for (const { id } of past.leaves) {
    yield;
    if (!past.versions.has(id)) unknown.add(id);
  }
  for (const id of unknown) {
    yield;
    placeLeaves(undefined, id);
  }
  return placed;
}

/** The number of items that one step sorts. */
const RUN = 512;

/** Sorts in steps: runs of 512, which are merged two by two. */
export function* inOrder<T>(
  items: readonly T[],
  order: (a: T, b: T) => number,
): Generator<void, readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += RUN) {
    runs.push(items.slice(start, start + RUN).sort(order));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [left = [], right = []] = runs.slice(at, at + 2);
      merged.push(yield* merge(left, right, order));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(
  left: readonly T[],
  right: readonly T[],
  order: (a: T, b: T) => number,
): Generator<void, readonly T[]> {
  const merged: T[] = [];
  for (let [l, r] = [0, 0]; l < left.length || r < right.length; ) {
    const [a, b] = [left[l], right[r]];
    const isLeft = b === undefined || (a !== undefined && order(a, b) <= 0);
    merged.push((isLeft ? a : b) as T);
    if (isLeft) l++;
    else r++;
    yield;
  }
  return merged;
}

/**
 * Compares by time, then file by file: each process gets the same order, however far back the past that it knows goes.
 */
function compare(a: Placed, b: Placed): number {
  if (a.time !== b.time) return a.time - b.time;
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  return a.depth - b.depth || (nameOf(a.event) < nameOf(b.event) ? -1 : 1);
}

function nameOf(event: PastEvent): string {
  if ('version' in event) return `${event.version.path} ${event.version.id}`;
  const { from, id, to = '' } = event.leave;
  return `${from} ${id} ${to}`;
}

/** Orders the events of one millisecond so that no path holds two files at once, in steps. */
function* arrange(events: readonly Placed[]): Generator<void, Iterable<Placed>> {
  if (events.length === 1) return events;
  const isIn = new Set<Placed>();
  for (const event of events) {
    yield;
    isIn.add(event);
  }
  /**
   * Each event that leaves a path, with the event that came to it; undefined where that was in an earlier millisecond.
   */
  const cameBy = new Map<Placed, Placed | undefined>();
  const leftAgain = new Set<Placed | undefined>();
  const leaving = new Map<MemoryPath, Placed[]>();
  for (const event of events) {
    yield;
    if (event.leaves === undefined) continue;
    const arrival = arrivalOf(event, isIn);
    cameBy.set(event, arrival);
    leftAgain.add(arrival);
    push(leaving, event.leaves, event);
  }
  const arranged = new Set<Placed>();
  const under = new Set<Placed>();
  /** Tells whether an event of the same file before is still being placed: the order of a file comes first. */
  const isHeldUp = (event: Placed): boolean => {
    for (let at: Placed | undefined = event; at !== undefined && isIn.has(at); at = at.before)
      if (under.has(at) && !arranged.has(at)) return true;
    return false;
  };
  const add = (event: Placed): void => {
    if (arranged.has(event) || under.has(event)) return;
    under.add(event);
    if (event.before !== undefined && isIn.has(event.before)) add(event.before);
    for (const other of (event.comesTo && leaving.get(event.comesTo)) ?? []) {
      const leavesBefore = !leftAgain.has(event) || cameBy.get(other) === undefined;
      if (leavesBefore && !isHeldUp(other)) add(other);
    }
    arranged.add(event);
  };
  for (const event of events) {
    yield;
    add(event);
  }
  return arranged;
}

function arrivalOf({ leaves, before }: Placed, isIn: ReadonlySet<Placed>): Placed | undefined {
  for (let at = before; at !== undefined && isIn.has(at); at = at.before)
    if (at.comesTo === leaves) return at;
  return undefined;
}
