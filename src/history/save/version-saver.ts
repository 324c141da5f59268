import { hasCode, hasReason, MemoryError, unlessDamaged } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import { classKey } from '../../format/object-keys.ts';
import { MAX_CONTENT_BYTES, MOST_KEPT_BYTES } from '../../format/sizes.ts';
import { NO_ID, nextBound } from '../../format/wrap.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { DeleteFailure, DeleteOptions, ETag, ObjectStore } from '../../store/port.ts';
import { attempts, eachConcurrently, throwing } from '../../tree/concurrency.ts';
import { drawId } from '../../tree/draw-id.ts';
import { type FileVersion, reviewFile, reviewListed } from '../../tree/read-file.ts';
import { readRecord } from '../../tree/records/sealed-record.ts';
import { changeWithRecords } from '../../tree/records/write-before-delete.ts';
import { readSized } from '../../tree/staying/staying.ts';
import {
  type EndedFile,
  type HistorySaver,
  type ListedFile,
  uncancelled,
  type Work,
  withoutLimit,
} from '../../tree/tenant.ts';
import { nameActor, noted, writerOf } from './actors.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyHash,
  historyRecordId,
  WHOLE_TREE,
} from './history-record.ts';
import { isRecorded } from './recorded.ts';
import { type KeptRecord, writeKept } from './write-kept.ts';

/** The most files that one record names, so that it stays small enough to be read; further files go into another. */
const MOST_ENDED = 10_000;

/** The saver of versions. The first work on a tenant that keeps history loads it. */
export const VERSION_SAVER: HistorySaver = {
  writerOf,
  nameActor,
  async saveReplaced(work, path, version, before) {
    let saved = savedVersion(work, path, version, before);
    const attempt = async (): Promise<'saved' | 'again'> => {
      if ((await writeKept(work, keptRecord(saved))) === 'written') return 'saved';
      const renewed = await renewal(work, saved);
      saved = renewed ?? saved;
      return renewed === undefined ? 'saved' : 'again';
    };
    await attempts(ROUNDS + 1, attempt, WRITTEN_MEANWHILE);
  },
  async savedInVain(work, path, { id, bound }) {
    const now = await reviewFile(withoutLimit(work), path);
    // A version that a file still holds keeps its text: no redaction of it has ended.
    if (now !== undefined && sameBytes(now.id, id)) return;
    // A version that was replaced at its path has a record there, though of another bound where a migration or a rename
    // bound it again.
    const isReplacedHere = now !== undefined && sameBytes(now.previous, id) && sameBytes(now.origin, NO_ID);
    const { redactSavedInVain } = await import('../change/redact.ts');
    await redactSavedInVain(work, {
      record: historyRecordId(work, { path, bound, id }),
      version: id,
      beginning: isReplacedHere ? `${historyHash(work, path)}_` : undefined,
    });
  },
  readToSave: (work, path) => readSized(withoutLimit(work), path),
  async saveListed(work, files) {
    const saved: EndedFile[] = [];
    const saveOne = async (file: ListedFile): Promise<void> => {
      const version = await readListed(work, file);
      if (version === undefined) return;
      await this.saveReplaced(work, file.path, version, 'delete');
      saved.push([file.path, version.id, version.bound]);
    };
    await eachConcurrently(work.tenant, files, saveOne, ({ size }) => size);
    return saved;
  },
  deleteListed(work, files, options) {
    const { store } = work.tenant;
    if (store.changeAll === undefined) return undefined;
    return deleteAsOne(work, files, { ...options, changeAll: store.changeAll.bind(store) });
  },
  isRecorded,
  async noteDeleted(work, at, files) {
    await logFailure(work, saveEnds(uncancelled(work), files, deletedAt(work, at)));
  },
  async noteMoved(work, { from, to, id }, file) {
    const moved = (files: readonly EndedFile[]): End => ({
      path: WHOLE_TREE,
      id,
      record: { kind: 'moved', ...noted(work), from, to, files },
    });
    await logFailure(work, saveEnds(uncancelled(work), [file], moved));
  },
  async saveMoves(work, { from, to, id, by = NO_ID }, files) {
    const moved = { kind: 'moved', at: noted(work).at, by, from, to } as const;
    await saveEnds(work, files, (some) => ({ path: WHOLE_TREE, id, record: { ...moved, files: some } }));
  },
};

async function logFailure({ tenant: { logger } }: Work, saving: Promise<void>): Promise<void> {
  try {
    await saving;
  } catch (error) {
    const code = error instanceof MemoryError ? error.code : 'unavailable';
    logger.warn('what became of files was not written into their history', { code });
  }
}

