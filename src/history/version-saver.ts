import { hasCode, hasReason, isDamaged, MemoryError } from '../errors.ts';
import { sameBytes } from '../format/encoding.ts';
import type { OpenedObject } from '../format/object.ts';
import { classKey } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES, MOST_KEPT_BYTES } from '../format/sizes.ts';
import { ID_BYTES, NO_ID, nextBound } from '../format/wrap.ts';
import type { MemoryPath } from '../language/path.ts';
import type { DeleteFailure, DeleteOptions, ETag, ObjectStore } from '../store/port.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { confirmedChange } from '../tree/confirmed-change.ts';
import { headSized, sizedOf } from '../tree/create-file.ts';
import { type FileVersion, reviewFile, reviewListed } from '../tree/read-file.ts';
import { readRecord, recordWrite } from '../tree/sealed-record.ts';
import {
  type EndedFile,
  type HistorySaver,
  type ListedFile,
  uncancelled,
  type Work,
} from '../tree/session.ts';
import { reviewSettled } from '../tree/settled.ts';
import { nameActor, noted, writerOf } from './actors.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyRecordId,
  WHOLE_TREE,
} from './history-record.ts';
import { type KeptRecord, writeKept } from './write-kept.ts';

/** Of one record that names files; further ones go into another. So it stays below what is read of a record. */
const MOST_ENDED = 10_000;

/** Loaded by the first work on a tenant that keeps history. */
export const VERSION_SAVER: HistorySaver = {
  writerOf,
  nameActor,
  async saveReplaced(work, path, version, before) {
    const saved = savedVersion(work, { path, version, before });
    if ((await writeKept(work, keptVersion(saved))) === 'conflict') await renewSaved(work, saved);
  },
  async savedInVain(work, path, { id, bound }) {
    const now = await reviewFile(withoutLimit(work), path);
    // Then the record is where a redaction looks for it, whenever it was written.
    if (now !== undefined && [now.id, now.previous].some((each) => sameBytes(each, id))) return;
    const { redactSavedInVain } = await import('./redact.ts');
    await redactSavedInVain(work, historyRecordId(work, { path, bound, id }), id);
  },
  async readToSave(work, path) {
    try {
      return sizedOf(await reviewSettled(withoutLimit(work), path));
    } catch (error) {
      if (!hasCode(error, 'integrity')) throw error;
      return headSized(work, path);
    }
  },
  async saveListed(work, files) {
    const saved: EndedFile[] = [];
    const saveOne = async (file: ListedFile): Promise<void> => {
      const version = await readListed(work, file);
      if (version === undefined) return;
      await this.saveReplaced(work, file.path, version, 'delete');
      saved.push([file.path, version.id, version.bound]);
    };
    await eachConcurrently(work.session, files, saveOne, ({ size }) => size);
    return saved;
  },
  deleteListed(work, files, options) {
    const { store } = work.session;
    if (store.changeAll === undefined) return undefined;
    return deleteAsOne(work, files, { ...options, changeAll: store.changeAll.bind(store) });
  },
  async noteDeleted(work, at, files) {
    await noteEnds(work, files, (some) => deletedRecord(work, at, some));
  },
  async noteMoved(work, { from, to, id }, file) {
    await noteEnds(work, [file], (files) => ({
      path: WHOLE_TREE,
      id,
      record: { kind: 'moved', ...noted(work), from, to, files },
    }));
  },
  async saveMoves(work, { from, to, id, by = NO_ID }, files) {
    for (let start = 0; start < files.length; start += MOST_ENDED) {
      const some = files.slice(start, start + MOST_ENDED);
      const record = { kind: 'moved', at: noted(work).at, by, from, to, files: some } as const;
      await putRecord(work, { path: WHOLE_TREE, id, record });
    }
  },
};

/** The version that was listed; undefined where it was changed since, or cannot be opened. */
async function readListed(work: Work, file: ListedFile): Promise<FileVersion | undefined> {
  const version = await reviewListed(withoutLimit(work), file).catch((error: unknown) => {
    if (!hasCode(error, 'integrity')) throw error;
  });
  return version?.etag === file.etag ? version : undefined;
}

