import { type BigIntStats, constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MemoryError } from '../errors.ts';
import { fileCodeOf, redactedFileCause } from './failures.ts';

/** Node's codes for a path at which nothing lies, or nothing can: a file lies on the way to it. */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EISDIR']);
/** Node's codes for what the machine lacks now and may have later. */
const PASSING: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EINTR', 'ENOMEM']);

/** The folder's real path. It may be named through a link; that is the caller's own choice. */
export async function findFolder(path: string): Promise<string> {
  try {
    const real = await realpath(path);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    throw new MemoryError('misconfigured', 'The folder of objects does not exist or cannot be opened.', {
      cause: redactedFileCause(error),
    });
  }
  throw new MemoryError('misconfigured', 'What is named as the folder of objects is no folder.');
}

/**
 * Finds the file at the place that the parts of a key name, and follows no link, wherever it stands; undefined when
 * nothing lies there, or a folder.
 *
 * @throws MemoryError `access_denied` for a link or special file, at the place or on the way to it.
 */
export async function statFile(root: string, parts: readonly string[]): Promise<BigIntStats | undefined> {
  if (!parts.every(isName)) return undefined;
  const stats = await statOrNothing(root, parts);
  if (stats === undefined || stats.isDirectory()) return undefined;
  if (!stats.isFile()) throw notAnObject();
  return stats;
}

/** Opens the regular file at the place for reading; undefined and failures as `statFile`. */
export async function openFile(root: string, parts: readonly string[]): Promise<FileHandle | undefined> {
  if ((await statFile(root, parts)) === undefined) return undefined;
  // The file may have been replaced since: a link is not followed, and a pipe is not waited for.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await orNothing(open(join(root, ...parts), flags));
  if (handle === undefined || (await handle.stat()).isFile()) return handle;
  await handle.close();
  throw notAnObject();
}

/** Tells whether a folder, and no link to one, lies at the place. @throws MemoryError as `statFile`. */
export async function isFolder(root: string, parts: readonly string[]): Promise<boolean> {
  if (!parts.every(isName)) return false;
  const stats = await statOrNothing(root, parts);
  if (stats?.isSymbolicLink()) throw notAnObject();
  return stats?.isDirectory() ?? false;
}

/** Reads the names directly in the folder, in no order; empty when there is no folder. */
export async function readNames(
  root: string,
  parts: readonly string[],
): Promise<readonly { readonly name: string; readonly isDirectory: boolean }[]> {
  const found = await orNothing<Dirent[]>(readdir(join(root, ...parts), { withFileTypes: true }));
  return (found ?? []).map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }));
}

/** Finds whatever lies at a place that was listed, a link or special file too; undefined when nothing does any more. */
export function statPlace(root: string, parts: readonly string[]): Promise<BigIntStats | undefined> {
  return orNothing(lstat(join(root, ...parts), { bigint: true }));
}

/**
 * Awaits an answer of the file system; undefined when it says that nothing lies at the place.
 *
 * @throws MemoryError `unavailable` for a shortage that may pass, `access_denied` for any other failure.
 */
async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const code = fileCodeOf(error) ?? '';
    if (ABSENT.has(code)) return undefined;
    throw new MemoryError(
      PASSING.has(code) ? 'unavailable' : 'access_denied',
      `A file of the folder cannot be read (${code || 'unknown error'}).`,
      { cause: redactedFileCause(error) },
    );
  }
}

async function statOrNothing(root: string, parts: readonly string[]): Promise<BigIntStats | undefined> {
  for (let depth = 1; depth < parts.length; depth++) {
    const above = await orNothing(lstat(join(root, ...parts.slice(0, depth))));
    if (above?.isSymbolicLink()) throw notAnObject();
  }
  return statPlace(root, parts);
}

/** Tells whether a part of a key can be the name of a file, which never leads elsewhere. */
function isName(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..' && !/[\0\\/]/.test(part);
}

function notAnObject(): MemoryError {
  return new MemoryError(
    'access_denied',
    'Where an object should lie in the folder there is a link or a special file; those are never followed.',
  );
}
