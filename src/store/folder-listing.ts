import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectKey } from '../format/object-keys.ts';

import { throwIfAborted } from '../time.ts';
import { isFolder, metaOf, orNothing } from './folder-files.ts';
import type { ListedObject, ListOptions } from './port.ts';

type Request = Pick<ListOptions, 'prefix' | 'startAfter' | 'signal'>;

/**
 * What a listing of the folder shows, in UTF-8 byte order. At any time it holds the names in the folders on the way
 * to one file. What is neither a file nor a folder is listed as an object, which cannot be read.
 */
export async function* objectsIn(root: string, request: Request): AsyncGenerator<ListedObject, void> {
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
