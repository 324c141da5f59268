import { hasCode, MemoryError } from '../../errors.ts';
import { fileKey } from '../../format/object-keys.ts';
import { isWithin, MEMORY_ROOT, type MemoryPath, rebase } from '../../language/path.ts';
import { listDirectory, listPath } from '../list-directory.ts';
import type { Work } from '../session.ts';
import { readSettled } from '../settled.ts';
import { type Rename, renameFile, targetExists } from './rename-file.ts';
import type { RenameRegister } from './rename-register.ts';

/**
 * Renames a file or a directory. A missing source is reported before anything that is wrong with the target, and
 * nothing is ever overwritten.
 *
 * @throws MemoryError `not_found`, `already_exists`, `invalid_command` (`reason`: `root`, `into_itself`), `invalid_path`
 * with the `role` of the path when a file could not have it, `version_conflict` when a file changed at both places and was kept at both.
 */
export async function renamePath(work: Work, renames: RenameRegister, rename: Rename): Promise<void> {
  refuseImpossible(work, rename.from, 'source');
  const source = await readSettled(work, rename.from);
  if (source !== undefined) {
    refuseTarget(rename, 'file');
    refuseImpossible(work, rename.to, 'target');
    await renameFile(work, rename, source);
    return;
  }
  const { files } = await listDirectory(work, rename.from);
  if (files.length === 0) {
    throw new MemoryError('not_found', 'there is neither a file nor a directory at the source');
  }
  refuseTarget(rename, 'directory');
  for (const { path } of files) refuseImpossible(work, rebase(path, rename.from, rename.to), 'target');
  const target = await listPath(work, rename.to);
  if (target.kind === 'file' || target.listing.files.length > 0) throw targetExists();
  // Loaded before the lease is taken, whose time runs.
  const { renameDirectory } = await import('./rename-directory.ts');
  await renameDirectory(await renames.begin(work, rename), files);
}

/** @throws MemoryError `invalid_path` when there is no object key for a file of that path. */
function refuseImpossible(
  { session: { layout }, keyring }: Work,
  path: MemoryPath,
  role: 'source' | 'target',
): void {
  if (path === MEMORY_ROOT) return;
  try {
    fileKey(layout, keyring.names, path);
  } catch (error) {
    if (!hasCode(error, 'invalid_path')) throw error;
    throw new MemoryError(error.code, error.message, { details: { ...error.details, role } });
  }
}

/** What is wrong with the target whatever the store holds. */
function refuseTarget(rename: Rename, source: 'file' | 'directory'): void {
  if (rename.to === rename.from) throw targetExists();
  if (rename.to === MEMORY_ROOT) {
    throw new MemoryError('invalid_command', 'the root is no target', { details: { reason: 'root' } });
  }
  if (!isWithin(rename.to, rename.from)) return;
  throw source === 'directory'
    ? new MemoryError('invalid_command', 'a directory cannot be renamed into itself', {
        details: { reason: 'into_itself' },
      })
    : new MemoryError('already_exists', 'the source file lies above the target', {
        details: { reason: 'below_file' },
      });
}
