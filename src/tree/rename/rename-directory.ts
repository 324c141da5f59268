import { MemoryError } from '../../errors.ts';
import { ancestorsOf } from '../../language/path.ts';
import { type ListedEntry, listDirectory } from '../list-directory.ts';
import { readListed } from '../read-file.ts';
import { anyFileStays, clashError, clashingPaths, listStaying } from '../staying/clashes.ts';
import {
  hasOrigin,
  isRefusal,
  leftBehind,
  notTakenBack,
  type StayingFile,
  takeBack,
  type Written,
} from '../staying/take-back.ts';
import { withoutLimit } from '../tenant.ts';
import { type CopiedFile, type CopyOutcome, copyFiles } from './copy-files.ts';
import { deleteSources } from './delete-sources.ts';
import type { LeasedWork, RenameLease } from './lease.ts';
import { refuseNewPath } from './new-path.ts';
import type { DirectoryRename, RenamePhase } from './register.ts';
import { bothKept, targetExists } from './rename-file.ts';

/** The most times that the source is listed again for files that were created while it was renamed. */
const LATE_ROUNDS = 3;

/**
 * Carries a rename out from its phase `copying`. First it copies, then it looks for clashes at the target; up to there
 * it takes everything back when something is wrong. From there it only goes forward, by guarded deletes of exactly the
 * versions that were copied. A file that is refused for a reason of its own is left where it is, and named.
 *
 * @throws MemoryError `not_found` when every file vanished meanwhile; `already_exists` when the target is taken;
 * `version_conflict` when a file changed at both places and was kept at both (`reason: 'both_kept'`), or could not be
 * moved (`reason: 'left_behind'`); `outcome_unknown` when the rename could be neither finished nor taken back: the next
 * process finishes it.
 */
export async function renameDirectory(lease: RenameLease, files: readonly ListedEntry[]): Promise<void> {
  const verdict = await copyThenMove(lease, { files, resumed: false });
  if (verdict !== undefined) throw verdict;
}

/**
 * Finishes a rename from the point where the process that held it before has left it, or takes it back, and answers the
 * error that the caller of that process would have got. It ignores the configured file limit, which is no reason to
 * stop half way.
 *
 * @throws MemoryError when it is neither finished nor taken back.
 */
export async function resumeRename(given: RenameLease, phase: RenamePhase): Promise<MemoryError | undefined> {
  const lease = { ...given, work: withoutLimit(given.work) };
  const { work, rename } = lease;
  if (phase === 'aborting') return takeBackAll(lease, { known: [], isComplete: false });
  const { files } = await listDirectory(work, rename.from);
  if (phase === 'copying') return copyThenMove(lease, { files, resumed: true });
  return goForward(lease, await copyLate(work, rename, files), { takenOver: true });
}

/** Copies, then deletes the sources or takes the copies back; answers the verdict once the rename is over. */
async function copyThenMove(
  lease: RenameLease,
  task: { readonly files: readonly ListedEntry[]; readonly resumed: boolean },
): Promise<MemoryError | undefined> {
  const { work, rename } = lease;
  const outcome = await copyAll(work, rename, task.files).catch(
    (failure: unknown): CopyOutcome => ({ copied: [], taken: [], left: [], failure }),
  );
  const refusal =
    outcome.failure ?? (await findRefusal(work, rename, outcome).catch((error: unknown) => error));
  if (refusal !== undefined) {
    const isComplete = outcome.failure === undefined && !task.resumed;
    const kept = await takeBackAll(lease, { known: outcome.copied, isComplete });
    if (kept !== undefined || refusal instanceof MemoryError) return kept ?? (refusal as MemoryError);
    throw refusal;
  }
  await lease.enter('moving').catch(rejectUnknown);
  return goForward(lease, outcome, { takenOver: false });
}

/**
 * Copies the files as they are listed once no create is under way among them: it judges all of them before the first
 * copy.
 */
async function copyAll(
  work: LeasedWork,
  rename: DirectoryRename,
  listed: readonly ListedEntry[],
): Promise<CopyOutcome> {
  const files = await listStaying(work, rename.from, listed);
  for (const { path } of files) refuseNewPath(work, rename, path);
  return copyFiles(work, rename, { files, phase: 'copying' });
}

/** Finds a reason to end the rename: all files vanished, or another file lies at, above or below the target. */
async function findRefusal(
  work: LeasedWork,
  rename: DirectoryRename,
  { copied, taken }: CopyOutcome,
): Promise<MemoryError | undefined> {
  if (taken.length > 0) return targetExists();
  if (copied.length === 0) {
    return new MemoryError('not_found', 'every file of the source vanished meanwhile');
  }
  // The source's ancestors are asked, too: a young file above may have another one above it, whose clash is undecided.
  const above = [...ancestorsOf(rename.to), rename.to];
  const ours = new Set<string>(copied.map(({ target }) => target.key));
  const [target, fileAbove] = await Promise.all([listDirectory(work, rename.to), anyFileStays(work, above)]);
  const others = target.files.filter(({ key }) => !ours.has(key));
  const orphans = await findCopies(work, rename, others);
  if (orphans.length < others.length) return targetExists();
  // These are copies by a process that is gone, whose source was deleted after it had copied it.
  await takeBack(work, orphans);
  return fileAbove ? clashError('file_above') : undefined;
}

