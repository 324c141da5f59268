import type { FileEntry as ListedEntry, ListOptions, WalkEntry, WalkOptions } from '@mastra/core/workspace';
import type { FileEntry } from '../tool/files.ts';

/** Lists the entries below a directory, each directory before its entries; paths begin below the directory. */
export async function entriesBelow(
  entries: AsyncIterable<FileEntry>,
  directory: string,
): Promise<WalkEntry[]> {
  const found = new Map<string, WalkEntry>();
  for await (const entry of entries) {
    // Segments are counted, because the directory may have been given in another form of its name.
    const names = entry.path.split('/').slice(directory.split('/').length);
    const ends = names.map((name, i) => ({ name, path: names.slice(0, i + 1).join('/') }));
    const itself = entry.type === 'file' ? ends.pop() : undefined;
    for (const end of ends) if (!found.has(end.path)) found.set(end.path, { ...end, type: 'directory' });
    if (itself && entry.type === 'file')
      found.set(itself.path, { ...itself, type: 'file', size: entry.size });
  }
  return [...found.values()];
}

/** Makes the entries of `readdir`: the name is the path, an extension chooses among files, depths count from 0. */
export function listed(
  entries: readonly WalkEntry[],
  { extension, maxDepth = Number.POSITIVE_INFINITY }: ListOptions,
): ListedEntry[] {
  const endings =
    extension === undefined ? [''] : [extension].flat().map((each) => each.replace(/^\.?/, '.'));
  return entries
    .filter((entry) => depthOf(entry) <= maxDepth + 1)
    .filter(({ name, type }) => type === 'directory' || endings.some((ending) => name.endsWith(ending)))
    .map(({ path, ...entry }) => ({ ...entry, name: path }));
}

/** Makes the entries of `walk`: depths count from 1, and a hidden directory hides everything below it. */
export function walked(
  entries: readonly WalkEntry[],
  { maxDepth = Number.POSITIVE_INFINITY, includeHidden = false }: WalkOptions,
): WalkEntry[] {
  return entries
    .filter((entry) => depthOf(entry) <= maxDepth)
    .filter(({ path }) => includeHidden || !/(?:^|\/)\./.test(path));
}

function depthOf({ path }: WalkEntry): number {
  return path.split('/').length;
}
