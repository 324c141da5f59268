import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { MemoryError } from '../errors.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { once, throwIfAborted } from '../time.ts';
import { redactedFileCause } from './failures.ts';
import { findFolder, isFolder, openFile, readNames, statFile, statPlace } from './folder-files.ts';
import {
  compareUtf8,
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
  const findRoot = once(() => findFolder(options.path));

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

type FolderListing = Pick<ListOptions, 'prefix' | 'startAfter' | 'signal'>;

/**
 * Lists the objects that the folder shows, in UTF-8 byte order. At any time it holds the names in the folders on the
 * way to one file. A link or a special file is listed as an object, which cannot be read.
 */
async function* objectsIn(root: string, request: FolderListing): AsyncGenerator<ListedObject, void> {
  const folder = request.prefix.slice(0, request.prefix.lastIndexOf('/') + 1);
  if (folder !== '' && !(await isFolder(root, folder.slice(0, -1).split('/')))) return;
  yield* objectsBelow(root, folder, request);
}

/** `folder` is empty or ends in a slash. */
async function* objectsBelow(
  root: string,
  folder: string,
  request: FolderListing,
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
      const stats = await statPlace(root, key.split('/'));
      if (stats !== undefined) yield { key: key as ObjectKey, ...metaOf(stats) };
    }
  }
}

interface FolderEntry {
  /** Ends in a slash for a folder. */
  readonly key: string;
  readonly isDirectory: boolean;
}

async function namesIn(root: string, folder: string): Promise<readonly FolderEntry[]> {
  const names = await readNames(root, folder.split('/'));
  return names
    .map(({ name, isDirectory }) => ({ key: `${folder}${name}${isDirectory ? '/' : ''}`, isDirectory }))
    .sort((a, b) => compareUtf8(a.key, b.key));
}

/** Describes a file as an object, whose ETag changes with every write to the file. */
function metaOf(stats: BigIntStats): ObjectMeta {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  const etag = `"${[dev, ino, size, mtimeNs, ctimeNs].map((fact) => fact.toString(36)).join('-')}"`;
  return { etag: etag as ETag, size: Number(size), lastModified: Number(mtimeNs / 1_000_000n) };
}