/**
 * Takes all copies back, those that are not known found by their origin. Answers an error when a copy stays beside its
 * source, because another process has built on a known one or because the server does not let it go.
 */
async function takeBackAll(
  lease: RenameLease,
  copies: { readonly known: readonly CopiedFile[]; readonly isComplete: boolean },
): Promise<MemoryError | undefined> {
  const finishing = withoutLimit(lease.finishing);
  const { rename } = lease;
  try {
    await lease.enter('aborting');
    const known = await takeBack(
      finishing,
      copies.known.map(({ target }) => target),
    );
    let left = known.left;
    if (!copies.isComplete) {
      const { files } = await listDirectory(finishing, rename.to);
      const found = await takeBack(finishing, await findCopies(finishing, rename, files));
      left = [...left, ...found.left];
    }
    await lease.end();
    if (left.length > 0) return leftBehind(left);
    return known.builtOn ? bothKept() : undefined;
  } catch (error) {
    throw notTakenBack(error);
  }
}

/** Finds the files that this rename has copied and no edit has changed since. A damaged file is left out. */
async function findCopies(
  work: LeasedWork,
  rename: DirectoryRename,
  files: readonly ListedEntry[],
): Promise<readonly Written[]> {
  const copies: Written[] = [];
  for (const file of files) {
    const { path, key } = file;
    const version = await readListed(work, file).catch((error: unknown) => {
      if (isRefusal(error)) return undefined;
      throw error;
    });
    if (version !== undefined && hasOrigin(version, rename.id)) {
      copies.push({ path, key, etag: version.stored.etag, mark: { origin: rename.id } });
    }
  }
  return copies;
}

/**
 * Deletes the sources, and from here on never takes the rename back; files created in the source meanwhile follow for a
 * few rounds.
 */
async function goForward(
  lease: RenameLease,
  first: CopyOutcome,
  { takenOver }: { readonly takenOver: boolean },
): Promise<MemoryError | undefined> {
  const { rename } = lease;
  const work = withoutLimit(lease.work);
  const left: StayingFile[] = [];
  const copied: CopiedFile[] = [];
  let keptBoth = false;
  const deleteCopied = async (outcome: CopyOutcome, isTakenOver: boolean): Promise<void> => {
    // Any other failure leaves the rename to the next process.
    if (outcome.failure !== undefined) throw notTakenBack(outcome.failure);
    const task = { copied: outcome.copied, takenOver: isTakenOver };
    const deleted = await deleteSources(work, rename, task).catch(rejectUnknown);
    for (const file of [...outcome.left, ...deleted.left]) left.push(file);
    for (const file of outcome.copied) copied.push(file);
    keptBoth ||= deleted.keptBoth || outcome.taken.length > 0;
  };
  await deleteCopied(first, takenOver);
  for (let round = 0; round < LATE_ROUNDS; round++) {
    const listing = await listDirectory(work, rename.from).catch(rejectUnknown);
    const late = listing.files.filter(({ path }) => !left.some((file) => file.path === path));
    if (late.length === 0) break;
    await deleteCopied(await copyLate(work, rename, late), false);
  }
  // All files are renamed. But while the register says that the rename is under way, the process that takes it over
  // also renames files that others create in the source until then.
  await lease.end().catch(rejectUnknown);
  for (const { target, version } of copied) {
    work.tenant.sightings.noteStays({ key: target.key, etag: target.etag, version });
  }
  if (left.length > 0) return leftBehind(left);
  return keptBoth ? bothKept() : undefined;
}

/**
 * Copies files that were found in the source while the rename is at work. Like every new file, a copy is checked after
 * it was written: where a file lies above or below it, the copy goes and its source stays, as if it had been created
 * after the rename.
 */
async function copyLate(
  work: LeasedWork,
  rename: DirectoryRename,
  files: readonly ListedEntry[],
): Promise<CopyOutcome> {
  const outcome = await copyFiles(work, rename, { files, phase: 'moving' });
  if (!outcome.copied.some(({ isNew }) => isNew)) return outcome;
  const clashing = clashingPaths((await listDirectory(work, rename.to).catch(rejectUnknown)).files);
  const isClashing = ({ isNew, target }: CopiedFile): boolean => isNew && clashing.has(target.path);
  const staying = outcome.copied.filter(isClashing);
  const { builtOn, left } = await takeBack(
    work,
    staying.map(({ target }) => target),
  );
  return {
    ...outcome,
    copied: outcome.copied.filter((copy) => !isClashing(copy)),
    taken: [...outcome.taken, ...(builtOn ? staying.map(({ from }) => from) : [])],
    left: [...outcome.left, ...left],
  };
}

function rejectUnknown(error: unknown): never {
  throw notTakenBack(error);
}
