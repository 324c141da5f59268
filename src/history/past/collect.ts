import { toBase64url } from '../../format/encoding.ts';
import type { OpenedObject } from '../../format/object.ts';
import { equalBytes, hash } from '../../format/sodium.ts';
import { ID_BYTES, NO_ID } from '../../format/wrap.ts';
import type { MemoryPath } from '../../language/path.ts';
import { decodeHistoryRecord, idOf, versionOfRecord } from '../history-record.ts';
import { leavesIn, type ToldLeave } from './leaves.ts';
import { itemByItem, modelOf, type Sighting } from './model.ts';
import type { Past, VersionFacts } from './past.ts';

/** Gathers what files and records say, in whatever order they are read. No text stays in memory. */
export interface Collector {
  /** Takes what a file was read to be. The same file may be given again: what was read last counts. */
  addFile(path: MemoryPath, file: OpenedObject): void;
  /** Notes that a file cannot be opened. */
  addDamagedFile(path: MemoryPath): void;
  /** Forgets a file that is gone meanwhile. */
  removeFile(path: MemoryPath): void;
  /** Takes the content of a record of the class `history`. False: no rule allows it, and it counts as damaged. */
  addRecord(id: string, content: Uint8Array): boolean;
  /** Notes that a record cannot be opened. */
  addDamagedRecord(id: string): void;
  /** Takes a binding that something else tells of, such as the entry of a checkpoint. */
  addSeen(seen: VersionFacts & { readonly path: MemoryPath; readonly bound: bigint }): void;
  /** What was taken of leaves until now. */
  leaves(): Iterable<Pick<ToldLeave, 'from' | 'to'>>;
  /** The model of all that was taken until now, made once as long as nothing is added; others have their turn meanwhile. */
  past(): Promise<Past>;
}

export function createCollector(): Collector {
  const files = new Map<MemoryPath, Sighting>();
  const damagedFiles = new Set<MemoryPath>();
  const records = new Map<string, Sighting>();
  const damagedRecords = new Set<string>();
  const seen: Sighting[] = [];
  const leaves = new Map<string, readonly ToldLeave[]>();
  let made: Promise<Past> | undefined;
  return {
    addFile(path, { id, mtime, bound, previous, writer, content, origin }) {
      made = undefined;
      damagedFiles.delete(path);
      files.set(path, {
        ...{ id: toBase64url(id), path, bound, mtime, size: content.length, saved: undefined },
        ...{ previous: idOf(previous), writer: idOf(writer), textHash: textHashOf(content) },
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
      seen.push({
        ...{ id, path, bound, mtime, size, previous, writer },
        ...{ saved: undefined, textHash: undefined },
      });
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

type SavedRecord = Extract<
  NonNullable<ReturnType<typeof decodeHistoryRecord>>,
  { readonly kind: 'replaced' | 'redacted' }
>;

function savedIn(id: string, record: SavedRecord): Sighting {
  const { version, at, by } = record;
  const { id: own, path, bound, mtime, size } = version;
  const facts = {
    ...{ id: toBase64url(own), path, bound, mtime, size },
    ...{ previous: idOf(version.previous), writer: idOf(version.writer) },
  };
  return record.kind === 'replaced'
    ? { ...facts, textHash: textHashOf(record.text), saved: { record: id, at, for: record.for } }
    : {
        ...{ ...facts, textHash: undefined, redacted: { at, by: idOf(by) } },
        saved: { record: id, at: undefined, for: undefined },
      };
}

const NO_KEY = new Uint8Array(ID_BYTES);

/** Stands for a text within this process, so that texts need not be kept to be compared. */
export function textHashOf(text: Uint8Array): string {
  return toBase64url(hash(32, NO_KEY, text));
}
