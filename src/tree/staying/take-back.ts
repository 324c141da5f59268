import { hasCode, MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import type { OpenedObject } from '../../format/object.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import { equalBytes } from '../../format/sodium.ts';
import type { VersionIdBytes } from '../../format/version.ts';
import { NO_ID } from '../../format/wrap.ts';
import type { MemoryPath } from '../../language/path.ts';
import { type ETag, isMissing, isResentConflict } from '../../store/port.ts';
import { eachConcurrently } from '../concurrency.ts';
import { deleteObjects } from '../confirmed-put.ts';
import { readFile } from '../read-file.ts';
import { uncancelled, type Work } from '../tenant.ts';

/** A write of ours that can be taken back while no other process has built on it. */
export interface Written {
  readonly path: MemoryPath;
  readonly key: ObjectKey;
  readonly etag: ETag;
  readonly mark: Mark;
}

/** A copy that a rename has written. */
export interface WrittenCopy extends Written {
  readonly bound: bigint;
}

/**
 * Names a write, even after a migration of keys has bound or sealed it again: by the id of the rename that made it,
 * which every edit of the file removes; or by the version that it created there, at a place to which no rename has
 * brought it.
 */
type Mark = { readonly origin: Uint8Array } | { readonly created: VersionIdBytes };

/** The most deletes that one undo sends: a migration writes an object once in a pass. */
const ROUNDS = 4;

/**
 * Takes back one write of ours: a guarded delete of exactly the version that was written, or of the same version as a
 * migration of keys has bound or sealed it again. It continues when the caller cancels, because a write that is left
 * behind would contradict the error the caller gets. `built_on`: another process has changed the object since, so it
 * stays. `gone`: the place is empty, because another process has deleted or renamed the object, or an earlier attempt
 * of this delete landed.
 *
 * @throws MemoryError `outcome_unknown` when the write may still be there.
 */
export async function takePutBack(work: Work, written: Written): Promise<'undone' | 'built_on' | 'gone'> {
  const quiet = uncancelled(work);
  try {
    for (let { etag } = written, round = 1; round <= ROUNDS; round++) {
      const target = { key: written.key, ifMatch: etag };
      const [failure] = await deleteObjects(quiet, [target]).catch((error: unknown) => [
        { ...target, error },
      ]);
      if (failure === undefined) return 'undone';
      if (isMissing(failure)) return 'gone';
      // An earlier attempt of this delete may have landed, so the file as it is now decides.
      if ('error' in failure && !isResentConflict(failure.error)) throw failure.error;
      const found = await readFile(quiet, written.path);
      if (found === undefined) return 'gone';
      if (!isStill(written, found)) return 'built_on';
      etag = found.stored.etag;
    }
  } catch (error) {
    throw notTakenBack(error);
  }
  throw notTakenBack(undefined);
}

/**
 * Tells whether a version is still that write, perhaps bound or sealed again by a migration of keys, and otherwise
 * untouched.
 */
export function isStill(
  { mark }: Pick<Written, 'mark'>,
  version: Pick<OpenedObject, 'id' | 'origin'>,
): boolean {
  if ('origin' in mark) return hasOrigin(version, mark.origin);
  return isMigrated({ id: mark.created, origin: NO_ID }, version);
}

/**
 * Tells whether `later` is still the version `earlier` at the same place, perhaps bound or sealed again by a migration
 * of keys. A version that a rename or a repair has written has an origin of its own.
 */
export function isMigrated(
  earlier: Pick<OpenedObject, 'id' | 'origin'>,
  later: Pick<OpenedObject, 'id' | 'origin'>,
): boolean {
  return equalBytes(later.id, earlier.id) && hasOrigin(later, earlier.origin);
}

/** Tells whether the rename of that id has put the version where it is, and no edit has followed. */
export function hasOrigin(version: Pick<OpenedObject, 'origin'>, id: Uint8Array): boolean {
  return sameBytes(version.origin, id);
}

/**
 * Runs the checks that follow a write. When they fail, this takes the write back, so that the error leaves the tree as
 * it was.
 *
 * @throws the error of `check`; MemoryError `outcome_unknown` when the write had to stay, or was gone already.
 */
export async function orTakeBack<T>(work: Work, written: Written, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw (await takePutBack(work, written)) === 'undone' ? error : notTakenBack(error);
  }
}

/** Makes the error for a change that was begun and may have stayed. */
export function notTakenBack(cause: unknown): MemoryError {
  if (hasCode(cause, 'outcome_unknown')) return cause;
  return new MemoryError('outcome_unknown', 'a change was begun and neither finished nor taken back', {
    cause,
  });
}

/** A file that the rename of a directory cannot rename, and why. */
export interface StayingFile {
  readonly path: MemoryPath;
  readonly cause: unknown;
}

/** Codes that refuse one file at any time: every process that tries again is refused again. */
const REFUSALS: readonly MemoryErrorCode[] = [
  'access_denied',
  'already_exists',
  'integrity',
  'invalid_path',
  'is_directory',
  'limit_exceeded',
  'misconfigured',
  'unsupported_format',
];

/**
 * Tells whether an object is refused for a reason of its own: it is damaged, or the store refuses its name, its copy or
 * its tombstone. A rename continues without such a file, which would otherwise block every other rename.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof MemoryError && REFUSALS.includes(error.code);
}

/** The most files that an error names. */
const MOST_NAMED = 10;

/** Makes the error for the caller of the rename: it is over, except for these files. */
export function leftBehind(files: readonly StayingFile[]): MemoryError {
  const paths = [...new Set(files.map(({ path }) => path as string))].sort();
  return new MemoryError('version_conflict', 'some files of a directory could not be renamed with it', {
    details: { reason: 'left_behind', files: paths.length, paths: paths.slice(0, MOST_NAMED) },
    cause: files[0]?.cause,
    retry: 'never',
  });
}

/** Copies that stay although the rename was taken back. */
interface KeptCopies {
  /** True where another process has built on at least one. */
  readonly builtOn: boolean;
  /** Copies that the server refuses to delete. */
  readonly left: readonly StayingFile[];
}

/**
 * Removes copies that no other process has changed since, and answers which stay.
 *
 * @throws MemoryError `outcome_unknown` when one of them may still be there, after removing the others.
 */
export async function takeBack(work: Work, copies: readonly Written[]): Promise<KeptCopies> {
  let [builtOn, failure]: [boolean, unknown] = [false, undefined];
  const left: StayingFile[] = [];
  await eachConcurrently(work.tenant, copies, async (copy) => {
    try {
      if ((await takePutBack(work, copy)) === 'built_on') builtOn = true;
    } catch (error) {
      // The error says first that the copy was not taken back; its cause tells why.
      const cause = error instanceof MemoryError ? error.cause : undefined;
      if (!isRefusal(cause)) failure ??= error;
      else if (await isSeen(work, copy)) left.push({ path: copy.path, cause });
    }
  });
  if (failure !== undefined) throw failure;
  return { builtOn, left };
}

/**
 * Tells whether the copy is still there; true where the look itself fails. False means that only its tombstone could
 * not be removed.
 */
async function isSeen(work: Work, { key }: Written): Promise<boolean> {
  const found = await work.tenant.store.head(key).catch(() => 'unseen' as const);
  return found !== undefined;
}