/** Reads the version that was listed; undefined where the file was changed since, or cannot be opened. */
async function readListed(work: Work, file: ListedFile): Promise<FileVersion | undefined> {
  const version = await reviewListed(withoutLimit(work), file).catch((error: unknown) => {
    if (!hasCode(error, 'integrity')) throw error;
  });
  return version?.etag === file.etag ? version : undefined;
}

/** A record that is to be written. */
interface NewRecord {
  readonly id: string;
  readonly record: HistoryRecord;
  /** The record that is replaced; undefined: it is created. */
  readonly base?: ETag;
}

function keptRecord({ id, record, base }: NewRecord): KeptRecord {
  return { cls: 'history', id, content: encodeHistoryRecord(record), base };
}

/** Makes the record of a version that is about to be replaced or deleted. */
function savedVersion(
  work: Work,
  path: MemoryPath,
  { id, bound, content, mtime, previous, writer }: Parameters<HistorySaver['saveReplaced']>[2],
  before: 'delete' | undefined,
): NewRecord {
  const facts = { path, id, mtime, bound, previous, writer, size: content.length };
  const told = { ...noted(work), version: facts };
  // A text from before the history was turned on may be too long for a record: then the record has its facts alone.
  const isTooLong = content.length > MOST_KEPT_BYTES;
  return {
    id: historyRecordId(work, facts),
    record: isTooLong
      ? { kind: 'redacted', ...told }
      : { kind: 'replaced', ...told, ...(before && { for: before }), text: content },
  };
}

/** The record of a delete or a rename, before it has a bound. */
interface End {
  /** The path of the one file that it concerns, or the root. */
  readonly path: MemoryPath;
  /** 16 bytes that all records of one event share. */
  readonly id: Uint8Array;
  readonly record: Extract<HistoryRecord, { files: unknown }>;
}

/** Makes the record of a delete of files at or below a path. */
function deletedAt(work: Work, at: MemoryPath): (files: readonly EndedFile[]) => End {
  return (files) => ({
    path: files.length === 1 && files[0]?.[0] === at ? at : WHOLE_TREE,
    id: drawId(work),
    record: { kind: 'deleted', ...noted(work), files },
  });
}

async function saveEnds(
  work: Work,
  files: readonly EndedFile[],
  endOf: (some: readonly EndedFile[]) => End,
): Promise<void> {
  for (let start = 0; start < files.length; start += MOST_ENDED) {
    const end = endOf(files.slice(start, start + MOST_ENDED));
    for (let bound: bigint | undefined, isWritten = false; !isWritten; ) {
      // On a conflict another record of the same rename has that bound, by a clock that showed the same.
      bound = nextBound(work.tenant.stamps.now(), bound);
      isWritten = (await writeKept(work, keptRecord(endRecord(work, end, bound)))) === 'written';
    }
  }
}

function endRecord(work: Work, { record, ...name }: End, bound: bigint): NewRecord {
  return { id: historyRecordId(work, { ...name, bound }), record };
}

/**
 * The age from which the record of an attempt that came to nothing is written again; milliseconds by the server's
 * clock.
 */
const RENEWED_AFTER_MS = 3_600_000;
/** The most attempts: between look and write another process may write the record too, or an expiry run delete it. */
const ROUNDS = 8;

/**
 * Makes the record anew where an earlier attempt saved the version and came to nothing: its time in the history begins
 * only now. Once a record says that the version was to be deleted, each later one says so too. Undefined where the
 * stored record stays: it is young and says all, or it was redacted, or it cannot be opened, which a verification
 * tells.
 *
 * @throws MemoryError `integrity` where the stored record is of another version.
 */
async function renewal(work: Work, { id, record }: NewRecord): Promise<NewRecord | undefined> {
  const reading = readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES });
  const found = await unlessDamaged(reading, () => 'damaged' as const);
  if (found === undefined) return { id, record };
  if (found === 'damaged') return undefined;
  const earlier = decodeHistoryRecord(found.content);
  refuseAnother(record, earlier);
  if (record.kind !== 'replaced' || earlier?.kind !== 'replaced') return undefined;
  const saysAll = record.for === undefined || earlier.for !== undefined;
  if (saysAll && found.ageMs <= RENEWED_AFTER_MS) return undefined;
  const purpose = earlier.for && { for: earlier.for };
  return { id, record: { ...record, ...purpose }, base: found.etag };
}

/**
 * Refuses another version's record.
 *
 * @throws MemoryError `integrity` where the record is of another version, so that this one cannot be saved.
 */
