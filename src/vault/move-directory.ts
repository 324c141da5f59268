import { MemoryError } from '../errors.ts';
import { ancestorsOf, type MemoryPath } from '../memory/path.ts';
import type { DeleteFailure } from '../objects/object-store.ts';
import { anyFileStays, clashError } from './clashes.ts';
import type { OpenVault } from './context.ts';
import { type CopiedFile, copyAgain, copyFiles, type DirectoryRename, takeBack } from './copy-files.ts';
import { type ListedEntry, listDirectory } from './list-directory.ts';
import { bothKept, type Move, targetExists } from './move-file.ts';
import { undoPut } from './undo.ts';

/** How often the source is listed again for files that were created while it moved. */
const LATE_ROUNDS = 3;
/** How often a source that keeps changing is copied again before it is kept at both places. */
const COPY_ROUNDS = 8;

/**
 * Moves every file below `move.from`: copies first, then a look for clashes at the target, up to which everything
 * can be taken back; from there on only forward, by guarded deletes of exactly the versions that were copied.
 *
 * @throws MemoryError `not_found` when every file vanished meanwhile; `already_exists` when the target is taken;
 * `version_conflict` when a file changed at both places and was kept at both.
 */
export async function moveDirectory(
  vault: OpenVault,
  move: Move,
  files: readonly ListedEntry[],
): Promise<void> {
  const rename: DirectoryRename = { ...move, id: vault.random(16) };
  const copied = await copyFiles(vault, rename, pathsOf(files));
  await refuseClashes(vault, rename, copied);
  await deleteSources(vault, rename, copied);
  for (let round = 0; round < LATE_ROUNDS; round++) {
    const late = await listDirectory(vault, move.from);
    if (late.files.length === 0) return;
    await deleteSources(vault, rename, await copyFiles(vault, rename, pathsOf(late.files)));
  }
}

/** Somebody else's file below the target, or one at or above it, takes all copies back. */
async function refuseClashes(
  vault: OpenVault,
  rename: DirectoryRename,
  copied: readonly CopiedFile[],
): Promise<void> {
  const knownDirectories = ancestorsOf(rename.from);
  const above = [...ancestorsOf(rename.to), rename.to].filter((path) => !knownDirectories.includes(path));
  const ours = new Set<string>(copied.map(({ target }) => target.key));
  const [target, fileAbove] = await Promise.all([
    listDirectory(vault, rename.to),
    anyFileStays(vault, above),
  ]);
  const taken = target.files.some(({ key }) => !ours.has(key));
  if (!taken && !fileAbove && copied.length > 0) return;
  await takeBack(vault, copied);
  if (copied.length === 0) throw new MemoryError('not_found', 'every file of the source vanished meanwhile');
  throw taken ? targetExists() : clashError('file_above');
}

/** Deletes the sources as they were copied; those that changed are copied again first. */
async function deleteSources(
  vault: OpenVault,
  rename: DirectoryRename,
  copied: readonly CopiedFile[],
): Promise<void> {
  let remaining = copied;
  for (let round = 0; remaining.length > 0; round++) {
    if (round === COPY_ROUNDS) throw bothKept();
    const failures = await vault.store.delete(
      remaining.map(({ source }) => ({ key: source.key, ifMatch: source.etag })),
      { signal: vault.signal },
    );
    const byKey = new Map(failures.map((failure) => [failure.key, failure]));
    const again: CopiedFile[] = [];
    for (const file of remaining) {
      const failure = byKey.get(file.source.key);
      const newer = failure === undefined ? undefined : await settle(vault, rename, { file, failure });
      if (newer !== undefined) again.push(newer);
    }
    remaining = again;
  }
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
    // A definite absence: somebody deleted the file. After a second attempt it may have been ours: the copy stays.
    if (!failure.retried) await undoPut(vault, file.target);
    return undefined;
  }
  const newer = await copyAgain(vault, rename, file);
  if (newer === 'target_changed') throw bothKept();
  if (newer === undefined) await undoPut(vault, file.target);
  return newer;
}

function pathsOf(files: readonly ListedEntry[]): readonly MemoryPath[] {
  return files.map(({ path }) => path);
}
