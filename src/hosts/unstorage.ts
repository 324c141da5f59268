import type { Driver, StorageMeta } from 'unstorage';
import { damagedFile, hasCode, MemoryError } from '../errors.ts';
import { parseGivenPath, parseMemoryPath } from '../language/path.ts';
import type { Memory } from '../tool/memory-tool.ts';

export interface MemoryDriverOptions {
  /** The directory in which the keys begin; `/memories` unless given. */
  readonly directory?: string;
}

/** The facts of an item that need no read of it. */
export interface MemoryItemMeta extends StorageMeta {
  mtime: Date;
  size: number;
  /** The name of the stored version. */
  version: string;
}

/**
 * Makes the files of a memory a driver of unstorage: the key `notes:plan.md` is the file `/memories/notes/plan.md`.
 * Like a file, an item cannot have others below its key. The driver watches no changes, and other processes may write
 * to the store. The caller still closes the memory.
 */
export function memoryDriver({ files }: Pick<Memory, 'files'>, options: MemoryDriverOptions = {}): Driver {
  const root = parseMemoryPath(options.directory ?? '/memories');
  // Without a base unstorage passes undefined, whatever its types say.
  const at = (key = ''): string =>
    parseGivenPath([root, ...key.split(':').filter((segment) => segment !== '')].join('/'));

  const statOf = async (key: string) => {
    const found = await files.stat(at(key));
    return found?.type === 'file' ? found : undefined;
  };

  const removeIfThere = async (path: string): Promise<void> => {
    await files.remove(path).catch((error: unknown) => {
      if (!hasCode(error, 'not_found')) throw error;
    });
  };

  return {
    name: 'sealed-memory',
    flags: { maxDepth: true },
    options,
    hasItem: async (key) => (await statOf(key)) !== undefined,
    getItem: async (key) => (await files.read(at(key)))?.text() ?? null,
    getItemRaw: async (key) => (await files.read(at(key)))?.bytes ?? null,
    setItem: async (key, value) => void (await files.write(at(key), value)),
    setItemRaw: async (key, value) => void (await files.write(at(key), contentOf(value))),
    async removeItem(key) {
      // A directory stays, because items lie below it.
      const found = await files.stat(at(key)).catch(damagedFile);
      if (found?.type === 'file') await removeIfThere(at(key));
    },
    async getMeta(key): Promise<MemoryItemMeta | null> {
      const found = await statOf(key);
      return found ? { mtime: found.modified, size: found.size, version: found.version } : null;
    },
    async getKeys(base, { maxDepth = Number.POSITIVE_INFINITY } = {}) {
      const keys: string[] = [];
      for await (const { type, path } of files.list(at(base), { recursive: maxDepth > 0 })) {
        const names = path.slice(root.length + 1).split('/');
        if (type === 'file' && names.length <= maxDepth + 1) keys.push(names.join(':'));
      }
      return keys;
    },
    async clear(base) {
      const directory = at(base);
      if (directory !== root && (await files.stat(directory))?.type === 'directory')
        return removeIfThere(directory);
      const below: string[] = [];
      if (directory === root) for await (const { path } of files.list(root)) below.push(path);
      for (const path of below) await removeIfThere(path);
    },
  };
}

function contentOf(value: unknown): string | Uint8Array {
  if (typeof value === 'string' || value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new MemoryError('invalid_command', 'A raw value must be a text, an ArrayBuffer or a view of one.');
}
