import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportTree } from '../../../../src/admin/export/export-tree.ts';
import type { NameMode } from '../../../../src/format/names.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { openTenant } from '../../../../src/open/open-memory.ts';
import { openFolderObjectStore } from '../../../../src/store/folder.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { copyToFolder, textsIn } from '../../../stage/object-folder.ts';
import { PROGRAM_ENV } from '../../../stage/programs.ts';
import { at, bytes } from '../../../stage/test-tree.ts';

const ROOT_KEY = Buffer.alloc(32, 7).toString('base64');
const PROCESS = fileURLToPath(new URL('../export-process.ts', import.meta.url));
const FILES: Readonly<Record<string, string>> = {
  ...{ 'a.md': 'a', empty: '', 'notes/b.md': 'b', 'notes/c.md': 'c', 'notes/d.md': 'd', 'x/y/z': 'z' },
};
const MODES: readonly NameMode[] = ['encrypted', 'plain'];

describe.each(MODES)('exportTree of a memory with %s names', (names) => {
  let home: string;
  let backup: string;
  /** The place of the object of the file `empty` in the backup. */
  let place: string;

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'export-killed-'));
    backup = join(home, 'backup');
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const { parts, close } = await openTenant({ store, tenant: 'acme', rootKey: ROOT_KEY, names });
    for (const [path, text] of Object.entries(FILES))
      await parts.tree.create(at(`/memories/${path}`), bytes(text));
    const loaded = await parts.context.keyrings.load();
    if (loaded === undefined) throw new Error('there is no keyring');
    place = join(backup, fileKey(parts.context.layout, loaded.names, at('/memories/empty')));
    await copyToFolder(store, backup);
    await close();
  });
  afterEach(() => rmSync(home, { recursive: true }));

  it.each([2, 4, 7])(
    'ends the same after a run that was killed at its read %i',
    { timeout: 60_000 },
    async (gets) => {
      const to = join(home, 'exported');
      const env = { ...PROGRAM_ENV, SEALED_MEMORY_TENANT: 'acme', SEALED_MEMORY_ROOT_KEY: ROOT_KEY };
      const child = spawn(process.execPath, [PROCESS, backup, to, String(gets)], {
        env,
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
      expect(existsSync(to)).toBe(false);
      expect(existsSync(`${to}.partial`)).toBe(gets > 2);
      // A file that was deleted from the source since does not come back from the run that was killed.
      rmSync(place);
      const store = openFolderObjectStore({ path: backup });
      const { parts, close } = await openTenant({ store, tenant: 'acme', rootKey: ROOT_KEY });
      try {
        expect(await exportTree(parts.context, { to })).toMatchObject({ files: 5, findings: [] });
      } finally {
        await close();
      }
      const { empty: _, ...left } = FILES;
      expect(await textsIn(to)).toEqual(left);
      expect(readdirSync(home)).toEqual(['backup', 'exported']);
    },
  );
});
