import { MemoryError } from '../errors.ts';
import { ancestorsOf } from '../memory/path.ts';
import { anyFileStays, clashError } from './clashes.ts';
import type { OpenVault } from './context.ts';
import {
  type CopiedFile,
  type CopyOutcome,
  copyFiles,
  type DirectoryRename,
  takeBack,
} from './copy-files.ts';
import { deleteSources } from './delete-sources.ts';
import { type ListedEntry, listDirectory } from './list-directory.ts';
import { bothKept, isBothKept, targetExists } from './move-file.ts';
import { readFile } from './read-file.ts';
import type { RenamePhase } from './register.ts';
import type { RenameLease } from './rename-lease.ts';
import { hasOrigin, notTakenBack, undoPut, type Written } from './undo.ts';

/** How often the source is listed again for files that were created while it moved. */
const LATE_ROUNDS = 3;

/**
 * Carries a rename out from its phase `copying`: copies first, then a look for clashes at the target, up to which
 * everything is taken back when something is wrong; from there on only forward, by guarded deletes of exactly the
 * versions that were copied.
 *
 * @throws MemoryError `not_found` when every file vanished meanwhile; `already_exists` when the target is taken;
 * `version_conflict` when a file changed at both places and was kept at both; `outcome_unknown` when it could
 * neither be finished nor taken back: the next process finishes it.
 */
export async function moveDirectory(lease: RenameLease, files: readonly ListedEntry[]): Promise<void> {
  return copyThenMove(lease, { files, resumed: false });
}

/** Finishes a rename from wherever the process that held it before has left it. Nobody waits for its verdict. */
export async function resumeRename(lease: RenameLease, phase: RenamePhase): Promise<void> {
  const { vault, rename } = lease;
  if (phase === 'aborting') {
    await giveUp(lease, { known: [], isComplete: false });
    return;
  }
  const { files } = await listDirectory(vault, rename.from);
  if (phase === 'copying') return copyThenMove(lease, { files, resumed: true });
  const outcome = await copyFiles(vault, rename, { files, phase: 'moving' });
  return goForward(lease, outcome, { takenOver: true });
}

async function copyThenMove(
  lease: RenameLease,
  work: { readonly files: readonly ListedEntry[]; readonly resumed: boolean },
): Promise<void> {
  const { vault, rename } = lease;
  const outcome = await copyFiles(vault, rename, { files: work.files, phase: 'copying' });
  const refusal =
    outcome.failure ?? (await findRefusal(vault, rename, outcome).catch((error: unknown) => error));
  if (refusal !== undefined) {
    const isComplete = outcome.failure === undefined && !work.resumed;
    const keptBoth = await giveUp(lease, { known: outcome.copied, isComplete });
    throw keptBoth ? bothKept() : refusal;
  }
  await lease.enter('moving').catch(rejectUnknown);
  await goForward(lease, outcome, { takenOver: false });
}

/** Why the rename must not go on: nothing is left to move, or somebody else's file lies at, above or below the target. */
async function findRefusal(
  vault: OpenVault,
  rename: DirectoryRename,
  { copied, taken }: CopyOutcome,
): Promise<MemoryError | undefined> {
  if (taken.length > 0) return targetExists();
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
  const others = target.files.filter(({ key }) => !ours.has(key));
  const orphans = await findCopies(vault, rename, others);
  if (orphans.length < others.length) return targetExists();
  // Copies whose source was deleted after a process that is gone had copied it.
  for (const orphan of orphans) await undoPut(vault, orphan);
  return fileAbove ? clashError('file_above') : undefined;
}

/**
 * Takes all copies back; those that are not known are looked for by their origin. Answers whether a known one stays
 * because somebody has built on it: then the file is at both places.
 */
async function giveUp(
  lease: RenameLease,
  copies: { readonly known: readonly CopiedFile[]; readonly isComplete: boolean },
): Promise<boolean> {
  const { finishing, rename } = lease;
  try {
    await lease.enter('aborting');
    const keptBoth = await takeBack(finishing, copies.known);
    if (!copies.isComplete) {
      const { files } = await listDirectory(finishing, rename.to);
      for (const copy of await findCopies(finishing, rename, files)) await undoPut(finishing, copy);
    }
    await lease.end();
    return keptBoth;
  } catch (error) {
    throw notTakenBack(error);
  }
}

/** Those of the files that this rename has copied there and nobody has changed since. */
async function findCopies(
  vault: OpenVault,
  rename: DirectoryRename,
  files: readonly ListedEntry[],
): Promise<readonly Written[]> {
  const copies: Written[] = [];
  for (const { path, key } of files) {
    const version = await readFile(vault, path);
    if (version !== undefined && hasOrigin(version, rename.id)) {
      copies.push({ path, key, etag: version.stored.etag, mark: { origin: rename.id } });
    }
  }
  return copies;
}

/** From here on the rename is never taken back; files created in the source meanwhile follow for a few rounds. */
async function goForward(
  lease: RenameLease,
  first: CopyOutcome,
  { takenOver }: { readonly takenOver: boolean },
): Promise<void> {
  const { vault, rename } = lease;
  let keptBoth = await deleteCopied(vault, rename, { ...first, takenOver });
  for (let round = 0; round < LATE_ROUNDS; round++) {
    const late = await listDirectory(vault, rename.from).catch(rejectUnknown);
    if (late.files.length === 0) break;
    const outcome = await copyFiles(vault, rename, { files: late.files, phase: 'moving' });
    const isKept = await deleteCopied(vault, rename, { ...outcome, takenOver: false });
    keptBoth ||= isKept;
  }
  // All is moved: a register that cannot be written costs the next rename a takeover and nobody a file.
  await lease.end().catch(() => vault.logger.warn('the register of renames was left to the next process'));
  if (keptBoth) throw bothKept();
}

/** Whether a file had to stay at both places. Whatever else goes wrong leaves the rename to the next process. */
async function deleteCopied(
  vault: OpenVault,
  rename: DirectoryRename,
  outcome: CopyOutcome & { readonly takenOver: boolean },
): Promise<boolean> {
  if (outcome.failure !== undefined) throw notTakenBack(outcome.failure);
  try {
    await deleteSources(vault, rename, outcome);
  } catch (error) {
    if (!isBothKept(error)) throw notTakenBack(error);
    return true;
  }
  return outcome.taken.length > 0;
}

function rejectUnknown(error: unknown): never {
  throw notTakenBack(error);
}
