import { toBase64url } from '../format/encoding.ts';
import { equalBytes } from '../format/sodium.ts';
import { NO_ID, nextBound } from '../format/wrap.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { DAY_MS } from '../time.ts';
import { listDirectory } from './list-directory.ts';
import { type FileVersion, readListed, reviewFile } from './read-file.ts';
import type { RenameRegister } from './rename/finish-renames.ts';
import type { Once, Work } from './tenant.ts';
import { versionName } from './touches.ts';

/** The effect of a command on the tree. */
export type Deed =
  | { readonly kind: 'written'; readonly path: MemoryPath }
  | { readonly kind: 'deleted'; readonly path: MemoryPath }
  | { readonly kind: 'renamed'; readonly path: MemoryPath; readonly to: MemoryPath };

/**
 * The age beyond which a binding is certainly older than a key that was drawn by another clock, in milliseconds: clocks
 * that write differ by two days at most.
 */
const CERTAINLY_OLDER_MS = 3 * DAY_MS;
/** The most copies of a renamed directory that are looked at. */
const MOST_COPIES = 8;

/**
 * Tells whether a call that may have been made before was made; undefined where that cannot be told. The ids that it
 * drew tell, or the history where one is kept, or a file that is still what it was before. Tells `onTouch` of a deed
 * that was made.
 *
 * One GET of each path; the requests of `isRecorded` where neither tells; for a directory a GET of the register, and a
 * LIST and up to eight GETs of the target.
 *
 * @throws MemoryError `integrity`; the errors of the store.
 */
export async function wasMade(work: Work, renames: RenameRegister, deed: Deed): Promise<boolean | undefined> {
  const { once, onTouch } = work.call;
  const { path } = deed;
  if (once?.again === undefined || path === MEMORY_ROOT) return false;
  if (!once.isMarked) return undefined;
  const found = await reviewFile(work, path);
  if (deed.kind === 'written' && found) {
    if (once.bears(found.id)) {
      if (!equalBytes(found.previous, NO_ID))
        onTouch?.({ kind: 'read', path, version: toBase64url(found.previous) });
      onTouch?.({ kind: 'written', path, version: versionName(found) });
      return true;
    }
    if (once.bears(found.previous)) {
      onTouch?.({ kind: 'written', path, version: toBase64url(found.previous) });
      return true;
    }
  }
  const verdict = await judge(work, { renames, deed, once, found });
  if (verdict === true && deed.kind !== 'written') onTouch?.(deed);
  return verdict;
}

interface DeedQuery {
  readonly renames: RenameRegister;
  readonly deed: Deed;
  readonly once: Once;
  readonly found: FileVersion | undefined;
}

async function judge(work: Work, question: DeedQuery): Promise<boolean | undefined> {
  const { deed, once, found } = question;
  if (deed.kind === 'renamed') {
    const arrived = await hasArrived(work, question, deed.to);
    // A rename that was cut off between its two steps has the file at both places.
    if (arrived) return found === undefined ? true : undefined;
  }
  if (found && isOlder(found, once)) return false;
  const { since = 0 } = once.again ?? {};
  const recorded = await work.saver?.isRecorded(work, deed.path, { since, isOne: once.bears });
  if (recorded === true) return true;
  // A record of a delete or a rename is written after it, so that it may be missing; one of a version is written before
  // the version is replaced.
  return recorded === false && deed.kind === 'written' && found ? false : undefined;
}

/** Tells whether the target of the rename, or a file in it, is a copy that this call made. */
async function hasArrived(work: Work, { renames, once, found }: DeedQuery, to: MemoryPath): Promise<boolean> {
  const target = await reviewFile(work, to);
  if (target !== undefined || found !== undefined) return target !== undefined && once.bears(target.origin);
  // Finishes what a process that died has left of the rename, or takes it back, before its copies tell anything.
  await renames.finishAbandoned(work);
  const { files } = await listDirectory(work, to, { maxFiles: MOST_COPIES });
  for (const file of files) {
    const copy = await readListed(work, file);
    if (copy !== undefined && once.bears(copy.origin)) return true;
  }
  return false;
}

/** Tells whether the file is certainly what it was before the call could be made. */
function isOlder(found: FileVersion, once: Once): boolean {
  const { since = 0, seen } = once.again ?? {};
  if (found.bound < nextBound(since - CERTAINLY_OLDER_MS)) return true;
  // A binding with an origin may have come back to a place that it had before.
  if (!equalBytes(found.origin, NO_ID)) return false;
  return seen?.has(versionName(found)) === true || once.follows(found.id);
}
