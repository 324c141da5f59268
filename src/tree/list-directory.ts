import {
  classLogicalName,
  directoryPrefix,
  fileKey,
  isScratchKey,
  type LogicalName,
  logicalName,
  type ObjectClass,
  type ObjectKey,
  parseClassKey,
  parseFileKey,
} from '../format/object-keys.ts';
import { contentLength, TOMBSTONE_BYTES } from '../format/sizes.ts';
import { joinPath, MEMORY_ROOT, type MemoryPath, segmentsOf } from '../language/path.ts';
import type { ETag, ListedObject } from '../store/port.ts';
import { letOthersRun } from '../time.ts';
import { listObjects, pagesBelow } from './list-objects.ts';
import type { Work } from './session.ts';

/** A file as a listing shows it. Names are decoded, sizes computed; neither is authenticated. */
export interface ListedEntry {
  readonly path: MemoryPath;
  /** Bytes of plaintext. */
  readonly size: number;
  readonly key: ObjectKey;
  readonly etag: ETag;
  /** The server's clock, milliseconds since the epoch. */
  readonly lastModified: number;
}

/** Decoding them takes milliseconds. */
const NAMES_BETWEEN_TURNS = 1_000;

export interface DirectoryListing {
  /** Every file below the directory at any depth, in the store's order. */
  readonly files: readonly ListedEntry[];
  /** Objects that no writer of this tenant made: passed over, counted. */
  readonly foreign: number;
  /** The listing stopped here because it reached the limit of files. */
  readonly truncated: boolean;
}

/**
 * All files below `directory`; empty when it does not exist. One LIST per 1,000 objects, one after the other; with
 * `concurrent` those after the first run together, at the price of a few more.
 */
export async function listDirectory(
  work: Work,
  directory: MemoryPath,
  options: { readonly maxFiles?: number | undefined; readonly concurrent?: boolean } = {},
): Promise<DirectoryListing> {
  const { maxFiles = Number.POSITIVE_INFINITY, concurrent = false } = options;
  const prefix = directoryPrefix(work.session.layout, work.keyring.names, directory);
  const { objects, truncated } = await listObjects(work, { prefix, maxObjects: maxFiles, concurrent });
  const files: ListedEntry[] = [];
  for (let start = 0; start < objects.length; start += NAMES_BETWEEN_TURNS) {
    if (start > 0) await letOthersRun();
    for (const object of objects.slice(start, start + NAMES_BETWEEN_TURNS)) {
      const entry = decodeEntry(work, { directory, prefix, object });
      if (entry !== undefined) files.push(entry);
    }
  }
  const foreign = objects.length - files.length;
  if (foreign > 0)
    work.session.logger.warn('objects that no writer of this tenant made were passed over', { foreign });
  return { files, foreign, truncated };
}

type PathKind =
  | { readonly kind: 'file'; readonly file: ListedEntry }
  | { readonly kind: 'directory'; readonly listing: DirectoryListing };

/**
 * What `path` is, from one sequence of LISTs: the keys of a file and of what lies below a directory of its name start
 * alike, and the file's comes first. A missing path is an empty directory.
 */
export async function listPath(work: Work, path: MemoryPath): Promise<PathKind> {
  const key = fileKey(work.session.layout, work.keyring.names, path);
  const prefix = directoryPrefix(work.session.layout, work.keyring.names, path);
  const files: ListedEntry[] = [];
  let foreign = 0;
  for await (const page of pagesBelow(work, { prefix: prefix.slice(0, -1) })) {
    for (const object of page.objects) {
      if (object.key === key) return { kind: 'file', file: fileEntry(path, object) };
      if (!object.key.startsWith(prefix)) continue;
      const entry = decodeEntry(work, { directory: path, prefix, object });
      if (entry === undefined) foreign++;
      else files.push(entry);
    }
  }
  return { kind: 'directory', listing: { files, foreign, truncated: false } };
}

function fileEntry(path: MemoryPath, object: ListedObject): ListedEntry {
  return { ...object, path, size: contentLength(object.size) ?? 0 };
}

function decodeEntry(
  work: Work,
  listed: { readonly directory: MemoryPath; readonly prefix: string; readonly object: ListedObject },
): ListedEntry | undefined {
  const { directory, prefix, object } = listed;
  const size = contentLength(object.size);
  const base = segmentsOf(directory);
  const below = work.keyring.names.decodeFile(base, object.key.slice(prefix.length));
  if (size === undefined || below === undefined) return undefined;
  return { ...object, path: joinPath(MEMORY_ROOT, ...base, ...below), size };
}

/** An object that a writer of this tenant may have sealed, by the look of its name; nothing is authenticated. */
export type ListedRecord = { readonly name: LogicalName; readonly object: ListedObject } & (
  | { readonly cls: 'data'; readonly path: MemoryPath }
  | { readonly cls: ObjectClass }
);

export interface RecordListing {
  /** In the store's order. */
  readonly records: readonly ListedRecord[];
  /** Objects among the files whose names no writer of this tenant made. */
  readonly foreign: number;
  /** Objects beside the files that belong to no class, and tombstones that no process will remove any more. */
  readonly orphans: number;
}

/** The process that placed a tombstone is gone when it is older, in milliseconds by the server's clock. */
const STALE_TOMBSTONE_MS = 3_600_000;

/**
 * Every object below the tenant's prefix, of whatever size: what was cut short is still a file of the tenant. Scratch
 * objects and tombstones of deletes that may be under way are passed over. One LIST for each 1,000 objects.
 */
export async function listRecords(work: Work): Promise<RecordListing> {
  const records: ListedRecord[] = [];
  let [foreign, orphans] = [0, 0];
  for await (const { objects, servedAt } of pagesBelow(work, { prefix: work.session.layout.tenantPrefix })) {
    for (const object of objects) {
      const kind = classify(work, object, servedAt);
      if (kind === 'foreign') foreign++;
      else if (kind === 'orphan') orphans++;
      else if (kind !== undefined) records.push(kind);
    }
  }
  return { records, foreign, orphans };
}

/** Undefined: nothing that is meant to last. */
function classify(
  { session: { layout }, keyring }: Work,
  object: ListedObject,
  servedAt: number,
): ListedRecord | 'foreign' | 'orphan' | undefined {
  const { key, size, lastModified } = object;
  if (isScratchKey(layout, key)) return undefined;
  // Seen only where deletes have been declared atomic since: elsewhere the store hides them.
  if (size === TOMBSTONE_BYTES) return servedAt - lastModified > STALE_TOMBSTONE_MS ? 'orphan' : undefined;
  if (key.startsWith(layout.data)) {
    const path = parseFileKey(layout, keyring.names, key);
    if (path === undefined) return 'foreign';
    return { cls: 'data', path, name: logicalName(path), object };
  }
  const parsed = parseClassKey(layout, key);
  if (parsed === undefined) return 'orphan';
  return { cls: parsed.cls, name: classLogicalName(parsed.cls, parsed.id), object };
}
