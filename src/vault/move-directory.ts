import { MemoryError } from '../errors.ts';
import { ancestorsOf, type MemoryPath } from '../memory/path.ts';
import type { DeleteFailure } from '../objects/object-store.ts';
import { anyFileStays, clashError } from './clashes.ts';
import type { OpenVault } from './context.ts';
import { type CopiedFile, copyAgain, copyFiles, type DirectoryRename, takeBack } from './copy-files.ts';
import { type ListedEntry, listDirectory } from './list-directory.ts';
import { bothKept, type Move, targetExists } from './move-file.ts';
import { notTakenBack, undoPut } from './undo.ts';

/** How often the source is listed again for files that were created while it moved. */
const LATE_ROUNDS = 3;
/** How often a source that keeps changing is copied again before it is kept at both places. */
const COPY_ROUNDS = 8;

/**
 * Moves every file below `move.from`: copies first, then a look for clashes at the target, up to which everything
 * can be taken back; from there on only forward, by guarded deletes of exactly the versions that were copied.
 *
 * @throws MemoryError `not_found` when every file vanished meanwhile; `already_exists` when the target is taken;
 * `version_conflict` when a file changed at both places and was kept at both; `outcome_unknown` when it could not be
 * finished once it went forward.
 */
export async function moveDirectory(
  vault: OpenVault,
  move: Move,
  files: readonly ListedEntry[],
): Promise<void> {
  const rename: DirectoryRename = { ...move, id: vault.random(16) };
  const copied = await copyFiles(vault, rename, pathsOf(files));
  await refuseClashes(vault, rename, copied);
  try {
    await deleteSources(vault, rename, copied);
    await moveLateFiles(vault, rename);
  } catch (error) {
    throw isBothKept(error) ? error : notTakenBack(error);
  }
}

/** Somebody else's file below the target, one at or above it, or a failed look for them takes all copies back. */
async function refuseClashes(
  vault: OpenVault,
  rename: DirectoryRename,
  copied: readonly CopiedFile[],
): Promise<void> {
  const refusal = await findRefusal(vault, rename, copied).catch((error: unknown) => error);
  if (refusal === undefined) return;
  await takeBack(vault, copied);
  throw refusal;
}

async function findRefusal(
  vault: OpenVault,
  rename: DirectoryRename,
  copied: readonly CopiedFile[],
): Promise<MemoryError | undefined> {
  if (copied.length === 0) {
    return new MemoryError('not_found', 'every file of the source vanished meanwhile');
  }
  const knownDirectories = ancestorsOf(rename.from);
  const above = [...ancestorsOf(rename.to), rename.to].filter((path) => !knownDirectories.includes(path));
  const ours = new Set<string>(copied.map(({ target }) => target.key));
  const [target, fileAbove] = await Promise.all([
    listDirectory(vault, rename.to),
    anyFileStays(vault, above),
  ]);
  if (target.files.some(({ key }) => !ours.has(key))) return targetExists();
  return fileAbove ? clashError('file_above') : undefined;
}

/** Files that were created in the source while it moved follow it, for a few rounds. */
async function moveLateFiles(vault: OpenVault, rename: DirectoryRename): Promise<void> {
  for (let round = 0; round < LATE_ROUNDS; round++) {
    const late = await listDirectory(vault, rename.from);
    if (late.files.length === 0) return;
    const copied = await copyFiles(vault, rename, pathsOf(late.files)).catch((error: unknown) => {
      // Somebody else has created the same file at the target: that one stays there, the late one here.
      throw error instanceof MemoryError && error.code === 'already_exists' ? bothKept() : error;
    });
    await deleteSources(vault, rename, copied);
  }
}

/**
 * Deletes the sources as they were copied; those that changed are copied again first. What goes wrong with one file
 * is thrown only after all the others have been brought to their end.
 */
async function deleteSources(
  vault: OpenVault,
  rename: DirectoryRename,
  copied: readonly CopiedFile[],
): Promise<void> {
  const problems: unknown[] = [];
  let remaining = copied;
  for (let round = 0; remaining.length > 0 && round < COPY_ROUNDS; round++) {
    const failures = await vault.store.delete(
      remaining.map(({ source }) => ({ key: source.key, ifMatch: source.etag })),
      { signal: vault.signal },
    );
    const byKey = new Map(failures.map((failure) => [failure.key, failure]));
    const again: CopiedFile[] = [];
    for (const file of remaining) {
      const failure = byKey.get(file.source.key);
      if (failure === undefined) continue;
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

function isBothKept(error: unknown): boolean {
  return error instanceof MemoryError && error.details['reason'] === 'both_kept';
}

function pathsOf(files: readonly ListedEntry[]): readonly MemoryPath[] {
  return files.map(({ path }) => path);
}
