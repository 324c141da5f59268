import { hasCode, MemoryError } from '../errors.ts';
import { directoriesOf, MEMORY_ROOT, type MemoryPath, refuseTooDeep } from '../language/path.ts';
import { type ETag, KEYS_PER_REQUEST } from '../store/port.ts';
import { admitContent, admitName } from './admission/admission.ts';
import { createFile, overwriteFile, replaceVersion } from './create-file.ts';
import { createEditQueue } from './edit-queue.ts';
import type { Edit } from './edit-round.ts';
import { type DirectoryListing, listDirectory } from './list-directory.ts';
import { type FileVersion, reviewFile } from './read-file.ts';
import { createRecovery, createRenameRegister } from './rename/finish-renames.ts';
import type { FileRename } from './rename/rename-file.ts';
import { type PathStat, statPath } from './stat-path.ts';
import {
  type CallOptions,
  type KeptCall,
  openToWrite,
  openWork,
  refuseWriting,
  type Tenant,
  type Work,
  withoutLimit,
} from './tenant.ts';
import { versionName } from './touches.ts';
import { type WalkedEntry, walkDirectory } from './walk-directory.ts';
import type { Deed } from './was-made.ts';

/**
 * One tenant's encrypted tree: files at memory paths, directories that exist while a file is below them. Every verb
 * loads the tenant's keyring first; reading from a tenant that has none finds nothing, writing creates it.
 *
 * All verbs throw `MemoryError`: besides the codes named at each of them those of the store and the keyring. Verbs that
 * write throw `read_only`, `policy_refused` and `limit_exceeded` before anything is written.
 */
export interface Tree {
  /** Reads and verifies the file's bytes; undefined when there is no such file. Never throws `outcome_unknown`. */
  read(path: MemoryPath, options?: CallOptions): Promise<Uint8Array | undefined>;
  /**
   * Tells whether this process saw files below the path when it last listed it, or a directory above it. No request.
   */
  wasDirectory(path: MemoryPath): boolean;
  /** Tells whether the path is a directory even when it is empty, as the root is. No request. */
  isAlwaysDirectory(path: MemoryPath): boolean;
  /**
   * Reads the file as `read` does, with the ETag and the id of its version. `ofAnySize`: above the file limit, too, for
   * a caller that takes the version away.
   */
  readVersion(
    path: MemoryPath,
    options?: CallOptions & { readonly ofAnySize?: boolean },
  ): Promise<FileVersion | undefined>;
  /**
   * Finds the file or the directory at the path; undefined when the path holds neither. The root is always a directory.
   */
  stat(path: MemoryPath, options?: CallOptions): Promise<PathStat | undefined>;
  /**
   * Lists page by page the entries of the directory, or with `recursive` the files below it, from the one after `after`
   * on; none when the directory does not exist.
   */
  walk(
    directory: MemoryPath,
    options?: CallOptions & { readonly recursive?: boolean; readonly after?: MemoryPath | undefined },
  ): AsyncGenerator<readonly WalkedEntry[], void, undefined>;
  /**
   * Lists every file below the directory; empty when it does not exist. Never throws `outcome_unknown`.
   *
   * @throws MemoryError `invalid_path` where no file can lie below it.
   */
  list(
    directory: MemoryPath,
    options?: CallOptions & { readonly maxFiles?: number },
  ): Promise<DirectoryListing>;
  /**
   * Creates the file.
   *
   * @throws MemoryError `already_exists`, `is_directory`, `limit_exceeded`; `invalid_path` for too many segments.
   */
  create(path: MemoryPath, content: Uint8Array, options?: KeptCall & FormerPath): Promise<ETag>;
  /**
   * Creates or replaces the file.
   *
   * @throws MemoryError `already_exists` below a file, `is_directory`, `limit_exceeded`.
   */
  overwrite(path: MemoryPath, content: Uint8Array, options?: KeptCall): Promise<ETag>;
  /**
   * Replaces one version.
   *
   * @throws MemoryError `version_conflict` when another version, or none, is at the path; `limit_exceeded`.
   */
  replace(
    path: MemoryPath,
    replacement: { readonly content: Uint8Array; readonly version: ETag },
    options?: CallOptions & FormerText,
  ): Promise<ETag>;
  /**
   * Edits the file. Edits of one path take effect in the order of the calls; those that wait together are written
   * together.
   *
   * @throws MemoryError `not_found`, `limit_exceeded`, `version_conflict`, and any error of `edit`.
   */
  edit<T>(path: MemoryPath, edit: Edit<T>, options?: KeptCall): Promise<T>;
  /**
   * Deletes a file, or a directory with everything below it; with `version` a file alone, and only as that version.
   *
   * @throws MemoryError `not_found`, `version_conflict`.
   */
  remove(path: MemoryPath, options?: KeptCall & { readonly version?: ETag | undefined }): Promise<void>;
  /**
   * Renames a file or a directory.
   *
   * @throws MemoryError `not_found`, `already_exists`, `invalid_command`, `invalid_path`, `version_conflict`.
   */
  rename(rename: FileRename, options?: KeptCall & FormerPath): Promise<void>;
  /** Tells whether a call that takes effect once was made before, as `wasMade` in `was-made.ts` does. */
  wasMade(deed: Deed, options: KeptCall): Promise<boolean | undefined>;
}

