import { equalBytes } from '../../format/sodium.ts';
import { type DeleteFailure, isMissing, isResentConflict } from '../../store/port.ts';
import { deleteObjects } from '../confirmed-put.ts';
import { readFile } from '../read-file.ts';
import { isRefusal, type StayingFile, takeBack, takePutBack } from '../staying/take-back.ts';
import type { EndedFile } from '../tenant.ts';
import { type CopiedFile, copyAgain } from './copy-files.ts';
import type { LeasedWork } from './lease.ts';
import type { DirectoryRename } from './register.ts';

/** The most times that a source which keeps changing is copied again before it is kept at both places. */
const COPY_ROUNDS = 8;

interface SourceDeletion {
  readonly copied: readonly CopiedFile[];
  /**
   * True where another process held the lease before. It may have sent deletes of the same versions, and they may
   * arrive late: when a source is gone, that tells nothing about its copy, which is kept.
   */
  readonly takenOver: boolean;
}

/** The files that a deletion of sources left where they were, or at both places. */
interface DeletedSources {
  /** True where a file had changed at both places. */
  readonly keptBoth: boolean;
  readonly left: readonly StayingFile[];
}

/**
 * Deletes the sources as they were copied; those that changed are copied again first. An error with one file is thrown
 * only after all the others have been brought to their end.
 *
 * @throws MemoryError any error of the store that refuses more than one file.
 */
export async function deleteSources(
  work: LeasedWork,
  rename: DirectoryRename,
  { copied, takenOver }: SourceDeletion,
): Promise<DeletedSources> {
  const left: StayingFile[] = [];
  let keptBoth = false;
  let problem: unknown;
  let remaining = copied;
  for (let round = 0; remaining.length > 0 && round < COPY_ROUNDS; round++) {
    await work.saver?.saveMoves(work, rename, remaining.map(endOf));
    const failures = await sendDeletes(work, remaining);
    const byKey = new Map(failures.map((failure) => [failure.key, failure]));
    const again: CopiedFile[] = [];
    for (const file of remaining) {
      const failure = byKey.get(file.source.key);
      if (failure === undefined) continue;
      // Only versions that were copied before the takeover can be known to the other process.
      if (takenOver && round === 0 && isMissing(failure)) continue;
      try {
        const outcome = await decide(work, rename, { file, failure });
        if (outcome === 'kept_both') keptBoth = true;
        else if (outcome !== 'done' && 'left' in outcome) left.push(outcome.left);
        else if (outcome !== 'done') again.push(outcome.copied);
      } catch (error) {
        problem ??= error;
      }
    }
    remaining = again;
  }
  if (problem !== undefined) throw problem;
  return { keptBoth: keptBoth || remaining.length > 0, left };
}

/** Answers the binding that this rename is about to end. */
function endOf({ from, source }: CopiedFile): EndedFile {
  return [from, source.id, source.bound];
}

/** Deletes the sources. An error of a request for a single file counts as that file's failure. */
async function sendDeletes(
  work: LeasedWork,
  files: readonly CopiedFile[],
): Promise<readonly DeleteFailure[]> {
  const targets = files.map(({ source }) => ({ key: source.key, ifMatch: source.etag }));
  try {
    return await deleteObjects(work, targets, { signal: work.call.signal });
  } catch (error) {
    if (targets.length > 1) throw error;
    return targets.map(({ key }) => ({ key, error }));
  }
}

/**
 * The result for a source that was not deleted: the copy of a newer version, whose source is still to be deleted, or
 * its end.
 */
type SourceOutcome = { readonly copied: CopiedFile } | { readonly left: StayingFile } | 'kept_both' | 'done';

/** Copies the source again, takes the copy back because the source is gone, or leaves the file behind. */
async function decide(
  work: LeasedWork,
  rename: DirectoryRename,
  { file, failure }: { readonly file: CopiedFile; readonly failure: DeleteFailure },
): Promise<SourceOutcome> {
  if ('error' in failure) {
    if (!isResentConflict(failure.error)) return { left: await leave(work, file, failure.error) };
    // Our own delete may have removed the source, and the copy then holds the only text. What lies at the source now
    // may be a new file: to copy it over that copy would lose the text. The look for late files keeps both.
    if (!(await isEditOf(work, file))) return 'done';
  }
  if (isMissing(failure)) {
    // The source is certainly gone while the lease is ours: a user deleted the file.
    await takePutBack(work, file.target);
    return 'done';
  }
  try {
    const newer = await copyAgain(work, rename, file);
    if (newer === 'taken') return 'kept_both';
    if (newer !== 'source_gone') return newer;
    await takePutBack(work, file.target);
    return 'done';
  } catch (error) {
    return { left: await leave(work, file, error) };
  }
}

/**
 * Tells whether an edit has followed on exactly the version that was copied: then no delete of that version has reached
 * it, or ever will.
 */
async function isEditOf(work: LeasedWork, { from, source }: CopiedFile): Promise<boolean> {
  const found = await readFile(work, from);
  return found !== undefined && equalBytes(found.previous, source.id);
}

/**
 * Leaves a file where it was because the server refuses to delete it, and takes its copy back unless the server refuses
 * that too.
 */
async function leave(work: LeasedWork, file: CopiedFile, error: unknown): Promise<StayingFile> {
  if (!isRefusal(error)) throw error;
  const found = await work.tenant.store.head(file.source.key, { signal: work.call.signal });
  // The copy goes only while the source is seen.
  if (found === undefined) throw error;
  const { left } = await takeBack(work, [file.target]);
  return left[0] ?? { path: file.from, cause: error };
}
