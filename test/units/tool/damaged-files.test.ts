import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { sealedSize, TOMBSTONE_BYTES } from '../../../src/format/sizes.ts';
import { memoryDriver } from '../../../src/hosts/unstorage.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { FileEntry } from '../../../src/tool/files.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';

const PATH = '/memories/a.md';
const OTHER = '/memories/b.md';
/** The size of an object that holds nothing. */
const LEAST = sealedSize(0);

describe.each([0, 1, 7, TOMBSTONE_BYTES, LEAST - 1])(
  'an object of %i bytes in the place of a file',
  (size) => {
    let store: ObjectStore;
    let options: MemoryOptions;
    let memory: Memory;
    const warnings: string[] = [];
    beforeEach(async () => {
      warnings.length = 0;
      store = openSqliteObjectStore({ path: ':memory:' });
      const quiet = (): void => {};
      const logger = {
        debug: quiet,
        info: quiet,
        error: quiet,
        warn: (line: string) => void warnings.push(line),
      };
      options = { store, tenant: 'acme', rootKey: randomBytes(32), logger };
      memory = await openMemory(options);
      for (const path of [PATH, OTHER]) await memory.files.write(path, 'text');
      const admin = await openAdmin(options);
      const key = (await admin.encodeName(PATH)) as ObjectKey;
      await admin.close();
      await store.put(key, new Uint8Array(size), { mode: 'overwrite' });
    });
    afterEach(async () => {
      await memory.close();
      await store[Symbol.asyncDispose]();
    });

    const list = async (recursive: boolean): Promise<readonly FileEntry[]> => {
      const found: FileEntry[] = [];
      for await (const entry of memory.files.list('/memories', { recursive })) found.push(entry);
      return found;
    };

    it('is told as damaged by its name, in the same words whether it is read or only looked at', async () => {
      const read = await memory.files.read(PATH).catch((error: unknown) => error);
      const stat = await memory.files.stat(PATH).catch((error: unknown) => error);
      expect(stat).toMatchObject({ code: 'integrity', details: {} });
      expect(stat).toMatchObject({ message: (read as Error).message });
      expect(await memory.files.exists(PATH)).toBe(true);
    });

    it('is in no listing as a file of nothing, and said to be passed over', async () => {
      for (const recursive of [true, false]) {
        warnings.length = 0;
        expect(await list(recursive)).toMatchObject([{ path: OTHER, size: 4 }]);
        expect(warnings.join()).toContain('passed over');
      }
      const shown = await memory.execute({ command: 'view', path: '/memories' });
      expect(String(shown.content)).not.toContain('a.md');
    });

    it('goes when it is deleted', async () => {
      await memory.files.remove(PATH);
      expect(await memory.files.exists(PATH)).toBe(false);
    });

    it('goes when it is deleted by its key of unstorage', async () => {
      const driver = memoryDriver(memory);
      await driver.removeItem?.('a.md', {});
      expect(await memory.files.exists(PATH)).toBe(false);
      expect(await driver.getKeys('', {})).toEqual(['b.md']);
    });
  },
);
