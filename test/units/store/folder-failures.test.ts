import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openFolderObjectStore } from '../../../src/store/folder.ts';

let failing: string | undefined;
vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof import('node:fs/promises')>();
  return {
    ...actual,
    lstat(...args: Parameters<typeof actual.lstat>) {
      if (failing === undefined) return actual.lstat(...args);
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
  failing = undefined;
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

it.each(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'])('what does not exist by %s is no object', async (code) => {
  const store = openFolderObjectStore({ path: folder });
  failing = code;
  expect(await store.get('a' as ObjectKey)).toBeUndefined();
  expect(await store.head('a' as ObjectKey)).toBeUndefined();
});