/** The claim that a file lay at the path before: it may have as many segments as it has. */
interface FormerPath {
  readonly wasThere?: boolean | undefined;
}

/** The claim that a text lay at the path before and goes back unchanged: no policy is asked about it. */
interface FormerText {
  readonly wasAdmitted?: boolean | undefined;
}

const NO_FILES: DirectoryListing = { files: [], foreign: 0, truncated: false };

export function createTree(tenant: Tenant): Tree {
  const renames = createRenameRegister();
  const recovery = createRecovery(renames);

  const reading = async <T>(
    options: CallOptions,
    verb: (work: Work) => Promise<T>,
  ): Promise<T | undefined> => {
    try {
      const work = await openWork(tenant, options);
      if (work === undefined || tenant.readOnly === true) return work && (await verb(work));
      return await recovery.beside(work, () => verb(work));
    } catch (error) {
      throw asOfRead(error);
    }
  };
  const changing = async (options: KeptCall, before?: 'delete'): Promise<Work> => {
    refuseWriting(tenant);
    const work = await openWork(tenant, options);
    if (work === undefined) throw new MemoryError('not_found', 'the tenant has no memory yet');
    await recovery.before(work);
    await work.saver?.nameActor(work, before);
    return work;
  };
  /**
   * Opens the tenant's work, and answers with it the content that the policy admits: this admission comes before any
   * write.
   */
  const creating = async (
    path: MemoryPath,
    content: Uint8Array,
    options: KeptCall,
  ): Promise<readonly [Work, MemoryPath, Uint8Array]> => {
    refuseRoot(path);
    refuseWriting(tenant);
    const admitted = await admitContent(tenant, { path, content }, options);
    const refusal = tenant.quota?.refusalOf(admitted.length);
    if (refusal !== undefined && (await openWork(tenant, options)) === undefined) throw refusal;
    const work = await openToWrite(tenant, options);
    await recovery.before(work);
    await work.saver?.nameActor(work);
    return [work, path, admitted];
  };
  const edits = createEditQueue(changing);

  const readVersion: Tree['readVersion'] = async (path, options = {}) => {
    if (path === MEMORY_ROOT) return undefined;
    return reading(options, async (work) => {
      const found = await reviewFile(options.ofAnySize ? withoutLimit(work) : work, path);
      if (found === undefined) return undefined;
      if (tenant.readOnly !== true) await tenant.accessRecords?.record(work, path);
      options.onTouch?.({ kind: 'read', path, version: versionName(found) });
      return found;
    });
  };

  return {
    read: async (path, options) => (await readVersion(path, options))?.content,
    readVersion,
    async stat(path, options = {}) {
      if (path === MEMORY_ROOT) return 'directory';
      return reading(options, (work) => statPath(work, path));
    },
    async *walk(directory, options = {}) {
      const { recursive = false, after } = options;
      const pages = await reading(options, async (work) =>
        walkDirectory(work, directory, { recursive, after }),
      );
      if (pages !== undefined) yield* pages;
    },
    isAlwaysDirectory: (path) => path === MEMORY_ROOT,
    wasDirectory: (path) => tenant.cache.isDirectory(path),
    async list(directory, options = {}) {
      const { maxFiles } = options;
      const listing = await reading(options, (work) =>
        listDirectory(work, directory, { maxFiles, concurrent: true }),
      );
      const { files } = listing ?? NO_FILES;
      if (files.length === 0) refuseTooDeep(directory);
      tenant.cache.noteDirectory(directory, files.length > 0 ? 'files' : 'nothing');
      if (files.length <= KEYS_PER_REQUEST) {
        for (const each of directoriesOf(files.map(({ path }) => path)))
          tenant.cache.noteDirectory(each, 'files');
      }
      return listing ?? NO_FILES;
    },
    async create(path, content, options = {}) {
      if (options.wasThere !== true) refuseTooDeep(path);
      return createFile(...(await creating(path, content, options)));
    },
    async overwrite(path, content, options = {}) {
      return overwriteFile(...(await creating(path, content, options)));
    },
    async replace(path, { content, version }, options = {}) {
      refuseRoot(path);
      refuseWriting(tenant);
      const admitted = options.wasAdmitted ? content : await admitContent(tenant, { path, content }, options);
      return replaceVersion(await changing(options), path, { content: admitted, version });
    },
    edit: (path, edit, options) => orTooDeep(path, edits.edit(path, edit, options)),
    async remove(path, options = {}) {
      refuseRoot(path);
      const { version } = options;
      // Only the first delete loads this module.
      const { removePath } = await import('./remove.ts');
      await orTooDeep(
        path,
        changing(options, 'delete').then((work) => removePath(work, renames, { path, version })),
      );
      options.onTouch?.({ kind: 'deleted', path });
    },
    async rename(rename, options = {}) {
      refuseRoot(rename.from);
      refuseWriting(tenant);
      await admitName(tenant, rename.to, options);
      // Only the first rename loads this module.
      const { renamePath } = await import('./rename/rename.ts');
      const work = await changing(options);
      const run = (): Promise<void> => renamePath(work, renames, rename, options);
      await (tenant.quota?.beside(run) ?? run());
      options.onTouch?.({ kind: 'renamed', path: rename.from, to: rename.to });
    },
    async wasMade(deed, options) {
      const work = tenant.readOnly === true ? undefined : await openWork(tenant, options);
      if (work === undefined) return false;
      const { wasMade } = await import('./was-made.ts');
      return wasMade(work, renames, deed);
    },
  };
}

/** Turns the verb's `not_found` into a refusal of the path itself, where the path is too deep for any file. */
async function orTooDeep<T>(path: MemoryPath, verb: Promise<T>): Promise<T> {
  try {
    return await verb;
  } catch (error) {
    if (hasCode(error, 'not_found')) refuseTooDeep(path);
    throw error;
  }
}

/**
 * Turns an unknown outcome of a read into `unavailable`: the read edits nothing, and may simply write its notes beside
 * the tree again.
 */
function asOfRead(error: unknown): unknown {
  if (!hasCode(error, 'outcome_unknown')) return error;
  return new MemoryError('unavailable', 'what a read has to note could not be confirmed', { cause: error });
}

/** Refuses to write, delete or rename the root, a directory that always exists. */
function refuseRoot(path: MemoryPath): void {
  if (path !== MEMORY_ROOT) return;
  throw new MemoryError('invalid_command', 'the root cannot be changed itself', {
    details: { reason: 'root' },
  });
}
