import { MemoryError, unlessDamaged } from '../errors.ts';
import { MEMORY_ROOT, type MemoryPath, rebase } from '../language/path.ts';
import { decodeText } from '../language/text.ts';
import type { ETag } from '../store/port.ts';
import { dateOf } from '../time.ts';
import type { ListedEntry } from '../tree/list-directory.ts';
import type { CallOptions } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';
import { createAppending } from './appending.ts';
import type { Claim, CommandOrder } from './command-order.ts';
import { bytesOf, pathOf, placeWithin, refusedArgument, versionOf } from './file-arguments.ts';
import { meantPath, withMeant } from './meant-path.ts';
import { type RedactedRule, watchRedactions } from './redactions.ts';

/**
 * A tenant's files for the application, whole and without line numbers: in one order with the commands of the model,
 * under the same policies. Paths are the tool's, such as `/memories/notes.md`. All reject with `MemoryError`:
 * `invalid_path`, `invalid_command` for an argument of another type, `aborted`, and the errors of the store and the
 * keyring.
 */
export interface Files {
  /**
   * Reads the file; undefined when it is missing.
   *
   * @throws MemoryError `limit_exceeded` for one above the file limit.
   */
  read(path: string, options?: FileOptions): Promise<FileContent | undefined>;
  /**
   * Writes the whole file. `mode` is `replace` unless given.
   *
   * @throws MemoryError `already_exists` where `create` meets a file, or a part of the path is one; `version_conflict`
   * where `ifUnchanged` meets another version or none; `is_directory`, `limit_exceeded`.
   */
  write(
    path: string,
    content: string | Uint8Array,
    options?: FileOptions & { readonly mode?: WriteMode },
  ): Promise<WrittenFile>;
  /**
   * Appends the content to the file, atomically, also among other processes; creates the file where it is missing.
   *
   * @throws MemoryError `is_directory`, `already_exists` below a file, `limit_exceeded`, `version_conflict` when other
   * processes were faster at every attempt.
   */
  append(path: string, content: string | Uint8Array, options?: FileOptions): Promise<AppendedFile>;
  /**
   * Lists the entries of a directory, `/memories` unless given; with `recursive` every file below it. In the store's
   * order, a page in memory at a time. A missing directory has no entries. With `recursive` the list can begin after
   * the path at which an earlier list ended, `after`, even when that file is gone.
   */
  list(
    path?: string,
    options?: FileOptions & { readonly recursive?: boolean; readonly after?: string },
  ): AsyncIterable<FileEntry>;
  /**
   * Tells size, time and version of the file at the path, or that it is a directory, without reading it; undefined when
   * the path holds neither.
   *
   * @throws MemoryError `integrity`, as `read`.
   */
  stat(path: string, options?: FileOptions): Promise<FileEntry | undefined>;
  /** Tells whether a file, a damaged one as well, or a directory lies at the path. */
  exists(path: string, options?: FileOptions): Promise<boolean>;
  /**
   * Makes a new file of the content of another. `mode` is `create` unless given.
   *
   * @throws MemoryError `not_found`, `is_directory` for a directory, and the errors of `write`.
   */
  copy(
    from: string,
    to: string,
    options?: FileOptions & { readonly mode?: 'create' | 'replace' },
  ): Promise<WrittenFile>;
  /**
   * Renames a file or a directory.
   *
   * @throws MemoryError `not_found`, `already_exists`, `invalid_command`, `version_conflict`.
   */
  rename(from: string, to: string, options?: FileOptions): Promise<void>;
  /**
   * Removes a file, or a directory with everything below it; with `ifUnchanged` a file alone, and only as that version.
   *
   * @throws MemoryError `not_found`, `invalid_command` for the root; `version_conflict` where `ifUnchanged` meets
   * another version or a directory.
   */
  remove(path: string, options?: FileOptions & { readonly ifUnchanged?: string }): Promise<void>;
}

/** The options by which a caller cancels, names the actor, and hears of the call's progress and touches. */
export type FileOptions = CallOptions;

