import { unlessDamaged } from '../errors.ts';
import { inNfc, type MemoryPath, parseMemoryPath } from '../language/path.ts';
import type { CallOptions } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';

/**
 * Runs `verb` with the paths that a caller means. This library makes names in NFC. A name in another form is one that
 * another writer gave, and is meant where something lies under it: callers can therefore ask for every path that a
 * listing shows. Paths in NFC take no request, and no turn of the event loop; any other path takes a HEAD, and a LIST
 * where that finds no file.
 *
 * @throws MemoryError `invalid_path` where the path leads to no object and cannot become a valid name; the errors of
 * the store.
 */
export async function withMeant<T>(
  tree: Pick<Tree, 'stat'>,
  given: readonly MemoryPath[],
  { signal }: CallOptions,
  verb: (...paths: [MemoryPath, MemoryPath]) => Promise<T>,
): Promise<T> {
  const isPlain = given.every((path) => inNfc(path) === path);
  const meant = isPlain ? given : await Promise.all(given.map((path) => meantPath(tree, path, { signal })));
  return verb(...(meant as [MemoryPath, MemoryPath]));
}

/** Finds the path that a caller means, as `withMeant` does for one path. */
export async function meantPath(
  tree: Pick<Tree, 'stat'>,
  given: MemoryPath,
  { signal }: CallOptions,
): Promise<MemoryPath> {
  if (inNfc(given) === given) return given;
  const found = await unlessDamaged(tree.stat(given, { signal }), () => 'damaged');
  return found === undefined ? parseMemoryPath(given) : given;
}
