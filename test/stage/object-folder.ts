import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { openFolderObjectStore } from '../../src/store/folder.ts';
import type { ObjectStore, PutMode } from '../../src/store/port.ts';
import { throwIfAborted } from '../../src/time.ts';

/** The folder store with a writing half for tests alone, which keeps no promise but that of one writer at a time. */
export function writableFolder(path: string): ObjectStore {
  const store = openFolderObjectStore({ path });
  const etagOf = async (key: ObjectKey) => (await store.head(key))?.etag;
  const conflictOf = async (key: ObjectKey, mode: PutMode) => {
    const current = await etagOf(key);
    if (mode === 'create') return current === undefined ? undefined : 'exists';
    if (mode === 'overwrite' || mode.ifMatch === current) return undefined;
    return current === undefined ? 'missing' : 'changed';
  };
  return {
    get: store.get,
    head: store.head,
    list: store.list,
    async put(key, body, { mode, signal }) {
      throwIfAborted(signal);
      const conflict = await conflictOf(key, mode);
      if (conflict !== undefined) return { conflict };
      await mkdir(dirname(join(path, key)), { recursive: true });
      await writeFile(join(path, key), body);
      const etag = await etagOf(key);
      if (etag === undefined) throw new Error('what was written is not there');
      return { etag };
    },
    async delete(targets, options) {
      throwIfAborted(options?.signal);
      const failures = await Promise.all(
        targets.map(async ({ key, ifMatch }) => {
          const current = await etagOf(key);
          if (ifMatch === undefined || ifMatch === current) {
            await rm(join(path, key), { force: true });
            return [];
          }
          const conflict = current === undefined ? ('missing' as const) : ('changed' as const);
          return [{ key, conflict }];
        }),
      );
      return failures.flat();
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Lays every object of a store down in a folder, as a tool that copies buckets does. */
export async function copyToFolder(store: ObjectStore, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for await (const { objects } of store.list({ prefix: '' })) {
    for (const { key } of objects) {
      const stored = await store.get(key);
      if (typeof stored !== 'object') continue;
      await mkdir(dirname(join(folder, key)), { recursive: true });
      await writeFile(join(folder, key), stored.body);
    }
  }
}

/** Reads every file below a folder: its path there, and its text. */
export async function textsIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const texts: Record<string, string> = {};
  for (const path of await filesIn(folder)) texts[path] = await readFile(join(folder, path), 'utf8');
  return texts;
}

/** Computes one digest over all files of a folder and their paths. */
export async function digestOf(folder: string): Promise<string> {
  const digest = createHash('sha256');
  for (const path of await filesIn(folder)) {
    digest.update(JSON.stringify(path)).update(await readFile(join(folder, path)));
  }
  return digest.digest('hex');
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