/** A version that is about to be replaced or deleted, as its record has it. */
interface SavedVersion {
  readonly id: string;
  readonly record: Extract<HistoryRecord, { kind: 'replaced' | 'redacted' }>;
  /** The record that is replaced; undefined: it is created. */
  readonly base?: ETag;
}

function savedVersion(
  work: Work,
  {
    path,
    version,
    before,
  }: {
    readonly path: MemoryPath;
    readonly version: Omit<OpenedObject, 'origin' | 'drawnUnder'>;
    readonly before?: 'delete' | undefined;
  },
): SavedVersion {
  const { id, bound, content, mtime, previous, writer } = version;
  const facts = { path, id, mtime, bound, previous, writer, size: content.length };
  const purpose = before && { for: before };
  const told = { ...noted(work), version: facts };
  // A text that was written while no history was kept may be too long for a record: its end is told, the text cannot be.
  const isTooLong = content.length > MOST_KEPT_BYTES;
  return {
    id: historyRecordId(work, { path, bound, id }),
    record: isTooLong
      ? { kind: 'redacted', ...told }
      : { kind: 'replaced', ...told, ...purpose, text: content },
  };
}

function keptVersion({ id, record, base }: SavedVersion): KeptRecord {
  return { cls: 'history', id, content: encodeHistoryRecord(record), base };
}

/** What tells the end of files at or below a path. */
function deletedRecord(work: Work, at: MemoryPath, files: readonly EndedFile[]): NewRecord {
  return {
    path: files.length === 1 && files[0]?.[0] === at ? at : WHOLE_TREE,
    record: { kind: 'deleted', ...noted(work), files },
  };
}

async function noteEnds(
  work: Work,
  files: readonly EndedFile[],
  recordOf: (some: readonly EndedFile[]) => NewRecord,
): Promise<void> {
  try {
    for (let start = 0; start < files.length; start += MOST_ENDED) {
      await putRecord(uncancelled(work), recordOf(files.slice(start, start + MOST_ENDED)));
    }
  } catch (error) {
    const code = error instanceof MemoryError ? error.code : 'unavailable';
    work.session.logger.warn('what became of files was not written into their history', { code });
  }
}

interface NewRecord {
  readonly path: MemoryPath;
  /** Of what it tells, by which two records of the same are known; a random one without it. */
  readonly id?: Uint8Array;
  readonly record: HistoryRecord;
}

/** The same may be written twice, at two times. */
async function putRecord(work: Work, record: NewRecord): Promise<void> {
  const { stamps, random } = work.session;
  const id = record.id ?? random(ID_BYTES);
  for (let bound = nextBound(stamps.now()); ; bound = nextBound(stamps.now(), bound)) {
    // What is there is another one of the same rename, by a clock that showed the same.
    if ((await writeKept(work, keptRecord(work, record, { bound, id }))) === 'written') return;
  }
}

function keptRecord(
  work: Work,
  { path, record }: NewRecord,
  name: { readonly bound: bigint; readonly id: Uint8Array },
): KeptRecord {
  return {
    cls: 'history',
    id: historyRecordId(work, { path, ...name }),
    content: encodeHistoryRecord(record),
  };
}

/** A record of an attempt that came to nothing longer ago is written again; milliseconds by the server's clock. */
const RENEWED_AFTER_MS = 3_600_000;
/** Between the look and the write another process may have done the same, or an expiry run deleted the record. */
const ROUNDS = 8;

/** An earlier attempt has saved the version. @throws MemoryError `unavailable` as `writtenMeanwhile`. */
async function renewSaved(work: Work, saved: SavedVersion): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const renewed = await renewal(work, saved);
    if (renewed === undefined || (await writeKept(work, keptVersion(renewed))) === 'written') return;
  }
  throw writtenMeanwhile();
}

/**
 * What is written where an earlier attempt has saved the version, and came to nothing: its time in the history begins only now.
 * A record that was saved for an edit says from now on where the version goes by a delete; what says so already goes on
 * saying so. Undefined where nothing is written: the record is young and says all, what was redacted stays redacted, and what
 * cannot be opened is left to a verification.
 */