/**
 * The condition of a write. `create`: the path must be empty. `replace`: any file, or none. `ifUnchanged`: exactly that
 * version.
 */
export type WriteMode = 'create' | 'replace' | { readonly ifUnchanged: string };

export interface FileStat {
  readonly type: 'file';
  readonly path: string;
  /** Bytes of content, by the store's word until the file is read. */
  readonly size: number;
  /**
   * The time at which its object was last written, to the second, by the store's clock; a change of the tenant's keys
   * counts.
   */
  readonly modified: Date;
  /** The opaque name of the stored version, for `ifUnchanged`. A change of the tenant's keys makes a new one. */
  readonly version: string;
}

export interface DirectoryStat {
  readonly type: 'directory';
  readonly path: string;
}

export type FileEntry = FileStat | DirectoryStat;

export interface FileContent extends Pick<FileStat, 'path' | 'size' | 'version'> {
  readonly bytes: Uint8Array;
  /**
   * Decodes the bytes as UTF-8.
   *
   * @throws MemoryError `not_text` when they are something else.
   */
  text(): string;
}

/** A file as it was written; its size is that of the content after a policy's redaction. */
export interface WrittenFile extends Pick<FileStat, 'path' | 'size' | 'version'> {
  /** The rules by which the policy had something replaced; absent where the given content was written. */
  readonly redacted?: readonly RedactedRule[];
}

/** A file after an append; a redacted finding may have stood in it before. */
export type AppendedFile = Pick<WrittenFile, 'path' | 'redacted'>;

interface FilesOptions {
  readonly tree: Tree;
  readonly order: CommandOrder;
  readonly maxFileBytes: number;
  /** The actor of calls that name none. */
  readonly actor?: string | undefined;
  /** Throws once the memory is closed. */
  readonly refuseWhenClosed: () => void;
}

