import { hasReason, MemoryError } from '../../errors.ts';
import { objectRefused } from '../../format/object.ts';
import { classKey, type ObjectKey } from '../../format/object-keys.ts';
import { KEY_BYTES } from '../../format/sodium.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { type DeleteFailure, type ETag, isTooLate, lateness, type SendBound } from '../../store/port.ts';
import { createAges, DAY_MS } from '../../time.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { deleteObjects } from '../../tree/confirmed-put.ts';
import { type ListedEntry, listDirectory } from '../../tree/list-directory.ts';
import { bytesIn, timeIn } from '../../tree/records/record-values.ts';
import { decodeFields, encodeFields, readRecord } from '../../tree/records/sealed-record.ts';
import { writeBeforeDelete } from '../../tree/records/write-before-delete.ts';
import { readRegister } from '../../tree/rename/register.ts';
import type { Work } from '../../tree/tenant.ts';
import type { MigratedVersions, WrittenVersion } from '../keys/migrated-versions.ts';
import { accessHash, accessRecordId, dayOf } from './access-records.ts';

/** The time for which a file stays marked before it may go. */
const MARKED_FOR_MS = 3_600_000;
const BATCH_FILES = 100;
/** The longest time from the look at a file to the sending of its delete. */
const LOOK_HOLDS_MS = 30_000;
/**
 * The longest time from the listing to a look, which asks for the reads of three days: half a day keeps it well within
 * them.
 */
const LISTING_HOLDS_MS = DAY_MS / 2;

/** The numbers of files that were looked at, deleted and marked. */
interface FileExpiry {
  readonly files: number;
  readonly deleted: number;
  readonly marked: number;
}

interface Unused {
  readonly file: string;
  /** The version that a delete must find. */
  readonly object: ListedEntry;
  /** The version that its writer made, whose age counts: a migration is no use of a file. */
  readonly written: WrittenVersion;
}

/** Marks unused files, and deletes those that an earlier run marked and that are still unused. */
export async function expireFiles(
  work: Work,
  reads: {
    /** The time of the run, by the server's clock; milliseconds since the epoch. */
    readonly now: number;
    /** The end of the last day on which a file was read, by the hash of its path. */
    readonly lastRead: ReadonlyMap<string, number>;
  },
  options: { readonly migrated: MigratedVersions; readonly limitMs: number; readonly dryRun: boolean },
): Promise<FileExpiry> {
  const { now, lastRead } = reads;
  const { migrated, limitMs, dryRun } = options;
  const listing = createAges(work.tenant).boundIn(LISTING_HOLDS_MS);
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
  const remarked = new Map(waiting.map((each) => remark(each, marks, now)));
  const isMarked = dryRun || (await writeMarks(work, remarked, etag));
  return { files: listed.length, deleted: gone.size, marked: isMarked ? waiting.length : 0 };
}

/** Makes the mark of a file. A version that was marked before keeps its time. */
function remark(
  { file, written: { etag } }: Unused,
  marks: ReadonlyMap<string, ExpiryMark>,
  now: number,
): readonly [string, ExpiryMark] {
  const mark = marks.get(file);
  return [file, mark?.etag === etag ? mark : { etag, since: now }];
}

/** Lists the files that writers of this tenant made. Foreign objects and cut ones are for the operator to judge. */
async function listFiles(work: Work, migrated: MigratedVersions): Promise<readonly Unused[]> {
  const { files } = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
  return files.map((object) => {
    return { file: accessHash(work, object.path), object, written: migrated.writtenVersion(object) };
  });
}

/**
 * Deletes exactly the versions that were seen, and answers which files went. A run that was frozen since the listing or
 * since the look at a batch leaves files to a later run: another process may have read them meanwhile.
 */
async function deleteUnused(
  work: Work,
  due: readonly Unused[],
  listing: SendBound,
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>();
  for (let start = 0; start < due.length; start += BATCH_FILES) {
    const batch = due.slice(start, start + BATCH_FILES);
    const look = createAges(work.tenant).boundIn(LOOK_HOLDS_MS);
    if (listing.isPast() || (await readRegister(work)).entry !== undefined) break;
    const unread: Unused[] = [];
    await eachConcurrently(work.tenant, batch, async (each) => {
      if (!(await wasReadLately(work, each))) unread.push(each);
    });
    const left = await deleteInTime(work, unread, look);
    for (const { file, object } of unread) if (!left.has(object.key)) gone.add(file);
    work.call.onProgress?.({ done: Math.min(start + BATCH_FILES, due.length), total: due.length });
  }
  return gone;
}

