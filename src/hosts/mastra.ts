import * as mastra from '@mastra/core/workspace';
import { damagedFile, hasCode, MemoryError } from '../errors.ts';
import { imageMediaType } from '../language/image.ts';
import { parseGivenPath, parseMemoryPath } from '../language/path.ts';
import { dateOf } from '../time.ts';
import type { FileEntry, FileStat } from '../tool/files.ts';
import type { Memory } from '../tool/memory-tool.ts';
import { failureOf, isReading, type Operation } from './mastra-failure.ts';
import { entriesBelow, listed, walked } from './mastra-listing.ts';

export interface MemoryFilesystemOptions {
  /** The id of the filesystem; `sealed-memory` unless given. */
  readonly id?: string;
  /** The directory that is the root of the filesystem; `/memories` unless given. */
  readonly directory?: string;
  /** True for a filesystem through which nothing is written; Mastra then offers no tools that write. */
  readonly readOnly?: boolean;
}

const IMAGE_NAME = /\.(?:png|jpe?g|gif|webp)$/i;

/**
 * Makes the files of a memory a filesystem for a Mastra `Workspace`. A directory exists while a file lies in it.
 * Failures are errors of Mastra's classes with the `MemoryError` as their cause. The caller still closes the memory.
 */
export function memoryFilesystem(
  { files }: Pick<Memory, 'files'>,
  options: MemoryFilesystemOptions = {},
): mastra.WorkspaceFilesystem {
  const { id = 'sealed-memory', directory = '/memories', readOnly = false } = options;
  const info = {
    id,
    name: 'MemoryFilesystem',
    provider: 'sealed-memory',
    readOnly,
    status: 'ready' as const,
  };
  const root = parseMemoryPath(directory);
  const at = (path: string): string => parseGivenPath([root, ...path.split('/').filter(isName)].join('/'));

  /** Runs an operation on `paths`, of which the last is the one that is written. */
  const run = async <T>(
    operation: Operation,
    paths: readonly [string, ...string[]],
    action: (from: string, to: string) => Promise<T>,
  ): Promise<T> => {
    if (readOnly && !isReading(operation)) throw new mastra.WorkspaceReadOnlyError(operation);
    try {
      const [from, to = from] = paths.map(at) as [string, string?];
      return await action(from, to);
    } catch (error) {
      throw error instanceof MemoryError ? failureOf(error, operation, paths) : error;
    }
  };

  const find = async (place: string): Promise<FileEntry | undefined> =>
    (await files.stat(place)) ?? (place === root ? { type: 'directory', path: root } : undefined);

  const demand = async (path: string, place: string): Promise<FileEntry> => {
    const found = await find(place);
    if (found === undefined) throw new mastra.FileNotFoundError(path);
    return found;
  };

  const demandDirectory = async (path: string, place: string): Promise<void> => {
    const found = await find(place);
    if (found === undefined) throw new mastra.DirectoryNotFoundError(path);
    if (found.type === 'file') throw new mastra.NotDirectoryError(path);
  };

  const below = async (path: string, place: string, recursive?: 'recursive'): Promise<mastra.WalkEntry[]> => {
    const entries = await entriesBelow(files.list(place, { recursive: recursive === 'recursive' }), place);
    if (entries.length === 0) await demandDirectory(path, place);
    return entries;
  };

  /** Chooses the mode of a write; `ifUnchanged` is the date that Mastra was told before. */
  const modeFor = async (path: string, place: string, ifUnchanged: Date | undefined) => {
    if (ifUnchanged === undefined) return 'replace';
    const found = await find(place);
    if (found?.type !== 'file') return 'create';
    if (modifiedAt(found).getTime() === ifUnchanged.getTime()) return { ifUnchanged: found.version };
    throw new mastra.StaleFileError(path, ifUnchanged, modifiedAt(found));
  };

  return {
    ...info,
    getInfo: () => info,
    getInstructions: () =>
      'Files that stay when this conversation ends. Paths begin at "/". A directory is there as long as a file lies in it.',
    isTextFile: (name) => !IMAGE_NAME.test(name),
    readFile: (path, { encoding } = {}) =>
      run('readFile', [path], async (from) => {
        const content = from === root ? undefined : await files.read(from);
        if (content === undefined) {
          await demand(path, from);
          throw new mastra.IsDirectoryError(path);
        }
        if (encoding === 'utf8' || encoding === 'utf-8') return content.text();
        const bytes = Buffer.from(content.bytes);
        return encoding === undefined ? bytes : bytes.toString(encoding);
      }),
    writeFile: (path, content, { recursive = true, overwrite = true, expectedMtime } = {}) =>
      run('writeFile', [path], async (to) => {
        if (!recursive) await demandDirectory(parentOf(path), at(parentOf(path)));
        const mode = overwrite ? await modeFor(path, to, expectedMtime) : 'create';
        await files.write(to, content, { mode }).catch(async (error: unknown) => {
          if (expectedMtime === undefined || !hasCode(error, 'version_conflict')) throw error;
          const found = await find(to);
          throw new mastra.StaleFileError(
            path,
            expectedMtime,
            found?.type === 'file' ? modifiedAt(found) : new Date(0),
          );
        });
      }),
    appendFile: (path, content) =>
      run('appendFile', [path], async (to) => {
        await files.append(to, content);
      }),
    deleteFile: (path, { force = false } = {}) =>
      run('deleteFile', [path], async (from) => {
        const found = await (force ? find(from) : demand(path, from)).catch(damagedFile);
        if (found?.type === 'directory') throw new mastra.IsDirectoryError(path);
        if (found !== undefined) await files.remove(from);
      }),
    copyFile: (src, dest, { overwrite = true, recursive = false } = {}) =>
      run('copyFile', [src, dest], async (from, to) => {
        const mode = overwrite ? 'replace' : 'create';
        if ((await demand(src, from)).type === 'file') return void (await files.copy(from, to, { mode }));
        if (!recursive) throw new mastra.IsDirectoryError(src);
        for (const { path, type } of await below(src, from, 'recursive')) {
          if (type === 'directory') continue;
          await files.copy(`${from}/${path}`, `${to}/${path}`, { mode }).catch((error: unknown) => {
            if (overwrite || !hasCode(error, 'already_exists')) throw error;
          });
        }
      }),
    moveFile: (src, dest, { overwrite = true } = {}) =>
      run('moveFile', [src, dest], async (from, to) => {
        const { type } = await demand(src, from);
        if (from === to) return;
        try {
          return await files.rename(from, to);
        } catch (error) {
          // A move that is refused for another reason takes no file away.
          const mayReplace = overwrite && type === 'file' && hasCode(error, 'already_exists');
          if (!mayReplace || (await find(to))?.type !== 'file') throw error;
        }
        await files.remove(to);
        await files.rename(from, to);
      }),
    mkdir: (path) =>
      run('mkdir', [path], async (to) => {
        if ((await find(to))?.type === 'file') throw new mastra.FileExistsError(path);
      }),
    rmdir: (path, { recursive = false, force = false } = {}) =>
      run('rmdir', [path], async (from) => {
        if (force && (await find(from)) === undefined) return;
        await demandDirectory(path, from);
        if (!recursive) throw new mastra.DirectoryNotEmptyError(path);
        await files.remove(from);
      }),
    readdir: (path, wanted = {}) =>
      run('readdir', [path], async (from) =>
        listed(await below(path, from, wanted.recursive ? 'recursive' : undefined), wanted),
      ),
    walk: (path, wanted = {}) =>
      run('readdir', [path], async (from) => walked(await below(path, from, 'recursive'), wanted)),
    exists: (path) => run('stat', [path], async (from) => (await find(from)) !== undefined),
    stat: (path) =>
      run('stat', [path], async (from) => {
        const found = await demand(path, from);
        const shown = from.slice(root.length) || '/';
        const named = { name: shown.slice(shown.lastIndexOf('/') + 1), path: shown };
        if (found.type === 'directory') {
          return { ...named, type: 'directory', size: 0, createdAt: new Date(0), modifiedAt: new Date(0) };
        }
        const image = IMAGE_NAME.test(from) ? await files.read(from) : undefined;
        const mimeType = image && imageMediaType(parseGivenPath(from), image.bytes);
        const date = modifiedAt(found);
        return {
          ...named,
          type: 'file',
          size: found.size,
          createdAt: date,
          modifiedAt: date,
          ...(mimeType && { mimeType }),
        };
      }),
  };
}

/** Makes the date of a version. The store tells whole seconds: the milliseconds tell versions of one second apart. */
function modifiedAt({ modified, version }: FileStat): Date {
  const digest = Array.from(version).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 997, 0);
  return dateOf(modified.getTime() + digest);
}

function isName(segment: string): boolean {
  return segment !== '' && segment !== '.';
}

function parentOf(path: string): string {
  return path.split('/').filter(isName).slice(0, -1).join('/') || '/';
}
