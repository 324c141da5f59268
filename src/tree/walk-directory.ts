import { directoryPrefix, fileKey } from '../format/object-keys.ts';
import { joinPath, type MemoryPath, segmentsOf } from '../language/path.ts';
import { KEYS_PER_REQUEST, type ListedObject } from '../store/port.ts';
import { decodeEntry, type ListedEntry, warnOfForeign } from './list-directory.ts';
import { pagesBelow } from './list-objects.ts';
import type { Work } from './tenant.ts';

/** A file, or the name of a directory that holds files. */
export type WalkedEntry = ListedEntry | { readonly directory: MemoryPath };

/** The character after the slash that ends a directory's name in an object key. */
const BEHIND_SLASH = '0';

/**
 * Lists the entries of `directory`, page by page and in the store's order: with `recursive` every file below it,
 * otherwise its own files, and each of its directories once. One LIST per 1,000 objects; without `recursive`, one LIST
 * passes over a large directory. With `recursive` the walk may begin after a file, even after one that has gone since.
 */
export async function* walkDirectory(
  work: Work,
  directory: MemoryPath,
  { recursive, after }: { readonly recursive: boolean; readonly after?: MemoryPath | undefined },
): AsyncGenerator<readonly WalkedEntry[], void, undefined> {
  const { layout } = work.tenant;
  const { names } = work.keyring;
  const prefix = directoryPrefix(layout, names, directory);
  let startAfter: string | undefined = after && fileKey(layout, names, after);
  let last: MemoryPath | undefined;
  let foreign = 0;
  do {
    let next: string | undefined;
    for await (const { objects } of pagesBelow(work, { prefix, startAfter })) {
      const found: WalkedEntry[] = [];
      for (const object of objects) {
        const entry = decodeEntry(work, { directory, prefix, object });
        if (entry === undefined) foreign += 1;
        const inner = entry && !recursive ? directoryOf(entry.path, directory) : undefined;
        if (entry !== undefined && inner === undefined) found.push(entry);
        if (inner !== undefined && inner !== last) found.push({ directory: inner });
        last = inner ?? last;
      }
      yield found;
      next = recursive ? undefined : endOfDirectory(objects, prefix);
      if (next !== undefined) break;
    }
    startAfter = next;
  } while (startAfter !== undefined);
  warnOfForeign(work, foreign);
}

/** Answers the directory within `directory` that the path lies in; undefined when it lies in `directory` itself. */
function directoryOf(path: MemoryPath, directory: MemoryPath): MemoryPath | undefined {
  const [name, below] = segmentsOf(path).slice(segmentsOf(directory).length);
  return name === undefined || below === undefined ? undefined : joinPath(directory, name);
}

/**
 * Answers a key after everything in the directory within which a full page ends; undefined where it ends in none. No
 * file has that key.
 */
function endOfDirectory(objects: readonly ListedObject[], prefix: string): string | undefined {
  const rest = objects.at(-1)?.key.slice(prefix.length) ?? '';
  const slash = rest.indexOf('/');
  if (objects.length < KEYS_PER_REQUEST || slash === -1) return undefined;
  return `${prefix}${rest.slice(0, slash)}${BEHIND_SLASH}`;
}
