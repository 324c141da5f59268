import { expect, it } from 'vitest';
import { redactedFileCause } from '../../../src/store/failures.ts';

const PATH = '/home/someone/acme/notes.md';

it('the cause of a file system’s failure names the call and its code, and no path', () => {
  const refused = { syscall: 'open', errno: -13, code: 'EACCES', path: PATH, dest: PATH };
  const error = Object.assign(new Error(`EACCES: permission denied, open '${PATH}'`), refused);
  const told = redactedFileCause(error);
  expect(told.message).toBe('The file system refused open (EACCES).');
  expect({ ...told }).toEqual({ code: 'EACCES', syscall: 'open', errno: -13 });
});

it('the cause of a failure without a code, or of what is no error, holds nothing of it', () => {
  for (const thrown of [new Error(PATH), { message: PATH, path: PATH }, PATH, undefined]) {
    const told = redactedFileCause(thrown);
    expect(told.message).toBe('The file system refused a call (unknown error).');
    expect(JSON.stringify({ ...told })).toBe('{}');
  }
});