export function createFiles(given: FilesOptions): Files {
  const { tree, order, maxFileBytes, refuseWhenClosed } = given;
  const asked = (options: FileOptions): FileOptions => ({ ...options, actor: options.actor ?? given.actor });

  /** Runs an action in the order; `action` gets the paths of the claims, as they are meant. */
  const run = <T>(
    claims: readonly Claim[],
    action: (...paths: [MemoryPath, MemoryPath]) => Promise<T>,
    { signal }: FileOptions,
  ): Promise<T> => {
    refuseWhenClosed();
    const paths = claims.map(({ path }) => path);
    return order.run(claims, () => withMeant(tree, paths, { signal }, action), signal);
  };

  const put = async (
    path: MemoryPath,
    content: Uint8Array,
    { mode, options }: { readonly mode: unknown; readonly options: FileOptions },
  ): Promise<WrittenFile> => {
    const { options: call, redacted } = watchRedactions(options);
    const write = (): Promise<ETag> => {
      if (mode === 'create') return tree.create(path, content, call);
      if (mode === 'replace') return tree.overwrite(path, content, call);
      return tree.replace(path, { content, version: versionOf(mode) }, call);
    };
    const version = await write();
    const { rules, bytes = content.length } = redacted() ?? {};
    return { path, size: bytes, version, ...(rules && { redacted: rules }) };
  };

  const append = createAppending({ tree, maxFileBytes });

  const stat: Files['stat'] = async (path, options = {}) =>
    run(
      [{ path: pathOf(path), mode: 'read' }],
      async (at): Promise<FileEntry | undefined> => {
        const found = await tree.stat(at, options);
        return found === 'directory' ? { type: 'directory', path: at } : found && statOf(found);
      },
      options,
    );

  return Object.freeze<Files>({
    async read(path, options = {}) {
      return run(
        [{ path: pathOf(path), mode: 'read' }],
        async (at) => {
          const found = await tree.readVersion(at, options);
          if (found === undefined) return undefined;
          const { content: bytes, etag: version } = found;
          return { path: at, size: bytes.length, version, bytes, text: () => textOf(bytes) };
        },
        options,
      );
    },
    async write(path, content, options = {}) {
      const claim: Claim = { path: pathOf(path), mode: 'write' };
      const { mode = 'replace', ...verbs } = options;
      const bytes = bytesOf(content, maxFileBytes);
      return run([claim], (at) => put(at, bytes, { mode, options: asked(verbs) }), verbs);
    },
    async append(path, content, options = {}) {
      const claim: Claim = { path: pathOf(path), mode: 'edit' };
      const bytes = bytesOf(content, maxFileBytes);
      return run(
        [claim],
        async (at) => {
          const watched = watchRedactions(asked(options));
          await append(at, bytes, watched.options);
          const { rules } = watched.redacted() ?? {};
          return { path: at, ...(rules && { redacted: rules }) };
        },
        options,
      );
    },
    list(path = MEMORY_ROOT, options = {}) {
      const at = pathOf(path);
      const { after, ...verbs } = options;
      const behind = after === undefined ? undefined : { after: placeWithin(at, after) };
      if (behind !== undefined && options.recursive !== true) throw refusedArgument('after needs recursive.');
      return { [Symbol.asyncIterator]: () => entriesOf(at, { ...verbs, ...behind }) };
    },
    stat,
    async exists(path, options) {
      return (await unlessDamaged(stat(path, options), () => 'damaged')) !== undefined;
    },
    async copy(from, to, options = {}) {
      const { mode = 'create', ...verbs } = options;
      const claims: readonly Claim[] = [
        { path: pathOf(from), mode: 'read' },
        { path: pathOf(to), mode: 'write' },
      ];
      if (mode !== 'create' && mode !== 'replace') throw refusedArgument('mode must be create or replace.');
      const copyFile = async (source: MemoryPath, target: MemoryPath): Promise<WrittenFile> => {
        const content = await tree.read(source, verbs);
        if (content === undefined) throw await missing(source, verbs);
        return put(target, content, { mode, options: asked(verbs) });
      };
      return run(claims, copyFile, verbs);
    },
    async rename(from, to, options = {}) {
      const claims: readonly Claim[] = [
        { path: pathOf(from), mode: 'write' },
        { path: pathOf(to), mode: 'write' },
      ];
      const rename = (source: MemoryPath, target: MemoryPath): Promise<void> =>
        tree.rename({ from: source, to: target }, asked(options));
      return run(claims, rename, options);
    },
    async remove(path, options = {}) {
      const claim: Claim = { path: pathOf(path), mode: 'write' };
      const { ifUnchanged, ...verbs } = options;
      const version = ifUnchanged === undefined ? undefined : versionOf({ ifUnchanged });
      return run([claim], (at) => tree.remove(at, { ...asked(verbs), version }), verbs);
    },
  });

  /** Lists page by page. Each page has its own place in the order, so that the caller may write between them. */
  async function* entriesOf(
    given: MemoryPath,
    { after, ...options }: FileOptions & { readonly recursive?: boolean; readonly after?: MemoryPath },
  ): AsyncGenerator<FileEntry, void, undefined> {
    const path = await meantPath(tree, given, options);
    const pages = tree.walk(path, { ...options, after: after && rebase(after, given, path) });
    try {
      for (;;) {
        const page = await run([{ path, mode: 'read' }], () => pages.next(), options);
        if (page.done) return;
        for (const entry of page.value) {
          yield 'directory' in entry ? { type: 'directory', path: entry.directory } : statOf(entry);
        }
      }
    } finally {
      await pages.return();
    }
  }

  async function missing(path: MemoryPath, options: FileOptions): Promise<MemoryError> {
    const found = await tree.stat(path, options);
    return found === 'directory'
      ? new MemoryError('is_directory', 'A directory cannot be copied.')
      : new MemoryError('not_found', 'There is no file of that path.');
  }
}

function statOf({ path, size, lastModified, etag }: ListedEntry): FileStat {
  // Listings tell parts of a second, which answers about one object leave out.
  const modified = dateOf(lastModified - (lastModified % 1_000));
  return { type: 'file', path, size, modified, version: etag };
}

function textOf(bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', 'The file is not UTF-8 text.', { details: { size: bytes.length } });
}
