import { MemoryError } from '../errors.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { DeleteFailure } from '../objects/object-store.ts';
import type { OpenVault } from './context.ts';
import { type ListedEntry, listPath } from './list-directory.ts';
import { untilSettled } from './retry.ts';
import { notTakenBack } from './undo.ts';

/**
 * Deletes the file, or the directory with everything below it. A file goes only as the version that was seen, so an
 * edit that was acknowledged before is never passed over unseen; of a directory, what was there when the request ran
 * goes and what is created later stays.
 *
 * Requests: a LIST and a guarded delete; for a directory of n files ⌈n/1000⌉ of each.
 *
 * @throws MemoryError `not_found`; `outcome_unknown` when it, or some of it, may be gone.
 */
export async function removePath(vault: OpenVault, path: MemoryPath): Promise<void> {
  await untilSettled(vault, async () => {
    const found = await listPath(vault, path);
    if (found.kind === 'file') return removeFile(vault, found.file);
    if (found.listing.files.length === 0) {
      throw new MemoryError('not_found', 'there is neither a file nor a directory of that path');
    }
    await removeFiles(vault, found.listing.files);
    return undefined;
  });
}

async function removeFile(vault: OpenVault, file: ListedEntry): Promise<'again' | undefined> {
  const [failure] = await vault.store.delete([{ key: file.key, ifMatch: file.etag }], {
    signal: vault.signal,
  });
  if (failure === undefined) return undefined;
  if ('error' in failure) throw failure.error;
  if (failure.retried) {
    throw new MemoryError('outcome_unknown', 'no answer tells who removed the file');
  }
  // Changed, or gone by somebody else's hand: look again, so that the answer is true of what is there now.
  return 'again';
}

/** Batches of whatever lies at the keys now; the port sends each batch once and never again. */
async function removeFiles(vault: OpenVault, files: readonly ListedEntry[]): Promise<void> {
  const failures = await vault.store.delete(
    files.map(({ key }) => ({ key })),
    { signal: vault.signal },
  );
  const failed = failures.find(
    (failure): failure is DeleteFailure & { error: unknown } => 'error' in failure,
  );
  if (failed === undefined) return;
  throw failures.length === files.length ? failed.error : notTakenBack(failed.error);
}
