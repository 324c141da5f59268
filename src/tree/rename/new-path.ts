import { hasCode, MemoryError } from '../../errors.ts';
import { fileKey } from '../../format/object-keys.ts';
import { MEMORY_ROOT, type MemoryPath, rebase, refuseTooDeep } from '../../language/path.ts';
import type { Work } from '../tenant.ts';
import type { FileRename } from './rename-file.ts';

/**
 * Refuses a source that has no object key.
 *
 * @throws MemoryError `invalid_path` with the role `source` when there is no object key for a file of that path.
 */
export function refuseWithoutKey({ tenant: { layout }, keyring }: Work, from: MemoryPath): void {
  if (from !== MEMORY_ROOT) naming({ role: 'source' }, () => fileKey(layout, keyring.names, from));
}

/**
 * Refuses a source that is missing and has more segments than a new file may have.
 *
 * @throws MemoryError `invalid_path` with the role `source`.
 */
export function refuseDeepSource(from: MemoryPath): void {
  naming({ role: 'source' }, () => refuseTooDeep(from));
}

/**
 * Judges the path that a rename gives the file at `from`, which is the source or lies below it.
 *
 * @throws MemoryError `invalid_path` with the role `target`, and the path in `paths` where the rename does not name it.
 */
export function refuseNewPath(work: Work, rename: FileRename, from: MemoryPath): void {
  refuseNewKey(work, rename, from);
  naming(toldOf(rename, from), () => refuseTooDeep(rebase(from, rename.from, rename.to), from));
}

/**
 * Judges the new path as `refuseNewPath` does, without the limit of segments: a copy that is there already keeps within
 * the key alone.
 */
export function refuseNewKey(
  { tenant: { layout }, keyring }: Work,
  rename: FileRename,
  from: MemoryPath,
): void {
  naming(toldOf(rename, from), () => fileKey(layout, keyring.names, rebase(from, rename.from, rename.to)));
}

function toldOf(rename: FileRename, from: MemoryPath): MemoryError['details'] {
  const role = 'target';
  return from === rename.from ? { role } : { role, paths: [rebase(from, rename.from, rename.to)] };
}

function naming(told: MemoryError['details'], judge: () => void): void {
  try {
    judge();
  } catch (error) {
    if (!hasCode(error, 'invalid_path')) throw error;
    throw new MemoryError(error.code, error.message, { details: { ...error.details, ...told } });
  }
}
