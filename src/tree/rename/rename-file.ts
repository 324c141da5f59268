import { hasCode, hasReason, MemoryError } from '../../errors.ts';
import { fileKey, logicalName, type ObjectKey } from '../../format/object-keys.ts';
import { ancestorsOf, type MemoryPath } from '../../language/path.ts';
import type { DeleteFailure, ETag } from '../../store/port.ts';
import { untilDone } from '../concurrency.ts';
import { confirmedPut, deleteObjects, type Stamp } from '../confirmed-put.ts';
import { drawId } from '../draw-id.ts';
import { copyVersion, laterOf, readFile, type SealedVersion } from '../read-file.ts';
import { clashError, findClash } from '../staying/clashes.ts';
import { keep } from '../staying/staying.ts';
import {
  isMigrated,
  isStill,
  leftBehind,
  notTakenBack,
  orTakeBack,
  takeBack,
  takePutBack,
  type Written,
  type WrittenCopy,
} from '../staying/take-back.ts';
import type { Work } from '../tenant.ts';

export interface FileRename {
  readonly from: MemoryPath;
  readonly to: MemoryPath;
  /** The only version that may be renamed; the rename then takes a file alone. */
  readonly version?: ETag;
}

/**
 * Renames the file whose version `source` was just read, and certainly stays: a copy bound to the new path, then a
 * guarded delete of exactly the version that was copied. A crash in between leaves the file at both places.
 *
 * @throws MemoryError `already_exists`, `is_directory` when the target is taken; `not_found` when another rename or
 * delete of the source won; `version_conflict` when both places changed meanwhile and so both were kept, and when the
 * file is another version than the only one that may be renamed.
 */
export async function renameFile(work: Work, from: FileRename, source: SealedVersion): Promise<void> {
  // The copy needs a mark of its own: another rename of the same file makes a copy of the same version.
  const rename: MarkedRename = { ...from, id: drawId(work) };
  const key = fileKey(work.tenant.layout, work.keyring.names, rename.to);
  const written = await confirmedPut(work, {
    key,
    seal: (stamp) => copyFor(work, { rename, source, stamp }),
    after: source.bound,
    mode: 'create',
  });
  if ('conflict' in written) throw targetExists();
  const { etag, bound } = written;
  const target: WrittenCopy = { path: rename.to, key, etag, bound, mark: { origin: rename.id } };
  const clash = await orTakeBack(work, target, () => findClash(work, rename.to, ancestorsOf(rename.from)));
  if (clash !== undefined) {
    const undone = await takePutBack(work, target);
    // Another process has renamed the copy, so the file is at a third place, and the source lies where it was.
    if (undone === 'gone') throw notTakenBack(undefined);
    if (undone === 'undone') throw clash === 'file_above' ? clashError(clash) : targetExists();
  }
  keep(work, key, written);
  await removeSource(work, rename, { source, target });
}

/** A rename of one file; every copy it makes carries its id as the origin, and a migration of keys keeps that. */
interface MarkedRename extends FileRename {
  readonly id: Uint8Array;
}

/**
 * The most times that a copy is written over a copy which changed meanwhile: a migration writes a file once in a pass.
 */
const COPY_ROUNDS = 3;

interface Copied {
  readonly source: SealedVersion;
  readonly target: WrittenCopy;
}

/**
 * Deletes the source as it was copied. Where the source has changed, its newer version is copied over our copy first;
 * but where the rename names one version, our copy is taken back.
 */
async function removeSource(work: Work, rename: MarkedRename, first: Copied): Promise<void> {
  const key = fileKey(work.tenant.layout, work.keyring.names, rename.from);
  let copied = first;
  try {
    await untilDone(work, async () => {
      const target = { key, ifMatch: copied.source.stored.etag };
      const [failure] = await deleteObjects(work, [target], { signal: work.call.signal });
      if (failure === undefined) {
        const { id, bound } = copied.source;
        await work.saver?.noteMoved(work, rename, [rename.from, id, bound]);
        return undefined;
      }
      refuseUnknown(failure);
      const newer = await copyNewer(work, rename, copied);
      if (newer === undefined) return takeTargetBack(work, copied.target);
      copied = newer;
      return 'again';
    });
  } catch (error) {
    if (endsRename(error)) throw error;
    throw await withdraw(work, { ...copied, key }, error);
  }
}

