import { type BigIntStats, constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MemoryError } from '../errors.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { once, throwIfAborted } from '../time.ts';
import { fileCodeOf, redactedFileCause } from './failures.ts';
import {
  type ETag,
  type GetOptions,
  KEYS_PER_REQUEST,
  type ListedObject,
  type ListOptions,
  type ListPage,
  type ObjectMeta,
  type ObjectStore,
  type StoredObject,
} from './port.ts';

interface FolderStoreOptions {
  /** The folder whose files are the objects; their keys are their paths below it, with slashes. */
  readonly path: string;
  readonly clock?: () => number;
}

/**
 * Raw objects as files, the way tools that copy buckets lay them down: for reading only, `put` and `delete` throw
 * `read_only`. Links below the folder are never followed and special files never opened: reading one throws
 * `access_denied`. The folder is expected to stay as it is; a file that changes while it is read is `unavailable`.
 */
export function openFolderObjectStore(options: FolderStoreOptions): ObjectStore {
  const clock = options.clock ?? Date.now;
  const findRoot = once(() => folderAt(options.path));

  const openRoot = async (signal: AbortSignal | undefined): Promise<string> => {
    throwIfAborted(signal);
    return findRoot();
  };

  async function* list(request: ListOptions): AsyncGenerator<ListPage, void> {
    const maxKeys = Math.min(request.maxKeys ?? KEYS_PER_REQUEST, KEYS_PER_REQUEST);
    let objects: ListedObject[] = [];
    for await (const object of objectsIn(await openRoot(request.signal), request)) {
      if (objects.length === maxKeys) {
        yield { objects, servedAt: clock() };
        objects = [];
      }
      objects.push(object);
    }
    yield { objects, servedAt: clock() };
  }

  return {
    async get(key, request = {}) {
      const file = await openFile(await openRoot(request.signal), key.split('/'));
      if (file === undefined) return undefined;
      try {
        return await readObject(file, request, clock);
      } finally {
        await file.close();
      }
    },
    async head(key, request) {
      const stats = await statFile(await openRoot(request?.signal), key.split('/'));
      return stats && { ...metaOf(stats), servedAt: clock() };
    },
    put: refuse,
    delete: refuse,
    list,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The folder may be named through a link; that is the caller's own choice. */
async function folderAt(path: string): Promise<string> {
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

async function readObject(
  file: FileHandle,
  { maxBytes = Number.MAX_SAFE_INTEGER, ifNoneMatch, signal }: GetOptions,
  clock: () => number,
): Promise<StoredObject | 'not_modified'> {
  const meta = metaOf(await file.stat({ bigint: true }));
  if (meta.etag === ifNoneMatch) return 'not_modified';
  if (meta.size > maxBytes) {
    throw new MemoryError('limit_exceeded', 'The stored object is larger than the caller accepts.', {
      details: { limit: 'object_bytes', value: meta.size, max: maxBytes },
    });
  }
  const body = new Uint8Array(meta.size);
  let filled = 0;
  while (filled < body.length) {
    throwIfAborted(signal);
    const { bytesRead } = await file.read(body, filled, body.length - filled, filled).catch(readFailed);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  if (filled < body.length || metaOf(await file.stat({ bigint: true })).etag !== meta.etag) {
    throw new MemoryError('unavailable', 'A file of the folder changed while it was read.');
  }
  return { body, ...meta, servedAt: clock() };
}

function readFailed(error: unknown): never {
  throw new MemoryError('access_denied', 'A file of the folder cannot be read to its end.', {
    cause: redactedFileCause(error),
  });
}

async function refuse(): Promise<never> {
  throw new MemoryError('read_only', 'A folder of objects is for reading only.');
}

type Request = Pick<ListOptions, 'prefix' | 'startAfter' | 'signal'>;

/**
 * What a listing of the folder shows, in UTF-8 byte order. At any time it holds the names in the folders on the way
 * to one file. What is neither a file nor a folder is listed as an object, which cannot be read.
 */
async function* objectsIn(root: string, request: Request): AsyncGenerator<ListedObject, void> {
  const folder = request.prefix.slice(0, request.prefix.lastIndexOf('/') + 1);
  if (folder !== '' && !(await isFolder(root, folder.slice(0, -1).split('/')))) return;
  yield* objectsBelow(root, folder, request);
}

/** `folder` is empty or ends in a slash. */
async function* objectsBelow(
  root: string,
  folder: string,
  request: Request,
): AsyncGenerator<ListedObject, void> {
  const { prefix, startAfter = '', signal } = request;
  throwIfAborted(signal);
  for (const { key, isDirectory } of await namesIn(root, folder)) {
    if (!key.startsWith(prefix)) continue;
    if (isDirectory) {
      if (!startAfter.startsWith(key) && compareUtf8(key, startAfter) <= 0) continue;
      yield* objectsBelow(root, key, { prefix: key, startAfter, signal });
    } else if (compareUtf8(key, startAfter) > 0) {
      throwIfAborted(signal);
      const stats = await orNothing(lstat(join(root, ...key.split('/')), { bigint: true }));
      if (stats !== undefined) yield { key: key as ObjectKey, ...metaOf(stats) };
    }
  }
}

interface Name {
  /** Ends in a slash for a folder. */
  readonly key: string;
  readonly isDirectory: boolean;
}

async function namesIn(root: string, folder: string): Promise<readonly Name[]> {
  const path = join(root, ...folder.split('/'));
  const found = await orNothing<Dirent[]>(readdir(path, { withFileTypes: true }));
  return (found ?? [])
    .map((entry) => {
      const isDirectory = entry.isDirectory();
      return { key: `${folder}${entry.name}${isDirectory ? '/' : ''}`, isDirectory };
    })
    .sort((a, b) => compareUtf8(a.key, b.key));
}

/** The order of the UTF-8 bytes, which is that of code points: UTF-16 puts those above U+FFFF too early. */
function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Nothing lies at the name, or nothing can: on the way to it there is a file. */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EISDIR']);
/** What the machine lacks now and may have later. */
const PASSING: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EINTR', 'ENOMEM']);

/**
 * What lies at the place that the parts of a key name; undefined when nothing does, or a folder. Links are not
 * followed, wherever they stand.
 *
 * @throws MemoryError `access_denied` for a link or special file, at the place or on the way to it.
 */
async function statFile(root: string, parts: readonly string[]): Promise<BigIntStats | undefined> {
  if (!parts.every(isName)) return undefined;
  const stats = await statOrNothing(root, parts);
  if (stats === undefined || stats.isDirectory()) return undefined;
  if (!stats.isFile()) throw notAnObject();
  return stats;
}

/** Opens the regular file at the place for reading; undefined and failures as `statFile`. */
async function openFile(root: string, parts: readonly string[]): Promise<FileHandle | undefined> {
  if ((await statFile(root, parts)) === undefined) return undefined;
  // Should it have been replaced since: neither a link nor a pipe is waited for.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await orNothing(open(join(root, ...parts), flags));
  if (handle === undefined || (await handle.stat()).isFile()) return handle;
  await handle.close();
  throw notAnObject();
}

/** Whether a folder, and no link to one, lies at the place. @throws MemoryError as `statFile`. */
async function isFolder(root: string, parts: readonly string[]): Promise<boolean> {
  if (!parts.every(isName)) return false;
  const stats = await statOrNothing(root, parts);
  if (stats?.isSymbolicLink()) throw notAnObject();
  return stats?.isDirectory() ?? false;
}

/** How the file is described as an object. Its ETag changes with every write to it. */
function metaOf(stats: BigIntStats): ObjectMeta {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  const etag = `"${[dev, ino, size, mtimeNs, ctimeNs].map((fact) => fact.toString(36)).join('-')}"`;
  return { etag: etag as ETag, size: Number(size), lastModified: Number(mtimeNs / 1_000_000n) };
}

/** What the file system said; undefined when that means that nothing is there. */
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
    if (!above?.isDirectory()) return undefined;
  }
  return orNothing(lstat(join(root, ...parts), { bigint: true }));
}

/** Whether a part of a key can be the name of a file: it never leads elsewhere. */
function isName(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..' && !/[\0\\/]/.test(part);
}

function notAnObject(): MemoryError {
  return new MemoryError(
    'access_denied',
    'Where an object should lie in the folder there is a link or a special file; those are never followed.',
  );
}
