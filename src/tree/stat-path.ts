import { objectRefused } from '../format/object.ts';
import { fileKey } from '../format/object-keys.ts';
import { contentLength } from '../format/sizes.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import type { ListedEntry } from './list-directory.ts';
import { anythingBelow } from './staying/clashes.ts';
import type { Work } from './tenant.ts';

/** The kind of a path, without content. Sizes and times are the store's word. */
export type PathStat = ListedEntry | 'directory';

/**
 * Tells what is at the path; undefined when it is empty. One HEAD, and one LIST where that finds no file.
 *
 * @throws MemoryError `integrity` for an object whose size no sealed file has.
 */
export async function statPath(work: Work, path: MemoryPath): Promise<PathStat | undefined> {
  if (path === MEMORY_ROOT) return 'directory';
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  const found = await work.tenant.store.head(key, { signal: work.call.signal });
  if (found !== undefined) {
    const size = contentLength(found.size);
    if (size === undefined) throw objectRefused();
    return { ...found, path, key, size };
  }
  return (await anythingBelow(work, path)) ? 'directory' : undefined;
}
