import { fileKey } from '../format/object-keys.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { anythingBelow } from './clashes.ts';
import { fileEntry, type ListedEntry } from './list-directory.ts';
import type { Work } from './session.ts';

/** What a path is, without its content. Sizes and times are the store's word. */
export type PathStat = ListedEntry | 'directory';

/** Undefined when nothing is there. A HEAD, and a LIST where that finds no file. */
export async function statPath(work: Work, path: MemoryPath): Promise<PathStat | undefined> {
  if (path === MEMORY_ROOT) return 'directory';
  const key = fileKey(work.session.layout, work.keyring.names, path);
  const found = await work.session.store.head(key, { signal: work.call.signal });
  if (found !== undefined) return fileEntry(path, { ...found, key });
  return (await anythingBelow(work, path)) ? 'directory' : undefined;
}
