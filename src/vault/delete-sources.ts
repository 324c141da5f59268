import type { DeleteFailure } from '../objects/object-store.ts';
import type { OpenVault } from './context.ts';
import { type CopiedFile, copyAgain, type DirectoryRename } from './copy-files.ts';
import { deleteObjects } from './delete-objects.ts';
import { bothKept, isBothKept } from './move-file.ts';
import { undoPut } from './undo.ts';

/** How often a source that keeps changing is copied again before it is kept at both places. */
const COPY_ROUNDS = 8;

export interface SourceDeletion {
  readonly copied: readonly CopiedFile[];
  /**
   * Another process may have sent deletes of the same versions before it lost the lease, and they may arrive late: a
   * source that is gone then tells nothing about its copy, which is kept.
   */
  readonly takenOver: boolean;
}

/**
 * Deletes the sources as they were copied; those that changed are copied again first. What goes wrong with one file
 * is thrown only after all the others have been brought to their end.
 *
 * @throws MemoryError `version_conflict` when a file was kept at both places, and whatever the store throws.
 */
export async function deleteSources(
  vault: OpenVault,
  rename: DirectoryRename,
  { copied, takenOver }: SourceDeletion,
): Promise<void> {
  const problems: unknown[] = [];
  let remaining = copied;
  for (let round = 0; remaining.length > 0 && round < COPY_ROUNDS; round++) {
    const failures = await deleteObjects(
      vault,
      remaining.map(({ source }) => ({ key: source.key, ifMatch: source.etag })),
      { signal: vault.signal },
    );
    const byKey = new Map(failures.map((failure) => [failure.key, failure]));
    const again: CopiedFile[] = [];
    for (const file of remaining) {
      const failure = byKey.get(file.source.key);
      if (failure === undefined) continue;
      // Only versions that were copied before the takeover can be known to the other process.
      if (takenOver && round === 0 && isMissing(failure)) continue;
      const newer = await settle(vault, rename, { file, failure }).catch((error: unknown) => {
        problems.push(error);
        return undefined;
      });
      if (newer !== undefined) again.push(newer);
    }
    remaining = again;
  }
  if (remaining.length > 0) problems.push(bothKept());
  if (problems.length > 0) throw problems.find((problem) => !isBothKept(problem)) ?? problems[0];
}

function isMissing(failure: DeleteFailure): boolean {
  return 'conflict' in failure && failure.conflict === 'missing';
}

/** What to do about a source that was not deleted: copy it again, or give the copy up because the source is gone. */
async function settle(
  vault: OpenVault,
  rename: DirectoryRename,
  failed: { readonly file: CopiedFile; readonly failure: DeleteFailure },
): Promise<CopiedFile | undefined> {
  const { file, failure } = failed;
  if ('error' in failure) throw failure.error;
  if (failure.conflict === 'missing') {
    // A definite absence while the lease is ours: a user deleted the file. After a second attempt it may have been
    // our own delete, and the copy stays.
    if (!failure.retried) await undoPut(vault, file.target);
    return undefined;
  }
  const newer = await copyAgain(vault, rename, file);
  if (newer === 'taken') throw bothKept();
  if (newer === undefined) await undoPut(vault, file.target);
  return newer;
}
