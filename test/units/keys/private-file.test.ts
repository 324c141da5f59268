import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import type { MemoryError } from '../../../src/errors.ts';
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

function refusalOf(path: string): MemoryError {
  try {
    readPrivateFile(path, named);
  } catch (error) {
    expect(error).toMatchObject({ name: 'MemoryError', code: 'misconfigured' });
    return error as MemoryError;
  }
  throw new Error('it was read');
}

it.each([
  ['a folder', folder],
  ['a device', '/dev/null'],
])('%s is no file with a secret, and is closed again', (_, path) => {
  const before = timesOpen(path);
  expect(refusalOf(path).message).toBe('THE_FILE must name a regular file.');
  expect(timesOpen(path)).toBe(before);
});

it('a file with a secret that is missing is told with the way to make one', () => {
  expect(refusalOf(join(folder, 'missing')).message).toBe(
    'The file named by THE_FILE does not exist: make one.',
  );
});

it('a file with a secret that cannot be opened is told with the reason alone', () => {
  const loop = join(folder, 'loop');
  symlinkSync(loop, loop);
  const { message, cause } = refusalOf(loop);
  expect(message).toBe('The file named by THE_FILE cannot be opened (ELOOP).');
  expect(cause).toMatchObject({ code: 'ELOOP', syscall: 'open' });
  expect(inspect(cause)).not.toContain(folder);
});

it('a file with a secret may be open to others on Windows, whose modes say nothing', () => {
  const path = join(folder, 'windows');
  writeFileSync(path, 'secret', { mode: 0o644 });
  const { platform } = process;
  try {
    Object.defineProperty(process, 'platform', { value: 'win32' });
    expect(readPrivateFile(path, named)).toBe('secret');
  } finally {
    Object.defineProperty(process, 'platform', { value: platform });
  }
});
