import { checkWholeNumber, MemoryError } from '../../errors.ts';
import { dateOf } from '../../time.ts';
import type { CallOptions } from '../../tree/tenant.ts';
import { eventsInOrder, type PastEvent, type PlacedEvent } from './order.ts';
import type { Leave, Past, PastVersion, VersionId } from './past.ts';

/** The fate of a version. `unrecorded`: it is gone, and the process that would have recorded why was cut off. */
export type VersionEnd = 'current' | 'replaced' | 'renamed' | 'deleted' | 'unrecorded';

/** A version that was written. */
export interface WrittenEntry {
  readonly kind: 'written';
  /** The path at which its text is, or was last. */
  readonly path: string;
  /** The name of the version. */
  readonly version: string;
  /** The time of the write, by its writer's clock. */
  readonly time: Date;
  /**
   * The actor on whose behalf it was written: its text, or its sealed hash where only that is known. Absent without
   * one.
   */
  readonly writer?: string;
  /** Bytes of content. */
  readonly size: number;
  /** The version that it replaced; absent for a new file. */
  readonly previous?: string;
  /**
   * The newest earlier version of the file with the same text, as after a restore; absent where none is known, such as
   * on a page for which none was read.
   */
  readonly sameTextAs?: string;
  /** `kept`: the text can be read. `redacted`: it was taken out, or was too long to be kept (docs/history.md). */
  readonly text: 'kept' | 'redacted';
  /**
   * The time at which the text was taken out, by the clock of the process that did it, and the actor of that process.
   */
  readonly redacted?: { readonly time: Date; readonly writer?: string };
  readonly end: VersionEnd;
}

/** A file that was renamed or deleted, and its version. */
export interface MovedEntry {
  readonly kind: 'renamed' | 'deleted';
  readonly path: string;
  readonly version: string;
  /** The time, by the clock of the process that did it. */
  readonly time: Date;
  readonly writer?: string;
  /** The new path of a rename. */
  readonly to?: string;
}

/** The result of a redaction. */
export interface Redaction {
  readonly path: string;
  readonly version: string;
  /** The number of records that lost the text now: of this version, and of others of the file with the same text. */
  readonly records: number;
  /**
   * The number of versions with the text that were removed, of those that a bucket kept of the records and of files;
   * undefined where the store cannot tell.
   */
  readonly versionsRemoved: number | undefined;
}

export type HistoryEntry = WrittenEntry | MovedEntry;

/** Options of a list. With a `limit` the newest part is read, and more only where that is too little. */
export interface HistoryListOptions extends CallOptions {
  /** The actor whose entries alone are listed: its text or its hash, whichever of the two `list` shows. */
  readonly writer?: string;
  /** The most entries; default all. */
  readonly limit?: number;
  /** The last entry of the page before this one; default: from the newest on. */
  readonly before?: HistoryEntry;
  /**
   * Hears, before the list is answered, the number of files and records that cannot be read and are therefore left out.
   */
  onDamaged?(count: number): void;
}

/** The part of a list that a caller asks for. */
interface EntryPage {
  readonly limit: number;
  readonly before: HistoryEntry | undefined;
  /** Tells whether the page is for that actor; undefined: for all. */
  readonly isBy: ((writer: string | undefined) => boolean) | undefined;
}

/** Checks the options of a page. @throws MemoryError `misconfigured` for a limit that is no whole number from 1 on. */
export function pageOf(
  { limit = Number.MAX_SAFE_INTEGER, before }: Pick<HistoryListOptions, 'limit' | 'before'>,
  isBy: EntryPage['isBy'],
): EntryPage {
  checkWholeNumber('limit', limit, { least: 1, most: Number.MAX_SAFE_INTEGER });
  return { limit, before, isBy };
}

/**
 * Makes the entries of a page, the newest first, item by item; those of one file follow its versions, whatever clocks
 * say.
 *
 * @throws MemoryError `not_found` where the past no longer has the entry `before`.
 */
export function* entriesOf(
  past: Past,
  page: EntryPage,
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

/** Tells whether the events after a moment (milliseconds since the epoch) fill a page. */
export function* isFull(past: Past, page: EntryPage, since: number): Generator<void, boolean> {
  const last = (yield* eventsOn(past, page))?.at(page.limit - 1);
  return last !== undefined && last.time > since;
}

/** Finds the events of a page, the newest first. Undefined: the past lacks the entry after which the page begins. */
function* eventsOn(
  past: Past,
  { limit, before, isBy }: EntryPage,
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

/** Tells whether an entry is of an event: a write by its version alone, a rename or delete by path and time as well. */
function isOf({ kind, version, path, time }: HistoryEntry, event: PastEvent): boolean {
  if ('version' in event) return kind === 'written' && event.version.id === version;
  const { id, from, to, at } = event.leave;
  const isKind = kind === (to === undefined ? 'deleted' : 'renamed');
  return isKind && id === version && from === path && at === time.getTime();
}

/** Finds for each version the newest earlier one of its file with the same text, in steps. */
function* earlierWithSameText({
  versions,
  successors,
}: Past): Generator<void, ReadonlyMap<VersionId, VersionId>> {
  const earlier = new Map<VersionId, VersionId>();
  const branches: { readonly from: PastVersion; readonly byText: Map<string, VersionId> }[] = [];
  for (const version of versions.values()) {
    yield;
    if (version.previous === undefined || !versions.has(version.previous))
      branches.push({ from: version, byText: new Map() });
  }
  for (let branch = branches.pop(); branch !== undefined; branch = branches.pop()) {
    const { byText } = branch;
    for (let at: PastVersion | undefined = branch.from; at !== undefined; ) {
      yield;
      if (at.textHash !== undefined) {
        const before = byText.get(at.textHash);
        if (before !== undefined) earlier.set(at.id, before);
        byText.set(at.textHash, at.id);
      }
      const [next, ...others]: readonly PastVersion[] = successors(at.id);
      for (const from of others) branches.push({ from, byText: new Map(byText) });
      at = next;
    }
  }
  return earlier;
}

/** Names an actor by its text, or by its hash where only that is known. */
type NameOf = (writer: string | undefined) => { readonly writer?: string };

function writtenEntry(
  past: Past,
  version: PastVersion,
  { nameOf, sameTextAs }: { readonly nameOf: NameOf; readonly sameTextAs: VersionId | undefined },
): WrittenEntry {
  const { id, path, mtime, size, previous, text, redacted } = version;
  return {
    kind: 'written',
    path,
    version: id,
    time: dateOf(mtime),
    ...nameOf(version.writer),
    size,
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

/** Tells what became of a version. A version that lies at one of its places is `current`. */
export function endOf({ successors, leavesOf }: Past, { id, text }: PastVersion): VersionEnd {
  if (text === 'current') return 'current';
  if (successors(id).length > 0) return 'replaced';
  const left = leavesOf(id);
  if (left.some(({ to }) => to === undefined)) return 'deleted';
  return left.length > 0 ? 'renamed' : 'unrecorded';
}
