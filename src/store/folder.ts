import type { FileHandle } from 'node:fs/promises';
import { realpath, stat } from 'node:fs/promises';

import { MemoryError } from '../errors.ts';
import { once, throwIfAborted } from '../time.ts';
import { tellableFileCause } from './file-failure.ts';
import { metaOf, openFile, statFile } from './folder-files.ts';
import { objectsIn } from './folder-listing.ts';
import {
  type GetOptions,
  KEYS_PER_REQUEST,
  type ListedObject,
  type ListOptions,
  type ListPage,
  type ObjectStore,
  type StoredObject,
} from './port.ts';

export interface FolderStoreOptions {
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
      cause: tellableFileCause(error),
    });
  }
  throw new MemoryError('misconfigured', 'What is named as the folder of objects is no folder.');
}

async function readObject(
  file: FileHandle,
  { maxBytes = Number.MAX_SAFE_INTEGER, signal }: GetOptions,
  clock: () => number,
): Promise<StoredObject> {
  const meta = metaOf(await file.stat({ bigint: true }));
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
    cause: tellableFileCause(error),
  });
}

async function refuse(): Promise<never> {
  throw new MemoryError('read_only', 'A folder of objects is for reading only.');
}