/**
 * Copies a source over our older copy, once the source was written again by anybody. Undefined: the source is gone.
 * When another process has changed the copy, both stay; but where the source is still the version that was copied, only
 * bound or sealed again by a migration of keys, this answers the earlier copy with the source as it is now, which may
 * then be deleted.
 *
 * @throws MemoryError `version_conflict` when both stay, or the source is another version than the only one that may be
 * renamed.
 */
async function copyNewer(work: Work, rename: MarkedRename, copied: Copied): Promise<Copied | undefined> {
  const { key } = copied.target;
  const source = await readFile(work, rename.from);
  if (source === undefined) return undefined;
  const isSame = isMigrated(copied.source, source);
  if (rename.version !== undefined && !isSame) throw anotherVersion();
  for (let { etag, bound } = copied.target, round = 1; round <= COPY_ROUNDS; round++) {
    const written = await confirmedPut(work, {
      key,
      seal: (stamp) => copyFor(work, { rename, source, stamp }),
      after: laterOf(source.bound, bound),
      mode: { ifMatch: etag },
    });
    if ('etag' in written) {
      return { source, target: { ...copied.target, etag: written.etag, bound: written.bound } };
    }
    const found = await readFile(work, rename.to);
    if (found === undefined || !isStill(copied.target, found)) {
      if (isSame) return { ...copied, source };
      break;
    }
    etag = found.stored.etag;
    bound = found.bound;
  }
  throw bothKept();
}

/** Tells whether the error already says what became of both places. */
function endsRename(error: unknown): boolean {
  return hasCode(error, 'outcome_unknown', 'not_found') || hasReason(error, 'both_kept');
}

/** Ends a rename that cannot go on: the copy goes, but only while the source is seen to be there. */
async function withdraw(
  work: Work,
  copied: { readonly key: ObjectKey; readonly target: Written },
  error: unknown,
): Promise<unknown> {
  const source = await work.tenant.store.head(copied.key).catch(() => undefined);
  if (source === undefined) return notTakenBack(error);
  const { builtOn, left } = await takeBack(work, [copied.target]);
  if (left.length > 0) return leftBehind(left);
  return builtOn ? notTakenBack(error) : error;
}

/** Takes our copy back: another process's delete or rename of the source came first, so the copy must go. */
async function takeTargetBack(work: Work, target: Written): Promise<never> {
  const undone = await takePutBack(work, target);
  if (undone === 'built_on') throw bothKept();
  // Another process has renamed the copy, so the file is at a third place, whatever the process did that was first at
  // the source.
  if (undone === 'gone') throw notTakenBack(undefined);
  throw new MemoryError('not_found', 'the source was deleted or renamed by another process');
}

/**
 * Throws the error of a delete without a certain end: the file may lie at both places, and both must stay. The file now
 * at the source may have been put there after our delete, and is then no newer version of the copied one.
 */
function refuseUnknown(failure: DeleteFailure): void {
  if ('error' in failure) throw failure.error;
}

/** Makes the object of `source`, bound to the target path. */
function copyFor(
  work: Work,
  copy: { readonly rename: MarkedRename; readonly source: SealedVersion; readonly stamp: Stamp },
): Uint8Array {
  const { rename, source, stamp } = copy;
  const [from, to] = [logicalName(rename.from), logicalName(rename.to)];
  return copyVersion(work, source, { ...stamp, from, to, origin: rename.id });
}

export function targetExists(): MemoryError {
  return new MemoryError('already_exists', 'the target of the rename exists');
}

export function anotherVersion(): MemoryError {
  return new MemoryError('version_conflict', 'The file is no longer the version that was to be renamed.', {
    retry: 'never',
  });
}

export function bothKept(): MemoryError {
  return new MemoryError('version_conflict', 'both places changed during the rename; both were kept', {
    details: { reason: 'both_kept' },
    retry: 'never',
  });
}
