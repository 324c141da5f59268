import { hasCode } from '../../errors.ts';
import { commitmentOf } from '../../format/header.ts';
import { fileKey, logicalName, type ObjectKey } from '../../format/object-keys.ts';
import { equalBytes } from '../../format/sodium.ts';
import { isTooDeep, type MemoryPath, rebase } from '../../language/path.ts';
import type { ETag } from '../../store/port.ts';
import { eachConcurrently, untilDone } from '../concurrency.ts';
import { type ConditionalWrite, confirmedPut } from '../confirmed-put.ts';
import type { ListedEntry } from '../list-directory.ts';
import { copyVersion, laterOf, readFile, type SealedVersion } from '../read-file.ts';
import { identityOf, type VersionIdentity } from '../sightings.ts';
import {
  hasOrigin,
  isMigrated,
  isRefusal,
  isStill,
  type StayingFile,
  type WrittenCopy,
} from '../staying/take-back.ts';
import type { HeldVersion } from '../version-cache.ts';
import type { LeasedWork } from './lease.ts';
import { refuseNewKey, refuseNewPath } from './new-path.ts';
import type { DirectoryRename } from './register.ts';

/** A source file as it was copied, and the copy. */
export interface CopiedFile {
  readonly from: MemoryPath;
  readonly source: Pick<SealedVersion, 'id' | 'bound' | 'origin'> & {
    readonly key: ObjectKey;
    readonly etag: ETag;
  };
  readonly target: WrittenCopy;
  /** The identity of the copy. */
  readonly version: VersionIdentity;
  /** True where the copy did not lie there before. */
  readonly isNew: boolean;
}

/** The results for a number of files. Files that vanished meanwhile are in neither list. */
export interface CopyOutcome {
  readonly copied: readonly CopiedFile[];
  /** Files at whose target another file lies. */
  readonly taken: readonly MemoryPath[];
  /** Files that cannot be copied for a reason of their own; only while `moving`. */
  readonly left: readonly StayingFile[];
  /** The first failure, one with an unknown outcome before all others; after it no further copy was begun. */
  readonly failure: unknown;
}

interface CopyOptions {
  /**
   * The half of the rename: `copying` stops at the first target that is taken, and a source that differs from an
   * earlier copy of it has been edited: the copy is renewed. While `moving` such a source may as well be a new file in
   * the place of one that was renamed already, so its target counts as taken. A file that is refused for a reason of
   * its own ends `copying`, and is left behind while `moving`.
   */
  readonly phase: 'copying' | 'moving';
}

/**
 * The result for one file. `taken`: another file lies at its target, or another process has changed our copy there, so
 * that this rename may touch neither place.
 */
type CopyResult = { readonly copied: CopiedFile } | 'source_gone' | 'taken';

/** A file as a listing shows it. */
type FileToCopy = Pick<ListedEntry, 'path' | 'size'>;

/**
 * The most times that a copy is written over a copy which changed meanwhile: a migration of keys writes it once in a
 * pass.
 */
const COPY_ROUNDS = 3;

/** Copies the files, several at once. A GET and a PUT each; one GET more where an earlier copy of this rename lies. */
export async function copyFiles(
  work: LeasedWork,
  rename: DirectoryRename,
  task: CopyOptions & { readonly files: readonly FileToCopy[] },
): Promise<CopyOutcome> {
  const copied: CopiedFile[] = [];
  const taken: MemoryPath[] = [];
  const left: StayingFile[] = [];
  let failure: unknown;
  const copyOne = async ({ path: from }: FileToCopy): Promise<void> => {
    if (failure !== undefined || (task.phase === 'copying' && taken.length > 0)) return;
    try {
      const result = await copyFile(work, rename, { from, phase: task.phase });
      if (result === 'taken') taken.push(from);
      else if (result !== 'source_gone') copied.push(result.copied);
      work.call.onProgress?.({ done: copied.length, total: task.files.length });
    } catch (error) {
      if (task.phase === 'moving' && isRefusal(error)) left.push({ path: from, cause: error });
      else failure = failure === undefined || hasCode(error, 'outcome_unknown') ? error : failure;
    }
  };
  await eachConcurrently(work.tenant, task.files, copyOne, ({ size }) => size);
  return { copied, taken, left, failure };
}

