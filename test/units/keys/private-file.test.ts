import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readPrivateFile } from '../../../src/keys/private-file.ts';
import { timesOpen } from '../../stage/measures.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-private-'));
afterAll(() => rmSync(folder, { recursive: true }));
const named = { label: 'THE_FILE', kind: 'key file', remedy: 'make one' };

it.each([
  [16_384, true],
  [16_385, false],
])('a file with a secret of %i bytes is read: %s', (size, isRead) => {
  const path = join(folder, `${size}`);
  writeFileSync(path, 'secret'.padEnd(size), { mode: 0o600 });
  if (isRead) expect(readPrivateFile(path, named)).toBe('secret');
  else expect(() => readPrivateFile(path, named)).toThrow('THE_FILE is too large to be a key file.');
  expect(timesOpen(path)).toBe(0);
});

it.each([
  [0o600, true],
  [0o400, true],
  [0o640, false],
  [0o620, false],
  [0o610, false],
  [0o604, false],
  [0o602, false],
  [0o601, false],
])('a file with a secret of mode %i is read: %s', (mode, isRead) => {
  const path = join(folder, `mode-${mode}`);
  writeFileSync(path, 'secret');
  chmodSync(path, mode);
  if (isRead) expect(readPrivateFile(path, named)).toBe('secret');
  else expect(() => readPrivateFile(path, named)).toThrow('may be read by other users');
});
