import { hasReason, MemoryError } from '../../errors.ts';
import { objectRefused } from '../../format/object.ts';
import type { ObjectClass } from '../../format/object-keys.ts';
import { KEY_BYTES } from '../../format/sodium.ts';
import type { ETag, ListedObject } from '../../store/port.ts';
import { DAY_MS } from '../../time.ts';
import { parseAccessRecordId } from '../../tree/records/access-records.ts';
import { pagesOfIds } from '../../tree/records/list-ids.ts';
import { bytesIn, timeIn } from '../../tree/records/record-values.ts';
import { decodeFields, encodeFields, readRecord } from '../../tree/records/sealed-record.ts';
import type { Work } from '../../tree/session.ts';
import type { MigratedVersions } from '../keys/migrated-versions.ts';
import { writeNote } from './write-note.ts';

/** What lies beside a tenant's tree, as far as expiry looks at it. */
export interface ReadsAndTurns {
  /** The server's clock, milliseconds since the epoch. */
  readonly now: number;
  /** The end of the last day on which a file was read, by what stands for the file. */
  readonly lastRead: ReadonlyMap<string, number>;
  readonly access: readonly AccessRecord[];
  /** By id. */
  readonly receipts: ReadonlyMap<string, ListedObject>;
  readonly answers: ReadonlyMap<string, ListedObject>;
}

interface AccessRecord {
  readonly object: ListedObject;
  readonly file: string;
  /** When the recorded day ends, milliseconds since the epoch. */
  readonly dayEnds: number;
}

/** One LIST per 1,000 records of each class. */
export async function listReadsAndTurns(work: Work): Promise<ReadsAndTurns> {
  const [access, receipts, answers] = await Promise.all([
    listClass(work, 'access'),
    listClass(work, 'receipts'),
    listClass(work, 'answers'),
  ]);
  const read = [...access.objects].flatMap(([id, object]) => {
    const parsed = parseAccessRecordId(id);
    const dayEnds = parsed === undefined ? Number.NaN : Date.parse(`${parsed.day}T00:00:00Z`) + DAY_MS;
    return parsed === undefined || Number.isNaN(dayEnds) ? [] : [{ object, file: parsed.file, dayEnds }];
  });
  const lastRead = new Map<string, number>();
  for (const { file, dayEnds } of read) lastRead.set(file, Math.max(dayEnds, lastRead.get(file) ?? 0));
  return {
    now: access.servedAt,
    lastRead,
    access: read,
    receipts: receipts.objects,
    answers: answers.objects,
  };
}

/**
 * Records that a newer one of the same file makes idle, and those of days too long ago to matter; where files do not
 * expire only the former.
 */
export function outdatedAccess(
  { access, lastRead, now }: ReadsAndTurns,
  afterDays: number = Number.POSITIVE_INFINITY,
): readonly ListedObject[] {
  return access
    .filter(({ file, dayEnds }) => {
      return now - dayEnds > afterDays * DAY_MS || dayEnds < (lastRead.get(file) ?? 0);
    })
    .map(({ object }) => object);
}

/** Receipts and answers of turns that no queue can deliver again. An answer stays as long as its receipt does. */
export function outdatedTurns(
  { receipts, answers, now }: ReadsAndTurns,
  afterDays: number,
  migrated: MigratedVersions,
): { readonly receipts: readonly ListedObject[]; readonly answers: readonly ListedObject[] } {
  const isOld = writtenLongAgo(migrated, { now, limitMs: afterDays * DAY_MS });
  const oldAnswers = [...answers].filter(([id, answer]) => {
    const receipt = receipts.get(id);
    return isOld(answer) && (receipt === undefined || isOld(receipt));
  });
  return {
    receipts: [...receipts.values()].filter(isOld),
    answers: oldAnswers.map(([, answer]) => answer),
  };
}

/** The request to let one class of records expire. */
export interface ClassExpiry {
  readonly migrated: MigratedVersions;
  /** The age, by the server's clock, at which what no process writes any more goes; milliseconds. */
  readonly limitMs: number;
  readonly dryRun: boolean;
}

/** Whether an object was written longer ago than the limit, by the server's clock; a migration of keys does not count as a write. */
export function writtenLongAgo(
  { writtenVersion }: MigratedVersions,
  { now, limitMs }: { readonly now: number; readonly limitMs: number },
): (object: ListedObject) => boolean {
  return (object) => now - writtenVersion(object).lastModified > limitMs;
}

/** Every object of a class by its id. One LIST for each 1,000. */
export async function listClass(
  work: Work,
  cls: ObjectClass,
): Promise<{ readonly objects: ReadonlyMap<string, ListedObject>; readonly servedAt: number }> {
  const objects = new Map<string, ListedObject>();
  let servedAt = 0;
  for await (const page of pagesOfIds(work, cls)) {
    servedAt = page.servedAt;
    for (const { id, object } of page.ids) objects.set(id, object);
  }
  return { objects, servedAt };
}

/** A version of a file that an earlier run found unused. */
export interface ExpiryMark {
  readonly etag: ETag;
  /** When it was found first, by the server's clock; milliseconds since the epoch. */
  readonly since: number;
}

/** Marks by what stands for the file in its access records. */
type ExpiryMarks = ReadonlyMap<string, ExpiryMark>;

interface StoredMarks {
  readonly marks: ExpiryMarks;
  /** Undefined: none were ever written. */
  readonly etag: ETag | undefined;
}

const RECORD = { cls: 'journal', id: 'expiry' } as const;
const MAX_BYTES = 8_388_608;
/** Further ones are marked by a later run. */
export const MOST_MARKS = 20_000;

/** One GET. @throws MemoryError `integrity`, also for what is malformed. */
export async function readMarks(work: Work): Promise<StoredMarks> {
  const record = await readRecord(work, { ...RECORD, maxBytes: MAX_BYTES });
  if (record === undefined) return { marks: new Map(), etag: undefined };
  return { marks: decodeMarks(record.content), etag: record.etag };
}

/**
 * False where the disk has no room for them: earlier ones stay, and a later run goes on from there.
 *
 * @throws MemoryError `unavailable` when another run has written them meanwhile.
 */
export async function writeMarks(work: Work, marks: ExpiryMarks, base: ETag | undefined): Promise<boolean> {
  const list = [...marks].slice(0, MOST_MARKS).map(([file, { etag, since }]) => [file, etag, since]);
  try {
    if (await writeNote(work, RECORD, { content: encodeFields({ marks: list }), base })) return true;
  } catch (error) {
    if (!hasReason(error, 'disk_full')) throw error;
    work.session.logger.warn('unused files were not marked, because the disk is full', {
      files: list.length,
    });
    return false;
  }
  throw new MemoryError('unavailable', "another run of expiry works on the tenant's files");
}

/** @throws MemoryError `integrity` for what is malformed. */
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
