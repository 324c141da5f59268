import { checkWholeNumber, MemoryError } from '../errors.ts';
import { dateOf } from '../time.ts';
import type { Call } from '../tree/session.ts';
import { eventsInOrder, type PastEvent, type PlacedEvent } from './past/order.ts';
import type { Leave, Past, Version, VersionId } from './past/past.ts';

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
  /**
   * The newest of the earlier versions of the file that had the same text, as after a restore; absent where none is known, such
   * as on a page for which it was not read.
   */
  readonly sameTextAs?: string;
  /** Whether the text can be read: `redacted` was taken out, or was too long to be kept (docs/history.md). */
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

/** A part of a list: what lies in the store is read from the newest on, as much as it takes. */
export interface HistoryListOptions extends Call {
  /** What one actor did alone: its text, or what stands for it, whichever of the two `list` shows. */
  readonly writer?: string;
  /** At most so many entries; default all. */
  readonly limit?: number;
  /** The last entry of the page before this one; default: from the newest on. */
  readonly before?: HistoryEntry;
}

/** Which part of a list is asked for, as it is compared with what is known. */
interface Page {
  readonly limit: number;
  readonly before: HistoryEntry | undefined;
  /** Undefined: what all actors did. */
  readonly isBy: ((writer: string | undefined) => boolean) | undefined;
}

/** @throws MemoryError `misconfigured` for a limit that is no whole number from 1 on. */
export function pageOf(
  { limit = Number.MAX_SAFE_INTEGER, before }: Pick<HistoryListOptions, 'limit' | 'before'>,
  isBy: Page['isBy'],
): Page {
  checkWholeNumber('limit', limit, { least: 1, most: Number.MAX_SAFE_INTEGER });
  return { limit, before, isBy };
}

/**
 * What happened, the newest first, item by item; of one file in the order of its versions, whatever clocks say.
 *
 * @throws MemoryError `not_found` where the past has the entry `before` no more.
 */
export function* entriesOf(
  past: Past,
  page: Page,
  actors: ReadonlyMap<string, string>,
): Generator<void, readonly HistoryEntry[]> {
  const events = yield* eventsOn(past, page);
  if (events === undefined) {
    throw new MemoryError('not_found', 'The history has that entry no more: begin with the first page.');
  }
  const nameOf: NameOf = (writer) => (writer === undefined ? {} : { writer: actors.get(writer) ?? writer });
  const sameText = yield* earlierWithSameText(past);
  const entries: HistoryEntry[] = [];
  for (const { event } of events) {
    yield;
    if ('leave' in event) entries.push(leftEntry(event.leave, nameOf(event.leave.by)));
    else {
      const { version } = event;
      entries.push(writtenEntry(past, version, { nameOf, sameTextAs: sameText.get(version.id) }));
    }
  }
  return entries;
}

/** Whether a page is full by what happened after a moment, in milliseconds since the epoch. */
export function* isFull(past: Past, page: Page, since: number): Generator<void, boolean> {
  const last = (yield* eventsOn(past, page))?.at(page.limit - 1);
  return last !== undefined && last.time > since;
}

/** The events of a page, the newest first. Undefined: the past does not have the entry behind which it begins. */
function* eventsOn(
  past: Past,
  { limit, before, isBy }: Page,
): Generator<void, readonly PlacedEvent[] | undefined> {
  const ordered = yield* eventsInOrder(past);
  const events: PlacedEvent[] = [];
  let hasBegun = before === undefined;
  for (let at = ordered.length - 1; at >= 0 && events.length < limit; at--) {
    const placed = ordered[at];
    if (placed === undefined) break;
    yield;
    const { event } = placed;
    const isMeant = isBy?.('leave' in event ? event.leave.by : event.version.writer) ?? true;
    if (hasBegun && isMeant) events.push(placed);
    hasBegun ||= before !== undefined && isOf(before, event);
  }
  return hasBegun ? events : undefined;
}

/** A version is listed once, wherever it is meanwhile, and a rename or delete once with its time. */
function isOf({ kind, version, path, time }: HistoryEntry, event: PastEvent): boolean {
  if ('version' in event) return kind === 'written' && event.version.id === version;
  const { id, from, to, at } = event.leave;
  const isKind = kind === (to === undefined ? 'deleted' : 'renamed');
  return isKind && id === version && from === path && at === time.getTime();
}

/** For each version whose text an earlier one of its file had: the newest of those, in steps. */
function* earlierWithSameText({
  versions,
  successors,
}: Past): Generator<void, ReadonlyMap<VersionId, VersionId>> {
  const earlier = new Map<VersionId, VersionId>();
  const branches: { readonly from: Version; readonly byText: Map<string, VersionId> }[] = [];
  for (const version of versions.values()) {
    yield;
    if (version.previous === undefined || !versions.has(version.previous))
      branches.push({ from: version, byText: new Map() });
  }
  for (let branch = branches.pop(); branch !== undefined; branch = branches.pop()) {
    const { byText } = branch;
    for (let at: Version | undefined = branch.from; at !== undefined; ) {
      yield;
      if (at.textHash !== undefined) {
        const before = byText.get(at.textHash);
        if (before !== undefined) earlier.set(at.id, before);
        byText.set(at.textHash, at.id);
      }
      const [next, ...others]: readonly Version[] = successors(at.id);
      for (const from of others) branches.push({ from, byText: new Map(byText) });
      at = next;
    }
  }
  return earlier;
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
    ...{ kind: 'written', path, version: id, time: dateOf(mtime), ...nameOf(version.writer), size },
    ...(previous !== undefined && { previous }),
    ...(sameTextAs !== undefined && { sameTextAs }),
    text: text === 'redacted' ? text : 'kept',
    ...(redacted && { redacted: { time: dateOf(redacted.at), ...nameOf(redacted.by) } }),
    end: endOf(past, version),
  };
}

function leftEntry(leave: Leave, writer: { readonly writer?: string }): MovedEntry {
  const { id, at, from, to } = leave;
  const entry = { path: from, version: id, time: dateOf(at), ...writer };
  return to === undefined ? { kind: 'deleted', ...entry } : { kind: 'renamed', ...entry, to };
}

/** What became of a version at all of its places: it is there as long as it is at one. */
export function endOf({ successors, leavesOf }: Past, { id, text }: Version): VersionEnd {
  if (text === 'current') return 'current';
  if (successors(id).length > 0) return 'replaced';
  const left = leavesOf(id);
  if (left.some(({ to }) => to === undefined)) return 'deleted';
  return left.length > 0 ? 'renamed' : 'unrecorded';
}
