import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openFolderObjectStore } from '../../../src/store/folder.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';

const KEY = 'pipe' as ObjectKey;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pipes-'));
  // Node has no call of its own for it.
  const program = 'mkfifo';
  execFileSync(program, [join(folder, KEY)]);
});
afterEach(() => rmSync(folder, { recursive: true }));

it('a folder of objects lists a pipe, and does not open it', async () => {
  const store = openFolderObjectStore({ path: folder });
  for await (const { objects } of store.list({ prefix: '' }))
    expect(objects).toMatchObject([{ key: KEY, size: 0 }]);
  await expect(store.get(KEY)).rejects.toMatchObject({ code: 'access_denied' });
  await expect(store.head(KEY)).rejects.toMatchObject({ code: 'access_denied' });
});

it.each([false, true])(
  'a database is not looked for behind a pipe (for reading alone: %s)',
  async (readOnly) => {
    await using store = openSqliteObjectStore({ path: join(folder, KEY), readOnly });
    await expect(store.get(KEY)).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('must name a file'),
    });
    expect(readdirSync(folder)).toEqual([KEY]);
  },
);