function refuseAnother(record: HistoryRecord, earlier: HistoryRecord | undefined): void {
  if (earlier === undefined || !('version' in record) || !('version' in earlier)) return;
  if (sameBytes(record.version.id, earlier.version.id)) return;
  throw new MemoryError('integrity', 'A record of another version lies where this one is to be saved.');
}

const WRITTEN_MEANWHILE = throwing(
  'unavailable',
  'Other processes wrote the version into the history at every attempt.',
);

/** The most files, and the most bytes, of one change, so that others have their turn. */
const MOST_FILES = 100;
const MOST_BYTES = 4_194_304;

interface Deletion extends Pick<DeleteOptions, 'sendBy' | 'onTarget'> {
  readonly at: MemoryPath;
  readonly changeAll: NonNullable<ObjectStore['changeAll']>;
}

/**
 * Deletes files in changes of many; on a full disk one by one, which needs less room. Another failure ends the deletes,
 * and stands for all files left.
 */
async function deleteAsOne(
  work: Work,
  files: readonly ListedFile[],
  deletion: Deletion,
): Promise<readonly DeleteFailure[]> {
  const failures: DeleteFailure[] = [];
  for (let start = 0; start < files.length; ) {
    const batch = batchFrom(files, start);
    try {
      failures.push(...(await deleteBatch(work, batch, deletion)));
    } catch (error) {
      if (batch.length === 1 || !hasReason(error, 'disk_full')) {
        return [...failures, ...files.slice(start).map(({ key }) => ({ key, error }))];
      }
      for (const file of batch) {
        const alone = deleteBatch(work, [file], deletion);
        failures.push(...(await alone.catch((cause: unknown) => [{ key: file.key, error: cause }])));
      }
    }
    for (const _ of batch) deletion.onTarget?.();
    start += batch.length;
  }
  return failures;
}

/** Takes the files of the next change. */
function batchFrom(files: readonly ListedFile[], start: number): readonly ListedFile[] {
  const batch: ListedFile[] = [];
  let bytes = 0;
  for (const file of files.slice(start, start + MOST_FILES)) {
    bytes += file.size;
    if (bytes > MOST_BYTES && batch.length > 0) break;
    batch.push(file);
  }
  return batch;
}

/** A file to be deleted, and the record that is written of it: undefined where the version cannot be read. */
interface Leaving {
  readonly file: ListedFile;
  readonly ended: EndedFile | undefined;
  readonly saved: NewRecord | undefined;
}

/** Deletes as one change all files that are still the versions listed. Answers those that changed, and why. */
async function deleteBatch(
  work: Work,
  files: readonly ListedFile[],
  { at, sendBy, changeAll }: Deletion,
): Promise<readonly DeleteFailure[]> {
  const { layout, stamps } = work.tenant;
  const failures: DeleteFailure[] = [];
  let leaving: readonly Leaving[] = await readLeaving(work, files);
  const attempt = async (): Promise<readonly DeleteFailure[] | 'again'> => {
    const ended = leaving.flatMap((each) => (each.ended === undefined ? [] : [each.ended]));
    const records = leaving.flatMap(({ saved }) => saved ?? []);
    if (ended.length > 0) records.push(endRecord(work, deletedAt(work, at)(ended), nextBound(stamps.now())));
    const conflicts = await changeWithRecords(work, changeAll, {
      records: records.map(keptRecord),
      deletes: leaving.map(({ file: { key, etag } }) => ({ key, ifMatch: etag })),
      sendBy,
    });
    if (conflicts.length === 0) return failures;
    const met = new Map(conflicts.map(({ key, conflict }) => [key, conflict]));
    const others: Leaving[] = [];
    for (const each of leaving) {
      const { file, saved } = each;
      const conflict = met.get(file.key);
      const wasSaved = saved !== undefined && met.has(classKey(layout, 'history', saved.id));
      if (conflict === 'changed' || conflict === 'missing') failures.push({ key: file.key, conflict });
      else others.push(wasSaved ? { ...each, saved: await renewal(work, saved) } : each);
    }
    leaving = others;
    return leaving.length > 0 ? 'again' : failures;
  };
  return attempts(ROUNDS, attempt, WRITTEN_MEANWHILE);
}

async function readLeaving(work: Work, files: readonly ListedFile[]): Promise<readonly Leaving[]> {
  const leaving: Leaving[] = [];
  const read = async (file: ListedFile): Promise<void> => {
    const version = await readListed(work, file);
    leaving.push({
      file,
      ended: version && [file.path, version.id, version.bound],
      saved: version && savedVersion(work, file.path, version, 'delete'),
    });
  };
  await eachConcurrently(work.tenant, files, read, ({ size }) => size);
  return leaving;
}
