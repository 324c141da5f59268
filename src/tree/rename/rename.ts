import { MemoryError } from '../../errors.ts';
import { isWithin, MEMORY_ROOT } from '../../language/path.ts';
import { listDirectory, listPath } from '../list-directory.ts';
import { readStaying } from '../staying/staying.ts';
import type { Work } from '../tenant.ts';
import type { RenameRegister } from './finish-renames.ts';
import { refuseDeepSource, refuseNewPath, refuseWithoutKey } from './new-path.ts';
import { anotherVersion, type FileRename, renameFile, targetExists } from './rename-file.ts';

/**
 * Renames a file or a directory. A missing source is reported before anything that is wrong with the target, and
 * nothing is ever overwritten.
 *
 * @param wasThere true where the file lay at the target before: the limit of segments is then not checked.
 * @throws MemoryError `not_found`, `already_exists`, `invalid_command` (`reason`: `root`, `into_itself`),
 * `invalid_path` with the `role` of the path when a file could not have it, and in `paths` that of a file in the
 * directory, before anything is copied; `version_conflict` when a file changed at both places and was kept at both, or
 * another version than that of the rename is at the source.
 */
export async function renamePath(
  work: Work,
  renames: RenameRegister,
  rename: FileRename,
  { wasThere = false }: { readonly wasThere?: boolean | undefined } = {},
): Promise<void> {
  refuseWithoutKey(work, rename.from);
  const source = await readStaying(work, rename.from);
  if (rename.version !== undefined && source?.stored.etag !== rename.version) throw anotherVersion();
  if (source !== undefined) {
    refuseTarget(rename, 'file');
    if (!wasThere) refuseNewPath(work, rename, rename.from);
    await renameFile(work, rename, source);
    return;
  }
  const { files } = await listDirectory(work, rename.from);
  if (files.length === 0) {
    refuseDeepSource(rename.from);
    throw new MemoryError('not_found', 'there is neither a file nor a directory at the source');
  }
  refuseTarget(rename, 'directory');
  for (const { path } of files) refuseNewPath(work, rename, path);
  const target = await listPath(work, rename.to);
  if (target.kind === 'file' || target.listing.files.length > 0) throw targetExists();
  // This module is loaded before the lease is taken, because its time runs.
  const { renameDirectory } = await import('./rename-directory.ts');
  await renameDirectory(await renames.begin(work, rename), files);
}

/** Refuses a target that is wrong whatever the store holds. */
function refuseTarget(rename: FileRename, source: 'file' | 'directory'): void {
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
