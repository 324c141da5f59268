import { hasCode, isDamaged, MemoryError } from '../errors.ts';
import { MAX_CONTENT_BYTES } from '../format/sizes.ts';
import { ID_BYTES, NO_ID, nextBound } from '../format/wrap.ts';
import type { MemoryPath } from '../language/path.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { headSized, sizedOf } from '../tree/create-file.ts';
import { reviewListed } from '../tree/read-file.ts';
import { readRecord } from '../tree/sealed-record.ts';
import { type EndedFile, type HistorySaver, uncancelled, type Work } from '../tree/session.ts';
import { reviewSettled } from '../tree/settled.ts';
import { nameActor } from './actors.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyRecordId,
  WHOLE_TREE,
} from './history-record.ts';
import { writeKept } from './write-kept.ts';

/** Of one record that names files; further ones go into another. So it stays below what is read of a record. */
const MOST_ENDED = 10_000;

/** Loaded by the first work on a tenant that keeps history. */
export const VERSION_SAVER: HistorySaver = {
  writerOf,
  nameActor,
  async saveReplaced(work, path, version) {
    const { contentId, bound, content, mtime, previous, writer } = version;
    const facts = { path, contentId, mtime, bound, previous, writer, size: content.length };
    const id = historyRecordId(work, { path, bound, id: contentId });
    const record = encodeHistoryRecord({ kind: 'replaced', ...noted(work), version: facts, text: content });
    const saved = await writeKept(work, { cls: 'history', id, content: record });
    if (saved === 'conflict') await renewOld(work, id, record);
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
    const saveOne = async (file: (typeof files)[number]): Promise<void> => {
      const { path, etag } = file;
      const version = await reviewListed(withoutLimit(work), file).catch((error: unknown) => {
        if (!hasCode(error, 'integrity')) throw error;
      });
      if (version?.etag !== etag) return;
      await this.saveReplaced(work, path, version);
      saved.push([path, version.contentId]);
    };
    await eachConcurrently(work.session, files, saveOne, ({ size }) => size);
    return saved;
  },
  async noteDeleted(work, at, files) {
    await noteEnds(work, files, (some) => ({
      path: some.length === 1 && some[0]?.[0] === at ? at : WHOLE_TREE,
      record: { kind: 'deleted', ...noted(work), files: some },
    }));
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

function writerOf({ call: { actor }, keyring }: Work): Uint8Array | undefined {
  return actor === undefined ? undefined : keyring.names.writerId(actor);
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
async function putRecord(work: Work, { path, id, record }: NewRecord): Promise<void> {
  const { clock, random } = work.session;
  const content = encodeHistoryRecord(record);
  const name = { path, id: id ?? random(ID_BYTES) };
  for (let bound = nextBound(clock()); ; bound = nextBound(clock(), bound)) {
    const put = { cls: 'history', id: historyRecordId(work, { ...name, bound }), content } as const;
    // What is there is another one of the same rename, by a clock that showed the same.
    if ((await writeKept(work, put)) === 'written') return;
  }
}

/** When something is written down, and on whose behalf. */
export function noted(work: Work): { readonly at: number; readonly by: Uint8Array } {
  return { at: Math.floor(work.session.clock()), by: writerOf(work) ?? NO_ID };
}

/** A record of an attempt that came to nothing longer ago is written again; milliseconds by the server's clock. */
const RENEWED_AFTER_MS = 3_600_000;
/** Between the look and the write another process may have done the same, or an expiry run deleted the record. */
const ROUNDS = 8;

/**
 * An earlier attempt to replace the version has saved it, and came to nothing: its time in the history begins only now. What
 * was redacted stays so. What cannot be opened is left to a verification.
 *
 * @throws MemoryError `unavailable` where other processes change the record at every attempt.
 */
async function renewOld(work: Work, id: string, content: Uint8Array): Promise<void> {
  const name = { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES } as const;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const found = await readRecord(work, name);
      if (found !== undefined && found.ageMs <= RENEWED_AFTER_MS) return;
      if (found !== undefined && decodeHistoryRecord(found.content)?.kind !== 'replaced') return;
      if ((await writeKept(work, { cls: 'history', id, content, base: found?.etag })) === 'written') return;
    }
  } catch (error) {
    if (isDamaged(error)) return;
    throw error;
  }
  throw new MemoryError(
    'unavailable',
    'Other processes wrote the version into the history at every attempt.',
  );
}

function withoutLimit(work: Work): Work {
  return { ...work, session: { ...work.session, maxFileBytes: MAX_CONTENT_BYTES } };
}
