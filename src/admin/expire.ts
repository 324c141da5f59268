import { checkWholeNumber } from '../errors.ts';
import { classKey, type ObjectKey } from '../format/object-keys.ts';
import { MEMORY_ROOT } from '../language/path.ts';
import { isTooLate, type ListedObject, type SendBound } from '../store/port.ts';
import { createAges } from '../time.ts';
import { accessHash, accessRecordId, dayOf } from '../tree/access-records.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { deleteObjects } from '../tree/confirmed-put.ts';
import { type ListedEntry, listDirectory } from '../tree/list-directory.ts';
import { readRegister } from '../tree/rename/register.ts';
import { type Call, openWork, type Session, type Work } from '../tree/session.ts';
import { expireSessions } from './expire-sessions.ts';
import {
  DAY_MS,
  type ExpiryMark,
  listReadsAndTurns,
  MOST_MARKS,
  outdatedAccess,
  outdatedTurns,
  type ReadsAndTurns,
  readMarks,
  writeMarks,
} from './expiry-records.ts';
import { type MigratedVersions, readMigratedVersions, type WrittenVersion } from './migrated-versions.ts';

export interface ExpiryOptions extends Call {
  /** Files that no process read or wrote, and sessions that none appended to, for so many days go; 1–3,650. Absent: none goes. */
  readonly afterDays?: number | undefined;
  /** Receipts and answers go after so many days, 15–3,650; 30 by default. A queue keeps a message for 14 at most. */
  readonly recordDays?: number | undefined;
  /** Change nothing, and tell what a run would do. */
  readonly dryRun?: boolean | undefined;
}

export interface ExpiryReport {
  /** Files that were looked at. */
  readonly files: number;
  /** Files this run deleted; of a dry run: would delete. */
  readonly deleted: number;
  /** Unused files that a later run deletes, if they are still unused then. */
  readonly marked: number;
  /** Access records, receipts and answers that this run deleted; of a dry run: would delete. */
  readonly records: number;
  /** Sessions that this run deleted, with their subagents; of a dry run: would delete. */
  readonly sessions: number;
  /** A directory was being renamed, so no file was looked at. */
  readonly busy: boolean;
}

/** What one run did for a tenant, the store's own remains included. */
export interface TenantExpiry extends ExpiryReport {
  /** Tombstones that deletes had left when their process died, and this run removed. */
  readonly tombstones: number;
}

/** How long a file stays marked before it may go. */
const MARKED_FOR_MS = 3_600_000;
const BATCH_FILES = 100;
/** A delete leaves this process at most so long after the look at its file began. */
const LOOK_HOLDS_MS = 30_000;
/** That look asks for the reads of three days, so it must be no later than a day after the listing. */
const LISTING_HOLDS_MS = DAY_MS / 2;
const MOST_DAYS = 3_650;

/**
 * Deletes the files that no process read or wrote for `afterDays`, in two runs: the first one marks them, a later one, an
 * hour after it or more, deletes exactly the versions that were marked and are unused still. Then it deletes old access
 * records, receipts, answers and sessions. A tenant that was never written to has nothing to expire.
 *
 * @throws MemoryError `misconfigured` for numbers out of range; `unavailable` when another run is at work; what the
 * store and the keyring throw.
 */
export async function expireTree(context: Session, options: ExpiryOptions): Promise<ExpiryReport> {
  const { afterDays, recordDays = 30, dryRun = false } = options;
  if (afterDays !== undefined) checkWholeNumber('afterDays', afterDays, { least: 1, most: MOST_DAYS });
  checkWholeNumber('recordDays', recordDays, { least: 15, most: MOST_DAYS });
  const work = await openWork(context, options);
  if (work === undefined) return { files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, busy: false };

  const busy = (await readRegister(work)).entry !== undefined;
  const records = await listReadsAndTurns(work);
  const migrated = await readMigratedVersions(work);
  const files =
    busy || afterDays === undefined
      ? { files: 0, deleted: 0, marked: 0 }
      : await expireFiles(work, records, { migrated, limitMs: afterDays * DAY_MS, dryRun });
  if (afterDays === undefined && !dryRun) await markTurns(work, records);
  const turns = outdatedTurns(records, recordDays, migrated);
  // In this order, so that no receipt ever stands without its answer.
  const old = [outdatedAccess(records, afterDays), turns.receipts, turns.answers];
  const deleted = dryRun ? old.flat().length : await deleteRecords(work, old);
  const sessions =
    afterDays === undefined
      ? 0
      : await expireSessions(work, { migrated, limitMs: afterDays * DAY_MS, dryRun });
  return { ...files, records: deleted, sessions, busy };
}

interface Unused {
  readonly file: string;
  /** What a delete must find. */
  readonly object: ListedEntry;
  /** What counts: a migration is no use of a file. */
  readonly written: WrittenVersion;
}

