import { isDamaged, MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { type ObjectClass, parseClassKey } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../format/sizes.ts';
import { hash } from '../format/sodium.ts';
import { ID_BYTES } from '../format/wrap.ts';
import type { MemoryPath } from '../language/path.ts';
import type { ListedObject } from '../store/port.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { pagesBelow } from '../tree/list-objects.ts';
import { readRecord } from '../tree/sealed-record.ts';
import type { Call, Work } from '../tree/session.ts';
import {
  decodeHistoryRecord,
  eventOf,
  type HistoryRecord,
  historyHash,
  type VersionFacts,
} from './history-record.ts';

/** A version that was saved. */
export interface SavedVersion extends VersionFacts {
  /** Of its record. */
  readonly id: string;
  /** Stands for its text; undefined where that was taken out. */
  readonly textHash: string | undefined;
  /** When it was saved, by the clock of the process that did; undefined where its text was taken out. */
  readonly savedAt: number | undefined;
  /** Undefined: its text was taken out, by whom and when. */
  readonly redacted: { readonly at: number; readonly by: Uint8Array } | undefined;
}

/** That files were deleted or renamed. */
export type FileEvent = Extract<HistoryRecord, { kind: 'deleted' | 'moved' }> & {
  /** The same for all records of one rename. */
  readonly id: string;
};

/** What the records of some paths say; the texts are not kept in memory. */
export interface ReadRecords {
  readonly versions: readonly SavedVersion[];
  readonly events: readonly FileEvent[];
  /** Ids of records that are not what was sealed under their names. */
  readonly damaged: readonly string[];
}

/**
 * The records of the given path, or all of them: a LIST for each 1,000 and a GET for each.
 *
 * @throws MemoryError `unsupported_format`; what the store throws.
 */
export async function readRecords(
  work: Work,
  path?: MemoryPath,
  onProgress?: Call['onProgress'],
): Promise<ReadRecords> {
  const versions: SavedVersion[] = [];
  const events: FileEvent[] = [];
  const damaged: string[] = [];
  const listed = await listIds(work, 'history', path === undefined ? '' : `${historyHash(work, path)}_`);
  let done = 0;
  const readOne = async ({ id }: ListedId): Promise<void> => {
    const record = await readHistoryRecord(work, id).catch((error: unknown) => {
      if (!isDamaged(error)) throw error;
      damaged.push(id);
    });
    if (record?.kind === 'deleted' || record?.kind === 'moved') events.push({ ...record, id: eventOf(id) });
    else if (record?.kind !== undefined) versions.push(savedVersion(id, record));
    onProgress?.({ done: ++done, total: listed.length });
  };
  await eachConcurrently(work.session, listed, readOne, ({ object }) => object.size);
  return { versions, events, damaged };
}

function savedVersion(
  id: string,
  record: Extract<HistoryRecord, { kind: 'replaced' | 'redacted' }>,
): SavedVersion {
  const { version, kind, at, by } = record;
  if (kind === 'redacted')
    return { ...version, id, textHash: undefined, savedAt: undefined, redacted: { at, by } };
  return { ...version, id, textHash: textHashOf(record.text), savedAt: at, redacted: undefined };
}

const NO_KEY = new Uint8Array(ID_BYTES);

/** Stands for a text within this process, so that texts need not be kept to be compared. */
export function textHashOf(text: Uint8Array): string {
  return toBase64url(hash(32, NO_KEY, text));
}

/** Undefined: it has expired. @throws MemoryError `integrity`, `unsupported_format`. */
export async function readHistoryRecord(work: Work, id: string): Promise<HistoryRecord | undefined> {
  const stored = await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES });
  if (stored === undefined) return undefined;
  const record = decodeHistoryRecord(stored.content);
  if (record !== undefined) return record;
  throw unknownRecord();
}

export function unknownRecord(): MemoryError {
  return new MemoryError('unsupported_format', 'A record of the history is of a later version.');
}

export interface ListedId {
  readonly id: string;
  readonly object: ListedObject;
}

/** The records of a class whose ids begin so. One LIST for each 1,000. */
export async function listIds(work: Work, cls: ObjectClass, beginning: string): Promise<readonly ListedId[]> {
  const { layout } = work.session;
  const ids: ListedId[] = [];
  for await (const page of pagesBelow(work, { prefix: `${layout.tenantPrefix}${cls}/${beginning}` })) {
    for (const object of page.objects) {
      const parsed = parseClassKey(layout, object.key);
      if (parsed?.cls === cls) ids.push({ id: parsed.id, object });
    }
  }
  return ids;
}
