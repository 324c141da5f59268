import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../support/full-disk.ts', import.meta.url));

/** Programs that start others in a place where file systems may be mounted; no other process sees these, or has to end them. */
const MOUNTING = [
  ['unshare', '-rm'],
  ['sudo', '-n', 'unshare', '-m'],
].find(([program = '', ...options]) => spawnSync(program, [...options, 'true']).status === 0);
const inCi = process.env['CI'] === 'true';

describe.skipIf(MOUNTING === undefined && !inCi)('a memory on a disk without a byte of room', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-full-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(['3m', '8m'])(
    'of %s lets files be deleted, and others take their place',
    { timeout: 120_000 },
    (size) => {
      if (MOUNTING === undefined) throw new Error('neither user namespaces nor sudo: no disk can be mounted');
      const [program = '', ...options] = MOUNTING;
      const mount = 'mount -t tmpfs -o size="$0" tmpfs "$1" && exec "$2" "$3" "$1"';
      const run = spawnSync(
        program,
        [...options, 'sh', '-c', mount, size, folder, process.execPath, SCRIPT],
        {
          encoding: 'utf8',
        },
      );
      expect(run.stderr).toBe('');
      expect(JSON.parse(run.stdout)).toEqual({
        refused: 'unavailable',
        single: 'done',
        again: 'done',
        edited: 'done',
        large: ['done', 'done'],
        lost: 0,
        all: 'done',
        after: 0,
        anew: 'done',
        grown: 0,
      });
    },
  );
});
