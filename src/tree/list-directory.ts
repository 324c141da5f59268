import { directoryPrefix, fileKey, type ObjectKey } from '../format/object-keys.ts';
import { contentLength } from '../format/sizes.ts';
import { joinPath, MEMORY_ROOT, type MemoryPath, segmentsOf } from '../language/path.ts';
import type { ETag, ListedObject } from '../store/port.ts';
import { listObjects, pagesBelow } from './list-objects.ts';
import type { Work } from './tenant.ts';

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

export interface DirectoryListing {
  /** Every file below the directory at any depth, in the store's order. */
  readonly files: readonly ListedEntry[];
  /** Directories below it that exist even when they are empty. */
  readonly directories?: readonly MemoryPath[];
  /** The number of objects that are not this tenant's: passed over, counted. */
  readonly foreign: number;
  /** True where the listing stopped here because it reached the limit of files. */
  readonly truncated: boolean;
}

/**
 * Lists all files below `directory`; empty when it does not exist. One LIST per 1,000 objects, one after the other;
 * with `concurrent` those after the first run together, at the price of a few more.
 */
export async function listDirectory(
  work: Work,
  directory: MemoryPath,
  options: { readonly maxFiles?: number | undefined; readonly concurrent?: boolean } = {},
): Promise<DirectoryListing> {
  const { maxFiles = Number.POSITIVE_INFINITY, concurrent = false } = options;
  const prefix = directoryPrefix(work.tenant.layout, work.keyring.names, directory);
  const read = (object: ListedObject) => decodeEntry(work, { directory, prefix, object });
  const listing = { prefix, maxObjects: maxFiles, concurrent, read };
  const { objects, truncated } = await listObjects(work, listing);
  const files = objects.filter((entry) => entry !== undefined);
  const foreign = objects.length - files.length;
  warnOfForeign(work, foreign);
  return { files, foreign, truncated };
}

export function warnOfForeign({ tenant: { logger } }: Work, foreign: number): void {
  if (foreign > 0) logger.warn('objects that no writer of this tenant made were passed over', { foreign });
}

export type PathKind =
  | { readonly kind: 'file'; readonly file: ListedEntry }
  | { readonly kind: 'directory'; readonly listing: DirectoryListing };

/**
 * Tells whether `path` is a file or a directory, from one sequence of LISTs: the keys of a file and of everything below
 * a directory of its name start alike, and the file's comes first. A missing path is an empty directory.
 */
export async function listPath(work: Work, path: MemoryPath): Promise<PathKind> {
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  const prefix = directoryPrefix(work.tenant.layout, work.keyring.names, path);
  const files: ListedEntry[] = [];
  let foreign = 0;
  for await (const page of pagesBelow(work, { prefix: prefix.slice(0, -1) })) {
    for (const object of page.objects) {
      if (object.key === key) {
        // Damaged or whole, it is the file that a delete or a rename onto this path means.
        return { kind: 'file', file: { ...object, path, size: contentLength(object.size) ?? 0 } };
      }
      if (!object.key.startsWith(prefix)) continue;
      const entry = decodeEntry(work, { directory: path, prefix, object });
      if (entry === undefined) foreign++;
      else files.push(entry);
    }
  }
  return { kind: 'directory', listing: { files, foreign, truncated: false } };
}

/**
 * Finds the files among listed objects of the whole tree, and leaves out objects that no writer of this tenant made.
 */
export function filesIn(work: Work, objects: readonly ListedObject[]): readonly ListedEntry[] {
  const at = { directory: MEMORY_ROOT, prefix: work.tenant.layout.data };
  return objects.flatMap((object) => decodeEntry(work, { ...at, object }) ?? []);
}

/** Decodes a listed object into its file; undefined for an object that no writer of this tenant made. */
export function decodeEntry(
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