/** Copies one file, or finds the copy that this rename has made of it already. */
async function copyFile(
  work: LeasedWork,
  rename: DirectoryRename,
  { from, phase }: CopyOptions & { readonly from: MemoryPath },
): Promise<CopyResult> {
  refuseNewKey(work, rename, from);
  const to = rebase(from, rename.from, rename.to);
  // A process that knew no limit of segments may have left its copy there.
  const isNeverMade = isTooDeep(to, from);
  return untilDone<CopyResult>(work, async () => {
    const source = await readFile(work, from);
    if (source === undefined) return 'source_gone';
    const written = isNeverMade
      ? 'conflict'
      : await writeCopy(work, rename, { from, source, mode: 'create' });
    if (written !== 'conflict') return written;
    const earlier = await readFile(work, to);
    if (earlier === undefined) {
      refuseNewPath(work, rename, from);
      return 'again';
    }
    if (!hasOrigin(earlier, rename.id)) return 'taken';
    if (isCopyOf(earlier, source)) {
      const target = { etag: earlier.stored.etag, body: earlier.stored.body, bound: earlier.bound };
      return { copied: copiedFile(work, rename, { from, source, target, isNew: false }) };
    }
    if (phase === 'moving' && !equalBytes(earlier.id, source.id)) return 'taken';
    const { bound: after, stored } = earlier;
    const mode = { ifMatch: stored.etag };
    const renewed = await writeCopy(work, rename, { from, source, mode, after });
    return renewed === 'conflict' ? 'again' : renewed;
  });
}

/** Tells whether a copy holds the source's current version, under the source's own sealing or a later data key. */
function isCopyOf(copy: SealedVersion, source: SealedVersion): boolean {
  if (!equalBytes(copy.id, source.id) || copy.bound <= source.bound) return false;
  const isSameSealing = equalBytes(commitmentOf(copy.stored.body), commitmentOf(source.stored.body));
  return isSameSealing || copy.drawnUnder > source.drawnUnder;
}

/**
 * Copies a source over our older copy of it, once the source was written again by anybody. Answers `taken` where
 * another process has changed the copy; but where the source is still the version that was copied, only bound or sealed
 * again by a migration of keys, it answers that earlier copy with the source as it is now, which may then be deleted.
 */
export async function copyAgain(
  work: LeasedWork,
  rename: DirectoryRename,
  older: CopiedFile,
): Promise<CopyResult> {
  const source = await readFile(work, older.from);
  if (source === undefined) return 'source_gone';
  for (let { etag, bound } = older.target, round = 1; ; round++) {
    const mode = { ifMatch: etag };
    const written = await writeCopy(work, rename, { from: older.from, source, mode, after: bound });
    if (written !== 'conflict') return written;
    const found = await readFile(work, older.target.path);
    if (found === undefined || !isStill(older.target, found)) {
      if (!isMigrated(older.source, source)) return 'taken';
      return {
        copied: { ...older, source: { ...older.source, bound: source.bound, etag: source.stored.etag } },
      };
    }
    if (round === COPY_ROUNDS) return 'taken';
    etag = found.stored.etag;
    bound = found.bound;
  }
}

async function writeCopy(
  work: LeasedWork,
  rename: DirectoryRename,
  copy: {
    readonly from: MemoryPath;
    readonly source: SealedVersion;
    readonly mode: ConditionalWrite['mode'];
    /** The bound of the copy that is replaced, where that was read. */
    readonly after?: bigint;
  },
): Promise<{ readonly copied: CopiedFile } | 'conflict'> {
  const { from, source, mode } = copy;
  const to = rebase(from, rename.from, rename.to);
  const names = { from: logicalName(from), to: logicalName(to) };
  const outcome = await confirmedPut(work, {
    key: fileKey(work.tenant.layout, work.keyring.names, to),
    seal: (stamp) => copyVersion(work, source, { ...stamp, ...names, origin: rename.id }),
    after: laterOf(source.bound, copy.after),
    mode,
  });
  if ('conflict' in outcome) return 'conflict';
  return {
    copied: copiedFile(work, rename, { from, source, target: outcome, isNew: mode === 'create' }),
  };
}

function copiedFile(
  work: LeasedWork,
  rename: DirectoryRename,
  copy: Pick<CopiedFile, 'from' | 'isNew'> & {
    readonly source: SealedVersion;
    readonly target: HeldVersion & Pick<WrittenCopy, 'bound'>;
  },
): CopiedFile {
  const { layout } = work.tenant;
  const { keyring } = work;
  const { id, bound, origin, stored } = copy.source;
  const to = rebase(copy.from, rename.from, rename.to);
  return {
    from: copy.from,
    source: {
      key: fileKey(layout, keyring.names, copy.from),
      etag: stored.etag,
      id,
      bound,
      origin,
    },
    target: {
      path: to,
      key: fileKey(layout, keyring.names, to),
      etag: copy.target.etag,
      bound: copy.target.bound,
      mark: { origin: rename.id },
    },
    version: identityOf(copy.target.body),
    isNew: copy.isNew,
  };
}