async function renewal(work: Work, { id, record }: SavedVersion): Promise<SavedVersion | undefined> {
  try {
    const found = await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES });
    if (found === undefined) return { id, record };
    const earlier = decodeHistoryRecord(found.content);
    if (record.kind !== 'replaced' || earlier?.kind !== 'replaced') return undefined;
    const saysAll = record.for === undefined || earlier.for !== undefined;
    if (saysAll && found.ageMs <= RENEWED_AFTER_MS) return undefined;
    const purpose = earlier.for && { for: earlier.for };
    return { id, record: { ...record, ...purpose }, base: found.etag };
  } catch (error) {
    if (isDamaged(error)) return undefined;
    throw error;
  }
}

function writtenMeanwhile(): MemoryError {
  return new MemoryError(
    'unavailable',
    'Other processes wrote the version into the history at every attempt.',
  );
}

/** One change holds no more, so that others have their turn. */
const MOST_FILES = 100;
const MOST_BYTES = 4_194_304;

interface Deletion extends Pick<DeleteOptions, 'sendBy' | 'onTarget'> {
  readonly at: MemoryPath;
  readonly changeAll: NonNullable<ObjectStore['changeAll']>;
}

/** On a full disk each file goes for itself, which needs less room. Any other failure stands for all files behind it. */
async function deleteAsOne(
  work: Work,
  files: readonly ListedFile[],
  deletion: Deletion,
): Promise<readonly DeleteFailure[]> {
  const failures: DeleteFailure[] = [];
  for (let start = 0, end = 0; start < files.length; start = end) {
    end = endOfBatch(files, start);
    const batch = files.slice(start, end);
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
  }
  return failures;
}

function endOfBatch(files: readonly ListedFile[], start: number): number {
  let end = start;
  for (let bytes = 0; end < files.length && end - start < MOST_FILES; end++) {
    bytes += files[end]?.size ?? 0;
    if (bytes > MOST_BYTES && end > start) break;
  }
  return end;
}

/** A file that is deleted, and what is written of it: nothing where there is no text that could be saved. */
interface Leaving {
  readonly file: ListedFile;
  readonly ended?: EndedFile | undefined;
  readonly saved?: SavedVersion | undefined;
}

/** All of the files that are still the versions listed, or none of them. */
async function deleteBatch(
  work: Work,
  files: readonly ListedFile[],
  { at, sendBy, changeAll }: Deletion,
): Promise<readonly DeleteFailure[]> {
  const { layout, stamps, random } = work.session;
  const failures: DeleteFailure[] = [];
  let leaving: readonly Leaving[] = await readLeaving(work, files);
  for (let round = 0; leaving.length > 0; round++) {
    if (round === ROUNDS) throw writtenMeanwhile();
    const ended = leaving.flatMap((each) => (each.ended === undefined ? [] : [each.ended]));
    const records = leaving.flatMap(({ saved }) => (saved === undefined ? [] : [keptVersion(saved)]));
    if (ended.length > 0) {
      const name = { bound: nextBound(stamps.now()), id: random(ID_BYTES) };
      records.push(keptRecord(work, deletedRecord(work, at, ended), name));
    }
    const conflicts = await confirmedChange(work, changeAll, {
      writes: records.map((record) => recordWrite(work, record, { base: undefined, ...record })),
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
  }
  return failures;
}

async function readLeaving(work: Work, files: readonly ListedFile[]): Promise<readonly Leaving[]> {
  const leaving: Leaving[] = [];
  const read = async (file: ListedFile): Promise<void> => {
    const version = await readListed(work, file);
    leaving.push({
      file,
      ended: version && [file.path, version.id, version.bound],
      saved: version && savedVersion(work, { path: file.path, version, before: 'delete' }),
    });
  };
  await eachConcurrently(work.session, files, read, ({ size }) => size);
  return leaving;
}

function withoutLimit(work: Work): Work {
  return { ...work, session: { ...work.session, maxFileBytes: MAX_CONTENT_BYTES } };
}
