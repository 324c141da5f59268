import { hasCode, MemoryError } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';
import { type DeleteFailure, type ETag, KEYS_PER_REQUEST } from '../store/port.ts';
import { untilDone } from './concurrency.ts';
import { deleteObjects } from './confirmed-put.ts';
import { type ListedEntry, listDirectory, listPath, type PathKind } from './list-directory.ts';
import type { RenameRegister } from './rename/finish-renames.ts';
import { notTakenBack } from './staying/take-back.ts';
import { type EndedFile, uncancelled, type Work } from './tenant.ts';

/** The most rounds in which a delete looks again for files that were changed meanwhile, or left without an answer. */
const ROUNDS = 8;

/**
 * Deletes the file, or the directory with everything below it. A file goes only as the version that was seen: an edit
 * in between makes the delete look again. Files that were in a directory when the request ran go; those created later
 * stay.
 *
 * Requests: a LIST and a guarded delete; for a directory of n files a GET of the register, ⌈n/1000⌉ LISTs and guarded
 * deletes of all files.
 *
 * @param version the only version of a file that may be deleted.
 * @throws MemoryError `not_found`; `version_conflict` where another version, or a directory, is at the path;
 * `outcome_unknown` when the file, or some of the directory, may be gone.
 */
export async function removePath(
  work: Work,
  renames: RenameRegister,
  { path, version }: { readonly path: MemoryPath; readonly version?: ETag | undefined },
): Promise<void> {
  await untilDone(work, async () => {
    const found = await listPath(work, path);
    if (version !== undefined) refuseOther(found, version);
    if (found.kind === 'file') return removeFile(work, found.file);
    if (found.listing.files.length === 0) {
      throw new MemoryError('not_found', 'there is neither a file nor a directory of that path');
    }
    if (await renames.finishAbandoned(work)) return 'again';
    const gone: EndedFile[] = [];
    try {
      await removeFiles(work, { path, files: found.listing.files, gone });
    } finally {
      await work.saver?.noteDeleted(work, path, gone);
    }
    return undefined;
  });
}

/** Refuses another version than the named one. An empty path passes: the caller finds that it is missing. */
function refuseOther(found: PathKind, version: ETag): void {
  const isThere = found.kind === 'file' || found.listing.files.length > 0;
  if (!isThere || (found.kind === 'file' && found.file.etag === version)) return;
  throw new MemoryError('version_conflict', 'The file is no longer the version that was to be deleted.', {
    retry: 'never',
  });
}

async function removeFile(work: Work, file: ListedEntry): Promise<'again' | undefined> {
  const gone: EndedFile[] = [];
  const [failure] = await removeListed(work, { path: file.path, files: [file], gone });
  if (failure === undefined) {
    work.tenant.quota?.freed([file]);
    await work.saver?.noteDeleted(work, file.path, gone);
    return undefined;
  }
  if ('error' in failure) throw await verdict(work, file, failure.error);
  // The file was changed, or deleted by another process: look again, so that the answer is true of the store now.
  return 'again';
}

/**
 * Looks at files that were saved but not deleted, mostly because another process was first; even after the caller has
 * cancelled.
 */
async function lookAgain(work: Work, saved: readonly EndedFile[]): Promise<void> {
  const unhurried = uncancelled(work);
  for (const [path, id, bound] of saved) await work.saver?.savedInVain(unhurried, path, { id, bound });
}

/**
 * Answers the error to throw for a failed delete: the refusal itself only where the file is still seen, since part of a
 * guarded delete may have been done.
 */
async function verdict(work: Work, file: ListedEntry, error: unknown): Promise<unknown> {
  const found = await work.tenant.store.head(file.key).catch(() => undefined);
  return found?.etag === file.etag ? error : notTakenBack(error);
}

/**
 * Deletes the files, guarded, as they were listed. A batch is never sent again as it was: files that a new LIST still
 * shows, because they were changed meanwhile or a batch got no answer, go into another one. On stores that need
 * tombstones, unguarded keys would cost fewer requests. But they could remove the tombstone of another process's
 * delete, whose second half would then hit a file that was created in between. Where history is kept, `gone` receives
 * the files that were saved and certainly deleted.
 */
