import { unlessDamaged } from '../errors.ts';
import { inNfc, type MemoryPath, parseMemoryPath } from '../language/path.ts';
import type { Call } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';

/**
 * Runs `verb` with the paths that a caller means. This library makes names in NFC. A name in another form is one that
 * another writer gave, and is meant where something lies under it: so whatever a listing shows can be asked for. No request,
 * and no turn of the event loop, for paths in NFC; a HEAD for any other, and a LIST where that finds nothing.
 *
 * @throws MemoryError `invalid_path` where nothing lies there and no name can be made of it; what the store fails with.
 */
export async function withMeant<T>(
  tree: Pick<Tree, 'stat'>,
  given: readonly MemoryPath[],
  { signal }: Call,
  verb: (...paths: [MemoryPath, MemoryPath]) => Promise<T>,
): Promise<T> {
  const isPlain = given.every((path) => inNfc(path) === path);
  const meant = isPlain ? given : await Promise.all(given.map((path) => meantPath(tree, path, { signal })));
  return verb(...(meant as [MemoryPath, MemoryPath]));
}

/** The same of one path. */
export async function meantPath(
  tree: Pick<Tree, 'stat'>,
  given: MemoryPath,
  { signal }: Call,
): Promise<MemoryPath> {
  if (inNfc(given) === given) return given;
  const found = await unlessDamaged(tree.stat(given, { signal }), () => 'damaged');
  return found === undefined ? parseMemoryPath(given) : given;
}
