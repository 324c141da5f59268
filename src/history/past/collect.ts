import { toBase64url } from '../../format/encoding.ts';
import type { OpenedObject } from '../../format/object.ts';
import { equalBytes, hash } from '../../format/sodium.ts';
import { ID_BYTES, NO_ID } from '../../format/wrap.ts';
import type { MemoryPath } from '../../language/path.ts';
import {
  decodeHistoryRecord,
  type HistoryRecord,
  idOf,
  versionOfRecord,
  type WrapFacts,
} from '../save/history-record.ts';
import { leavesIn, type ToldLeave } from './leaves.ts';
import { type FileSighting, itemByItem, modelOf } from './model.ts';
import type { Past, VersionFacts } from './past.ts';

/** A collector of files and records, in whatever order they are read. It keeps no text in memory. */
export interface Collector {
  /** Takes a caller's reading of a file. A file may be given again: the last reading counts. */
  addFile(path: MemoryPath, file: OpenedObject): void;
  /** Notes that a file cannot be opened. */
  addDamagedFile(path: MemoryPath): void;
  /** Forgets a file that another process has deleted or renamed meanwhile. */
  removeFile(path: MemoryPath): void;
  /** Takes the content of a record of the class `history`. False: the content is malformed and counts as damaged. */
  addRecord(id: string, content: Uint8Array): boolean;
  /** Notes that a record cannot be opened. */
  addDamagedRecord(id: string): void;
  /** Takes a binding from another source than files and records, such as the entry of a checkpoint. */
  addSeen(seen: VersionFacts & { readonly path: MemoryPath; readonly bound: bigint }): void;
  /** Answers the leaves in the records that were added until now. */
  leaves(): Iterable<Pick<ToldLeave, 'from' | 'to'>>;
  /**
   * Makes the model of everything that was added, once until more is added. Everything else in the process has its turn
   * meanwhile.
   */
  past(): Promise<Past>;
}

export function createCollector(): Collector {
  const files = new Map<MemoryPath, FileSighting>();
  const damagedFiles = new Set<MemoryPath>();
  const records = new Map<string, FileSighting>();
  const damagedRecords = new Set<string>();
  const seen: FileSighting[] = [];
  const leaves = new Map<string, readonly ToldLeave[]>();
  let made: Promise<Past> | undefined;
  return {
    addFile(path, { content, origin, ...wrap }) {
      made = undefined;
      damagedFiles.delete(path);
      files.set(path, {
        ...factsOf({ ...wrap, path, size: content.length }),
        saved: undefined,
        textHash: textHashOf(content),
        file: { isRenamed: !equalBytes(origin, NO_ID) },
      });
    },
    addDamagedFile(path) {
      made = undefined;
      files.delete(path);
      damagedFiles.add(path);
    },
    removeFile(path) {
      made = undefined;
      files.delete(path);
      damagedFiles.delete(path);
    },
    addRecord(id, content) {
      made = undefined;
      const record = decodeHistoryRecord(content);
      if (record === undefined) damagedRecords.add(id);
      else if (record.kind === 'deleted' || record.kind === 'moved')
        leaves.set(id, leavesIn(record, versionOfRecord(id)));
      else records.set(id, savedIn(id, record));
      return record !== undefined;
    },
    addDamagedRecord(id) {
      made = undefined;
      damagedRecords.add(id);
    },
    addSeen({ id, path, bound, mtime, size, previous, writer }) {
      made = undefined;
      const facts = { id, path, bound, mtime, size, previous, writer };
      seen.push({ ...facts, saved: undefined, textHash: undefined });
    },
    leaves: () => [...leaves.values()].flat(),
    past() {
      made ??= itemByItem(
        modelOf({
          sightings: [...files.values(), ...records.values(), ...seen],
          leaves: [...leaves.values()].flat(),
          damaged: { records: [...damagedRecords], files: [...damagedFiles] },
        }),
      );
      return made;
    },
  };
}

function savedIn(
  id: string,
  record: Extract<HistoryRecord, { readonly kind: 'replaced' | 'redacted' }>,
): FileSighting {
  const { version, at, by } = record;
  const facts = factsOf(version);
  if (record.kind === 'replaced')
    return { ...facts, textHash: textHashOf(record.text), saved: { record: id, at, for: record.for } };
  const saved = { record: id, at: undefined, for: undefined };
  return { ...facts, textHash: undefined, redacted: { at, by: idOf(by) }, saved };
}

function factsOf({ path, id, mtime, bound, previous, writer, size }: WrapFacts) {
  return { path, bound, mtime, size, id: toBase64url(id), previous: idOf(previous), writer: idOf(writer) };
}

const NO_KEY = new Uint8Array(ID_BYTES);

/** Hashes a text for comparisons within this process, so that no text must stay in memory. */
function textHashOf(text: Uint8Array): string {
  return toBase64url(hash(32, NO_KEY, text));
}