/** Deletes unless the look is too long ago, and answers the keys that may remain: then all of them. */
async function deleteInTime(
  work: Work,
  unread: readonly Unused[],
  look: SendBound,
): Promise<ReadonlySet<ObjectKey>> {
  const objects = unread.map(({ object }) => object);
  const keys = new Set(objects.map(({ key }) => key));
  if (objects.length === 0) return keys;
  try {
    const failures = await deleteKept(work, objects, look);
    const late = failures.find((failure) => 'error' in failure && isTooLate(failure.error));
    if (late !== undefined && 'error' in late) throw late.error;
    return new Set(failures.map(({ key }) => key));
  } catch (error) {
    if (!isTooLate(error)) throw error;
    work.tenant.logger.warn('files were left to a later run, because this one stood still', {
      files: objects.length,
    });
    return keys;
  }
}

/**
 * Deletes the files. Where history is kept, it saves their versions first: a checkpoint then tells an expired file from
 * a lost one.
 */
async function deleteKept(
  work: Work,
  objects: readonly ListedEntry[],
  sendBy: SendBound,
): Promise<readonly DeleteFailure[]> {
  const { saver } = work;
  const together = await saver?.deleteListed(work, objects, { at: MEMORY_ROOT, sendBy });
  if (together !== undefined) return together;
  const saved = await saver?.saveListed(work, objects);
  const late = lateness(sendBy);
  if (late !== undefined) throw late;
  const targets = objects.map(({ key, etag }) => ({ key, ifMatch: etag }));
  const failures = await deleteObjects(work, targets, { signal: work.call.signal, sendBy });
  const left = new Set<string>(failures.map(({ key }) => key));
  const deleted = new Set(objects.flatMap(({ key, path }) => (left.has(key) ? [] : [path])));
  const ended = saved?.filter(([path]) => deleted.has(path)) ?? [];
  if (ended.length > 0) await saver?.noteDeleted(work, MEMORY_ROOT, ended);
  return failures;
}

/**
 * Tells whether a process read the file since the listing. It asks for three days: clocks may disagree about the day.
 */
async function wasReadLately(work: Work, { file }: Unused): Promise<boolean> {
  const now = work.tenant.stamps.now();
  const days = [now - DAY_MS, now, now + DAY_MS].map(dayOf);
  const found = await Promise.all(
    days.map((day) =>
      work.tenant.store.head(classKey(work.tenant.layout, 'access', accessRecordId({ day, file })), {
        signal: work.call.signal,
      }),
    ),
  );
  return found.some((meta) => meta !== undefined);
}

/** A version of a file that an earlier run found unused. */
interface ExpiryMark {
  readonly etag: ETag;
  /** The time at which it was found first, by the server's clock; milliseconds since the epoch. */
  readonly since: number;
}

/** Marks by the hash that stands for the file in its access records. */
type ExpiryMarks = ReadonlyMap<string, ExpiryMark>;

interface StoredMarks {
  readonly marks: ExpiryMarks;
  /** The version of the record; undefined: it was never written. */
  readonly etag: ETag | undefined;
}

const RECORD = { cls: 'journal', id: 'expiry' } as const;
const MAX_BYTES = 8_388_608;
/** The most marks that one record holds; a later run marks further files. */
export const MOST_MARKS = 20_000;

/**
 * Reads the marks. One GET.
 *
 * @throws MemoryError `integrity`, also when the record is malformed.
 */
export async function readMarks(work: Work): Promise<StoredMarks> {
  const record = await readRecord(work, { ...RECORD, maxBytes: MAX_BYTES });
  if (record === undefined) return { marks: new Map(), etag: undefined };
  return { marks: decodeMarks(record.content), etag: record.etag };
}

/**
 * Writes the marks. False where the disk has no room for them: earlier ones stay, and a later run goes on from there.
 *
 * @throws MemoryError `unavailable` when another run has written them meanwhile.
 */
export async function writeMarks(work: Work, marks: ExpiryMarks, base: ETag | undefined): Promise<boolean> {
  const list = [...marks].slice(0, MOST_MARKS).map(([file, { etag, since }]) => [file, etag, since]);
  try {
    if (await writeBeforeDelete(work, RECORD, { content: encodeFields({ marks: list }), base })) return true;
  } catch (error) {
    if (!hasReason(error, 'disk_full')) throw error;
    work.tenant.logger.warn('unused files were not marked, because the disk is full', {
      files: list.length,
    });
    return false;
  }
  throw new MemoryError('unavailable', "another run of expiry works on the tenant's files");
}

/**
 * Decodes the marks.
 *
 * @throws MemoryError `integrity` for malformed content.
 */
export function decodeMarks(content: Uint8Array): ExpiryMarks {
  const { marks } = decodeFields(content) ?? {};
  if (!Array.isArray(marks) || marks.length > MOST_MARKS) throw objectRefused();
  return new Map(marks.map(parseMark));
}

function parseMark(entry: unknown): readonly [string, ExpiryMark] {
  const [file, etag, time] = Array.isArray(entry) && entry.length === 3 ? (entry as readonly unknown[]) : [];
  const since = timeIn(time);
  const isHash = typeof file === 'string' && bytesIn(file, KEY_BYTES) !== undefined;
  if (!isHash || typeof etag !== 'string' || since === undefined) throw objectRefused();
  return [file, { etag: etag as ETag, since }];
}
