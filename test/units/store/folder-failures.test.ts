import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openFolderObjectStore } from '../../../src/store/folder.ts';
import { openFile } from '../../../src/store/folder-files.ts';

let failing: string | undefined;
/** The deed of another process between the look at a file and its opening. */
let afterLook: (() => void) | undefined;
/** Stands around the reads of the file that is opened next. */
let aroundRead: ((read: FileHandle['read'], call: Parameters<Read>) => ReturnType<Read>) | undefined;
let opened: FileHandle[] = [];
let foldersRead: string[] = [];
type Read = (body: Uint8Array, at: number, length: number, from: number) => Promise<{ bytesRead: number }>;
vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof import('node:fs/promises')>();
  return {
    ...actual,
    async open(...args: Parameters<typeof actual.open>) {
      const handle = await actual.open(...args);
      opened.push(handle);
      const around = aroundRead;
      const read = handle.read.bind(handle);
      if (around !== undefined)
        Object.assign(handle, { read: (...call: Parameters<Read>) => around(read, call) });
      return handle;
    },
    readdir(...args: Parameters<typeof actual.readdir>) {
      foldersRead.push(String(args[0]));
      return actual.readdir(...args);
    },
    async lstat(...args: Parameters<typeof actual.lstat>) {
      if (failing === undefined) {
        const stats = await actual.lstat(...args);
        afterLook?.();
        return stats;
      }
      const words = new Error(`${failing}: lstat '${String(args[0])}'`);
      return Promise.reject(Object.assign(words, { code: failing, syscall: 'lstat', path: args[0] }));
    },
  };
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'folder-failures-'));
  writeFileSync(join(folder, 'a'), 'text');
});
afterEach(() => {
  [failing, afterLook, aroundRead, opened, foldersRead] = [undefined, undefined, undefined, [], []];
  rmSync(folder, { recursive: true });
});

it.each([
  ['EMFILE', 'unavailable'],
  ['ENFILE', 'unavailable'],
  ['EAGAIN', 'unavailable'],
  ['EINTR', 'unavailable'],
  ['ENOMEM', 'unavailable'],
  ['EACCES', 'access_denied'],
  ['EIO', 'access_denied'],
])('what the file system refuses with %s is %s, and no path is told', async (code, expected) => {
  const store = openFolderObjectStore({ path: folder });
  failing = code;
  for (const asking of [store.get('a' as ObjectKey), store.head('a' as ObjectKey)]) {
    const error: unknown = await asking.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: expected, cause: { code } });
    expect(inspect(error)).not.toContain(folder);
  }
});

it.each(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EISDIR'])(
  'what does not exist by %s is no object',
  async (code) => {
    const store = openFolderObjectStore({ path: folder });
    failing = code;
    expect(await store.get('a' as ObjectKey)).toBeUndefined();
    expect(await store.head('a' as ObjectKey)).toBeUndefined();
  },
);

it('what the file system refuses without a code is told as an unknown error', async () => {
  const store = openFolderObjectStore({ path: folder });
  afterLook = () => {
    throw new Error(folder);
  };
  await expect(store.head('a' as ObjectKey)).rejects.toMatchObject({
    code: 'access_denied',
    message: expect.stringContaining('(unknown error)'),
  });
});

const KEY = 'a' as ObjectKey;
const CONTENT = new TextEncoder().encode('text');
const denied = { code: 'access_denied' };

it.each<[string, () => void]>([
  ['a link', () => symlinkSync(join(folder, 'other'), join(folder, 'a'))],
  ['a folder', () => mkdirSync(join(folder, 'a'))],
])('a file that became %s after it was looked at is not read', async (_, replace) => {
  writeFileSync(join(folder, 'other'), 'other');
  const store = openFolderObjectStore({ path: folder });
  afterLook = () => {
    rmSync(join(folder, 'a'));
    replace();
  };
  await expect(store.get(KEY)).rejects.toMatchObject(denied);
  expect(opened.map(({ fd }) => fd)).toEqual(opened.map(() => -1));
});

it('a file that became a folder after it was looked at is not opened', async () => {
  afterLook = () => {
    rmSync(join(folder, 'a'));
    mkdirSync(join(folder, 'a'));
  };
  await expect(openFile(folder, ['a'])).rejects.toMatchObject(denied);
});

it('a file that went after it was looked at is no object', async () => {
  const store = openFolderObjectStore({ path: folder });
  afterLook = () => rmSync(join(folder, 'a'));
  expect(await store.get(KEY)).toBeUndefined();
});

it('a file that is read in pieces is read whole, and closed', async () => {
  const pieces: number[] = [];
  aroundRead = (read, [body, at, length, from]) => {
    if (at + length > body.length) throw new RangeError('more than there is room for');
    pieces.push(length);
    return read(body, at, Math.min(length, 3), from);
  };
  const store = openFolderObjectStore({ path: folder });
  expect(await store.get(KEY)).toMatchObject({ body: CONTENT });
  expect(pieces).toEqual([4, 1]);
  expect(opened.map(({ fd }) => fd)).toEqual([-1]);
});

it('a file that ends too early is unavailable', async () => {
  aroundRead = async () => ({ bytesRead: 0 });
  const store = openFolderObjectStore({ path: folder });
  await expect(store.get(KEY)).rejects.toMatchObject({ code: 'unavailable' });
});

it('a file that cannot be read to its end is denied, by its cause, and closed', async () => {
  aroundRead = () => Promise.reject(Object.assign(new Error(folder), { code: 'EIO' }));
  const store = openFolderObjectStore({ path: folder });
  const error: unknown = await store.get(KEY).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ ...denied, cause: { code: 'EIO' } });
  expect(inspect(error)).not.toContain(folder);
  expect(opened.map(({ fd }) => fd)).toEqual([-1]);
});

it('a folder that lies before the beginning of a listing is not read', async () => {
  for (const name of ['b', 'c']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'file'), '');
  }
  const store = openFolderObjectStore({ path: folder });
  foldersRead = [];
  const names: string[] = [];
  for await (const { objects } of store.list({ prefix: '', startAfter: 'b0' }))
    names.push(...objects.map(({ key }) => key));
  expect(names).toEqual(['c/file']);
  expect(foldersRead.map((path) => path.replace(/\/$/, '').slice(-2))).not.toContain('/b');
});
