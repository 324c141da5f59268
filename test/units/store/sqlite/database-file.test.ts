import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { makeDatabaseFile } from '../../../../src/store/sqlite/database-file.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';

const KEY = 'data/file' as ObjectKey;
const BODY = new TextEncoder().encode('sealed bytes');

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'database-file-')));
  for (const name of ['real', 'other']) mkdirSync(join(folder, name));
  const links = {
    'to-nothing': 'real/made.db',
    'to-a-link': 'to-nothing',
    'to-a-file': 'real/empty.db',
    'to-a-directory': 'real',
    'to-no-directory': 'none/made.db',
    loop: 'loop',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder, name));
  writeFileSync(join(folder, 'real/empty.db'), '', { mode: 0o600 });
  workIn(folder);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** Stands for `process.chdir`, which a worker's thread does not have; `sqlite-store-processes.test.ts` calls that. */
function workIn(directory: string): void {
  vi.spyOn(process, 'cwd').mockReturnValue(directory);
}

async function put(path: string): Promise<void> {
  await using store = openSqliteObjectStore({ path });
  await store.put(KEY, BODY, { mode: 'create' });
}

describe('the path of a database', () => {
  it.each([
    ['a name', 'made.db', 'made.db'],
    ['a path with dots', './other/../made.db', 'made.db'],
    ['a name with the signs of a URI', 'a?mode=ro&b=c#d%20.db', 'a?mode=ro&b=c#d%20.db'],
    ['a name that looks like a URI', 'file:made.db', 'file:made.db'],
    ['a name beyond ASCII', 'gedächtnis 記憶.db', 'gedächtnis 記憶.db'],
    ['a link to an empty file', 'to-a-file', 'real/empty.db'],
    ['a link to a file that is to be made', 'to-nothing', 'real/made.db'],
    ['a link to such a link', 'to-a-link', 'real/made.db'],
    ['a file below a link to a directory', 'to-a-directory/made.db', 'real/made.db'],
  ])(
    'leads to one file for its owner alone, with all that belongs to it beside it: %s',
    async (_, path, file) => {
      const links = readdirSync(folder);
      await put(path);
      const beside = ['', '-journal', '-reserve'].map((end) => join(folder, file + end));
      for (const each of beside) expect(statSync(each).mode & 0o777, each).toBe(0o600);
      const foreign = readdirSync(folder).filter((name) => !links.includes(name));
      expect(foreign.map((name) => join(folder, name)).filter((name) => !beside.includes(name))).toEqual([]);
      await using reader = openSqliteObjectStore({ path: join(folder, file), readOnly: true });
      expect(await reader.get(KEY)).toMatchObject({ body: BODY });
    },
  );

  it.each([
    ['a directory', 'real'],
    ['a directory, with a slash', 'real/'],
    ['a file, with a slash', 'made.db/'],
    ['a link to a directory', 'to-a-directory'],
    ['a link into a directory that does not exist', 'to-no-directory'],
    ['a link to itself', 'loop'],
    ['a device', '/dev/null'],
    ['a name that is too long', 'x'.repeat(300)],
    ['a file below a file', 'real/empty.db/made.db'],
  ])('is misconfigured at once, and nothing is made: %s', async (_, path) => {
    for (const readOnly of [false, true]) {
      await using store = openSqliteObjectStore({ path, readOnly });
      await expect(store.get(KEY)).rejects.toMatchObject({
        code: 'misconfigured',
        message: expect.stringContaining('must name a file'),
      });
    }
    expect(readdirSync(join(folder, 'real'))).toEqual(['empty.db']);
    expect(readdirSync(folder)).not.toContain('made.db');
  });

  it('is told where no file can be made, as a directory that went meanwhile', () => {
    expect(() => makeDatabaseFile(join(folder, 'none/made.db'))).toThrow(
      expect.objectContaining({ code: 'misconfigured' }),
    );
  });

  it('is meant from the working directory in which the store was opened', async () => {
    await using store = openSqliteObjectStore({ path: 'made.db' });
    workIn(join(folder, 'other'));
    await store.put(KEY, BODY, { mode: 'create' });
    expect(readdirSync(join(folder, 'other'))).toEqual([]);
    expect(statSync(join(folder, 'made.db')).size).toBeGreaterThan(0);
  });
});