async function removeFiles(
  work: Work,
  task: { readonly path: MemoryPath; readonly files: readonly ListedEntry[]; readonly gone: EndedFile[] },
): Promise<void> {
  const { path, files, gone } = task;
  let remaining = files;
  /** Keys of files that a request without an answer may have deleted already, or may delete yet. */
  const uncertain = new Set<string>();
  for (let round = 0; remaining.length > 0; round++) {
    const listed = { path, files: remaining, gone };
    const failures = await removeListed(work, listed).catch((error: unknown) => {
      throw round === 0 ? error : notTakenBack(error);
    });
    const failed = new Set<string>(failures.map(({ key }) => key));
    work.tenant.quota?.freed(remaining.filter(({ key }) => !failed.has(key)));
    if (failures.length === 0) return;
    const errors = failures.flatMap((failure) => ('error' in failure ? [failure.error] : []));
    const refusal = errors.find((error) => !isUnknown(error));
    for (const failure of failures) if (!isDefinite(failure)) uncertain.add(failure.key);
    // No file has gone, and each of them was refused.
    if (errors.length === files.length && uncertain.size === 0) throw refusal;
    if (refusal !== undefined || round === ROUNDS) throw notTakenBack(refusal ?? errors[0]);
    const listing = await listDirectory(work, path).catch((error: unknown) => {
      throw notTakenBack(error);
    });
    const sent = { files: remaining, failures, uncertain };
    remaining = listing.files.filter((file) => isStillToGo(file, sent));
  }
}

/**
 * Tells whether a file that is listed again was to be deleted; false for one that was created since.
 *
 * @throws MemoryError `outcome_unknown` when this cannot be told.
 */
function isStillToGo(
  file: ListedEntry,
  sent: {
    readonly files: readonly ListedEntry[];
    readonly failures: readonly DeleteFailure[];
    readonly uncertain: ReadonlySet<string>;
  },
): boolean {
  const failure = sent.failures.find(({ key }) => key === file.key);
  if (failure === undefined) return false;
  if (!sent.uncertain.has(file.key)) return 'conflict' in failure && failure.conflict === 'changed';
  if (sent.files.some(({ key, etag }) => key === file.key && etag === file.etag)) return true;
  throw notTakenBack(undefined);
}

/** Tells whether this failure certainly deleted nothing. */
function isDefinite(failure: DeleteFailure): boolean {
  return !('error' in failure && isUnknown(failure.error));
}

/**
 * Deletes listed files. Where history is kept, they are saved first, or in the same change. `gone` receives those whose
 * end the caller must still note in the history.
 */
async function removeListed(
  work: Work,
  {
    path,
    files,
    gone,
  }: { readonly path: MemoryPath; readonly files: readonly ListedEntry[]; readonly gone: EndedFile[] },
): Promise<readonly DeleteFailure[]> {
  const { onProgress } = work.call;
  let done = 0;
  const onTarget = (): void => onProgress?.({ done: ++done, total: files.length });
  const together = work.saver?.deleteListed(work, files, { at: path, onTarget });
  if (together !== undefined) return together;
  const saved = (await work.saver?.saveListed(work, files)) ?? [];
  const failures = await deleteVersions(work, files);
  const failed = new Set<string>(failures.map(({ key }) => key));
  const deleted = new Set(files.flatMap((file) => (failed.has(file.key) ? [] : [file.path])));
  for (const ended of saved) if (deleted.has(ended[0])) gone.push(ended);
  const inVain = saved.filter(([at]) => !deleted.has(at));
  const isUntouched = deleted.size === 0 && failures.every(isDefinite);
  await lookAgain(work, inVain).catch((error: unknown) => {
    throw isUntouched ? error : notTakenBack(error);
  });
  return failures;
}

/**
 * Deletes in guarded batches. A batch that throws ends them, and its error stands for all files that were not deleted.
 */
async function deleteVersions(work: Work, files: readonly ListedEntry[]): Promise<readonly DeleteFailure[]> {
  const failures: DeleteFailure[] = [];
  const { signal, onProgress } = work.call;
  const total = files.length;
  let done = 0;
  const onTarget = (): void => onProgress?.({ done: ++done, total });
  for (let start = 0; start < files.length; start += KEYS_PER_REQUEST) {
    const targets = files
      .slice(start, start + KEYS_PER_REQUEST)
      .map(({ key, etag }) => ({ key, ifMatch: etag }));
    try {
      failures.push(...(await deleteObjects(work, targets, { signal, onTarget })));
    } catch (error) {
      return [...failures, ...files.slice(start).map(({ key }) => ({ key, error }))];
    }
    done = start + targets.length;
    onProgress?.({ done, total });
  }
  return failures;
}

function isUnknown(error: unknown): boolean {
  return hasCode(error, 'outcome_unknown');
}
