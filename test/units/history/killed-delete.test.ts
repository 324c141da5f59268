import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import { A, B, DIRECTORY, fatesOf, GONE, keepHistory, optionsOf, THERE } from './deleted-files.ts';

describe('a process that is killed while it deletes with history', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-killed-delete-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const SCRIPT = fileURLToPath(new URL('./killed-delete.ts', import.meta.url));
  /** More than a delete takes. */
  const MOST_STATEMENTS = 40;

  it.each([
    ['a file', A, 'as-usual'],
    ['a file, on a full disk', A, 'full'],
    ['a directory, on a full disk', DIRECTORY, 'full'],
  ])('leaves nothing half, at any statement: %s', { timeout: 240_000 }, async (title, path, disk) => {
    const prepared = join(folder, `${disk}-${path.length}.db`);
    await (await keepHistory(`sqlite:${prepared}`)).close();
    const seen = new Set<string>();
    let statement = 0;
    for (let done = false; !done; ) {
      expect(++statement).toBeLessThan(MOST_STATEMENTS);
      const file = `${prepared}-${statement}.copy`;
      copyFileSync(prepared, file);
      const { stdout, stderr, signal } = spawnSync(
        process.execPath,
        [SCRIPT, file, path, String(statement), disk],
        { encoding: 'utf8' },
      );
      expect(stderr).toBe('');
      done = signal === null;
      expect(stdout).toBe(done ? 'done\n' : '');
      const memory = await openMemory(optionsOf(`sqlite:${file}`));
      const fates = await fatesOf(memory);
      for (const each of path === A ? [A] : [A, B]) {
        expect([GONE, THERE], `${title}, statement ${statement}`).toContainEqual(fates[each]);
        seen.add(String(fates[each]));
        if (done) expect(fates[each]).toEqual(GONE);
      }
      // The next write takes the reserve again.
      await memory.files.write('/memories/next', 'text');
      await memory.close();
      expect(statSync(`${file}-reserve`).size).toBe(1_310_720);
    }
    expect(seen.size).toBe(2);
    expect(statement).toBeGreaterThan(4);
  });
});