async function expireFiles(
  work: Work,
  records: ReadsAndTurns,
  options: { readonly migrated: MigratedVersions; readonly limitMs: number; readonly dryRun: boolean },
): Promise<Pick<ExpiryReport, 'files' | 'deleted' | 'marked'>> {
  const { now, lastRead } = records;
  const { migrated, limitMs, dryRun } = options;
  const listing = createAges(work.session).boundIn(LISTING_HOLDS_MS);
  const { marks, etag } = await readMarks(work);
  const listed = await listFiles(work, migrated);
  const unused = listed.filter(
    ({ file, written }) => now - Math.max(written.lastModified, lastRead.get(file) ?? 0) > limitMs,
  );
  const due = unused.filter(({ file, written }) => {
    const mark = marks.get(file);
    return mark?.etag === written.etag && now - mark.since >= MARKED_FOR_MS;
  });
  const gone = dryRun ? new Set(due.map(({ file }) => file)) : await deleteUnused(work, due, listing);
  const waiting = unused.filter(({ file }) => !gone.has(file)).slice(0, MOST_MARKS);
  if (!dryRun) await writeMarks(work, new Map(waiting.map((each) => remark(each, marks, now))), etag);
  return { files: listed.length, deleted: gone.size, marked: waiting.length };
}

/** Where no file expires, the marks, empty, tell migrations that turns do. */
async function markTurns(work: Work, { receipts, answers }: ReadsAndTurns): Promise<void> {
  if (receipts.size + answers.size === 0) return;
  const { marks, etag } = await readMarks(work);
  if (etag === undefined) await writeMarks(work, marks, etag);
}

/** A version that was marked before keeps its time. */
function remark(
  { file, written: { etag } }: Unused,
  marks: ReadonlyMap<string, ExpiryMark>,
  now: number,
): readonly [string, ExpiryMark] {
  const mark = marks.get(file);
  return [file, mark?.etag === etag ? mark : { etag, since: now }];
}

/** What no writer of this tenant made, or what was cut short, is for the operator to judge. */
async function listFiles(work: Work, migrated: MigratedVersions): Promise<readonly Unused[]> {
  const { files } = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
  return files.map((object) => {
    return { file: accessHash(work, object.path), object, written: migrated.writtenVersion(object) };
  });
}

/**
 * Deletes exactly the versions that were seen, and answers which files went. A run that was frozen since the listing,
 * or since the look at a batch, leaves files to a later run: they may have been read meanwhile.
 */
async function deleteUnused(
  work: Work,
  due: readonly Unused[],
  listing: SendBound,
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>();
  for (let start = 0; start < due.length; start += BATCH_FILES) {
    const batch = due.slice(start, start + BATCH_FILES);
    const look = createAges(work.session).boundIn(LOOK_HOLDS_MS);
    if (listing.isPast() || (await readRegister(work)).entry !== undefined) break;
    const unread: Unused[] = [];
    await eachConcurrently(work.session, batch, async (each) => {
      if (!(await wasReadLately(work, each))) unread.push(each);
    });
    const left = await deleteInTime(work, unread, look);
    for (const { file, object } of unread) if (!left.has(object.key)) gone.add(file);
    work.call.onProgress?.({ done: Math.min(start + BATCH_FILES, due.length), total: due.length });
  }
  return gone;
}

/** Answers what is not deleted for certain, which is everything where the look is too long ago. */
async function deleteInTime(
  work: Work,
  unread: readonly Unused[],
  look: SendBound,
): Promise<ReadonlySet<ObjectKey>> {
  const targets = unread.map(({ object: { key, etag } }) => ({ key, ifMatch: etag }));
  const leftAll = (): ReadonlySet<ObjectKey> => {
    work.session.logger.warn('files were left to a later run, because this one stood still', {
      files: targets.length,
    });
    return new Set(targets.map(({ key }) => key));
  };
  if (targets.length === 0) return new Set();
  if (look.isPast()) return leftAll();
  try {
    const failures = await deleteObjects(work, targets, { signal: work.call.signal, sendBy: look });
    return new Set(failures.map(({ key }) => key));
  } catch (error) {
    if (isTooLate(error)) return leftAll();
    throw error;
  }
}

/** A read since the listing. Readers and this process may disagree about the day. */
async function wasReadLately(work: Work, { file }: Unused): Promise<boolean> {
  const now = work.session.clock();
  const days = [now - DAY_MS, now, now + DAY_MS].map(dayOf);
  const found = await Promise.all(
    days.map((day) =>
      work.session.store.head(classKey(work.session.layout, 'access', accessRecordId({ day, file })), {
        signal: work.call.signal,
      }),
    ),
  );
  return found.some((meta) => meta !== undefined);
}

/** One group after the other; what has changed since it was listed stays, and with it the groups behind. */
async function deleteRecords(work: Work, groups: readonly (readonly ListedObject[])[]): Promise<number> {
  let deleted = 0;
  for (const group of groups.filter(({ length }) => length > 0)) {
    const targets = group.map(({ key, etag }) => ({ key, ifMatch: etag }));
    const failures = await deleteObjects(work, targets, { signal: work.call.signal });
    deleted += group.length - failures.length;
    if (failures.length > 0) break;
  }
  return deleted;
}
