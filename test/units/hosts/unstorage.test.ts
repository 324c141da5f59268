import {
  createStorage,
  type Driver,
  restoreSnapshot,
  type Storage,
  type StorageValue,
  snapshot,
} from 'unstorage';
import plainMemoryDriver from 'unstorage/drivers/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryDriver } from '../../../src/hosts/unstorage.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';

let memory: Memory;
const opened: Memory[] = [];

async function open(options: Partial<MemoryOptions> = {}): Promise<Memory> {
  const rootKey = new Uint8Array(32).fill(7);
  const each = await openMemory({ store: 'memory:', tenant: 'acme', rootKey, ...options });
  opened.push(each);
  return each;
}

beforeEach(async () => {
  memory = await open();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

/** The memory does what unstorage's own driver does. */
describe.each([
  ["unstorage's driver in memory", plainMemoryDriver],
  ['a memory as a driver', () => memoryDriver(memory)],
])('%s', (_, driver: () => Driver) => {
  let storage: Storage;
  beforeEach(() => {
    storage = createStorage({ driver: driver() });
  });

  it('has nothing to begin with, and clears nothing', async () => {
    expect(await storage.hasItem('a:b')).toBe(false);
    expect(await storage.getItem('a:b')).toBeNull();
    expect(await storage.getItemRaw('a:b')).toBeNull();
    expect(await storage.getKeys()).toEqual([]);
    await storage.clear();
    await storage.clear('a');
    await storage.removeItem('a:b');
  });

  it('keeps texts, numbers, truths and objects as they are', async () => {
    const values = { text: 'Grüße', number: 0, truth: false, object: { deep: [1, 'a'] }, empty: '' };
    for (const [key, value] of Object.entries(values)) {
      await storage.setItem(`values:${key}`, value);
      expect(await storage.getItem(`values:${key}`)).toEqual(value);
      expect(await storage.hasItem(`values:${key}`)).toBe(true);
    }
    await storage.setItem('values:text', 'new');
    expect(await storage.getItem('/values/text?x=1')).toBe('new');
    await expect(storage.setItem('bad', new (class {})())).rejects.toThrow();
    expect(await storage.getKeys('bad')).toEqual([]);
  });

  it('keeps bytes as they are', async () => {
    const bytes = Uint8Array.of(0, 1, 0xff, 0xfe);
    await storage.setItemRaw('raw.bin', bytes);
    expect(Buffer.from((await storage.getItemRaw('raw.bin')) ?? '')).toEqual(Buffer.from(bytes));
    await storage.setItemRaw('raw.txt', 'text');
    expect(Buffer.from((await storage.getItemRaw('raw.txt')) ?? '').toString()).toBe('text');
  });

  it('reads and writes many at once', async () => {
    await storage.setItems<StorageValue>([
      { key: 'm:1', value: 'one' },
      { key: 'm:2', value: { two: 2 } },
    ]);
    expect(await storage.getItems(['m:1', { key: 'm:2?q' }, 'm:3'])).toEqual([
      { key: 'm:1', value: 'one' },
      { key: 'm:2', value: { two: 2 } },
      { key: 'm:3', value: null },
    ]);
  });

  it('lists keys by base and by depth', async () => {
    for (const key of ['top', 'd0:one', 'd0:two', 'd0:d1:deep', 'd0:d1:deeper', 'd00:other']) {
      await storage.setItem(key, 'x');
    }
    const keys = async (...args: Parameters<Storage['getKeys']>) => (await storage.getKeys(...args)).sort();
    expect(await keys()).toEqual(['d00:other', 'd0:d1:deep', 'd0:d1:deeper', 'd0:one', 'd0:two', 'top']);
    expect(await keys('d0')).toEqual(['d0:d1:deep', 'd0:d1:deeper', 'd0:one', 'd0:two']);
    expect(await keys('d0:d1:')).toEqual(['d0:d1:deep', 'd0:d1:deeper']);
    expect(await keys('none')).toEqual([]);
    expect(await keys(undefined, { maxDepth: 0 })).toEqual(['top']);
    expect(await keys(undefined, { maxDepth: 1 })).toEqual(['d00:other', 'd0:one', 'd0:two', 'top']);
    expect(await keys('d0', { maxDepth: 1 })).toEqual(['d0:one', 'd0:two']);
  });

  it('removes an item and nothing below its key, and clears all', async () => {
    for (const key of ['a:1', 'a:2', 'a:b:3', 'c:4']) await storage.setItem(key, 'x');
    await storage.removeItem('a:1');
    await storage.removeItem('a:b');
    expect((await storage.getKeys()).sort()).toEqual(['a:2', 'a:b:3', 'c:4']);
    await storage.clear();
    expect(await storage.getKeys()).toEqual([]);
  });

  it('keeps metadata beside an item', async () => {
    const day = new Date('2030-01-02T03:04:05Z');
    await storage.setItem('doc', 'x');
    await storage.setMeta('doc', { mtime: day, owner: 'Ada' });
    expect(await storage.getMeta('doc')).toMatchObject({ mtime: day, owner: 'Ada' });
    await storage.removeItem('doc', { removeMeta: true });
    expect(await storage.getKeys()).toEqual([]);
  });

  it('tells the process of its own changes, and takes snapshots', async () => {
    const seen: string[] = [];
    const stop = await storage.watch((event, key) => void seen.push(`${event} ${key}`));
    await restoreSnapshot(storage, { 'a:b': '1', c: 'two' });
    await storage.removeItem('c');
    expect(seen.sort()).toEqual(['remove c', 'update a:b', 'update c']);
    expect(await snapshot(storage, '')).toEqual({ 'a:b': 1 });
    await stop();
  });
});

describe('a memory as a driver', () => {
  it('keeps items as files, in a directory of its own if told so', async () => {
    const storage = createStorage();
    storage.mount('notes', memoryDriver(memory, { directory: '/memories/app' }));
    await storage.setItem('notes:plan:today.md', 'rest');
    expect((await memory.files.read('/memories/app/plan/today.md'))?.text()).toBe('rest');
    await memory.files.write('/memories/outside', 'x');
    expect(await storage.getKeys()).toEqual(['notes:plan:today.md']);
    await storage.clear();
    expect(await memory.files.exists('/memories/outside')).toBe(true);
    expect(await storage.getKeys()).toEqual([]);
  });

  it('clears what lies below a base, and neither its neighbours nor an item', async () => {
    const storage = createStorage({ driver: memoryDriver(memory) });
    for (const key of ['a:1', 'a:b:2', 'ab:3', 'c']) await storage.setItem(key, 'x');
    // Unstorage itself tells no driver of a base below a mount.
    const driver = memoryDriver(memory);
    for (const base of ['a:', 'c:', 'none:']) await driver.clear?.(base, {});
    expect((await storage.getKeys()).sort()).toEqual(['ab:3', 'c']);
  });

  it('tells size, date and version of an item, and nothing of what is none', async () => {
    const storage = createStorage({ driver: memoryDriver(memory) });
    await storage.setItem('d:doc', 'four');
    const file = await memory.files.stat('/memories/d/doc');
    if (file?.type !== 'file') throw new Error('the file is not there');
    const meta = { size: 4, mtime: file.modified, version: file.version };
    expect(await storage.getMeta('d:doc', { nativeOnly: true })).toEqual(meta);
    expect(await storage.getMeta('d', { nativeOnly: true })).toEqual({});
    expect(await storage.hasItem('d')).toBe(false);
    expect(await storage.getItem('d')).toBeNull();
  });

  it.each([
    new Uint8Array([1, 2]).buffer,
    new Uint16Array([513]),
    new DataView(new Uint8Array([9, 1, 2, 9]).buffer, 1, 2),
  ])('takes any form of bytes, and nothing that is no bytes: case %#', async (value) => {
    const driver = memoryDriver(memory);
    await driver.setItemRaw?.('raw', value, {});
    expect(await driver.getItemRaw?.('raw', {})).toEqual(Uint8Array.of(1, 2));
    await expect(driver.setItemRaw?.('raw', { no: 'bytes' }, {})).rejects.toMatchObject({
      code: 'invalid_command',
    });
    expect(await driver.getItemRaw?.('raw', {})).toEqual(Uint8Array.of(1, 2));
  });

  it('refuses what a file cannot be, and says which rule it breaks', async () => {
    const storage = createStorage({ driver: memoryDriver(memory) });
    await storage.setItem('a', 'x');
    await expect(storage.setItem('a:b', 'x')).rejects.toMatchObject({ code: 'already_exists' });
    await expect(storage.setItem('..:b', 'x')).rejects.toThrow();
    await storage.setItemRaw('binary', Uint8Array.of(0xff));
    await expect(storage.getItem('binary')).rejects.toMatchObject({ code: 'not_text' });
    const readOnly = createStorage({ driver: memoryDriver(await open({ readOnly: true })) });
    await expect(readOnly.setItem('a', 'x')).rejects.toMatchObject({ code: 'read_only' });
    expect((await storage.getKeys()).sort()).toEqual(['a', 'binary']);
  });

  it('stays open when the storage is disposed of', async () => {
    const storage = createStorage({ driver: memoryDriver(memory) });
    await storage.setItem('a', 'x');
    await storage.dispose();
    expect(await memory.files.exists('/memories/a')).toBe(true);
  });
});
