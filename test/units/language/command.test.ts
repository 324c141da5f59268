import { describe, expect, it } from 'vitest';
import { COMMAND_NAMES, echoOf, parseCommand } from '../../../src/language/command.ts';

const path = '/memories//a.txt';
const target = { given: path, path: '/memories/a.txt' };

function detailsOf(input: unknown): unknown {
  try {
    parseCommand(input);
  } catch (error) {
    const { code, details } = error as { code: string; details: object };
    return { code, ...details };
  }
  return undefined;
}

describe('parseCommand', () => {
  it.each([
    [
      { command: 'view', path },
      { command: 'view', target },
    ],
    [
      { command: 'view', path, view_range: [1, -1] },
      { command: 'view', target, viewRange: [1, -1] },
    ],
    [
      { command: 'view', path, view_range: null },
      { command: 'view', target },
    ],
    [
      { command: 'view', path, view_range: undefined, file_text: undefined },
      { command: 'view', target },
    ],
    [
      { command: 'create', path, file_text: '' },
      { command: 'create', target, fileText: '' },
    ],
    [
      { command: 'str_replace', path, old_str: 'a', new_str: 'b' },
      { command: 'str_replace', target, oldStr: 'a', newStr: 'b' },
    ],
    [
      { command: 'str_replace', path, old_str: 'a' },
      { command: 'str_replace', target, oldStr: 'a', newStr: '' },
    ],
    [
      { command: 'insert', path, insert_line: 0, insert_text: 'x' },
      { command: 'insert', target, insertLine: 0, insertText: 'x' },
    ],
    [
      { command: 'insert', path, insert_line: 1.5, new_str: 'x' },
      { command: 'insert', target, insertLine: 1.5, insertText: 'x' },
    ],
    [
      { command: 'delete', path },
      { command: 'delete', target },
    ],
    [
      { command: 'rename', old_path: path, new_path: '/memories/b' },
      { command: 'rename', source: target, destination: { given: '/memories/b', path: '/memories/b' } },
    ],
    [
      { command: 'rename', path, new_path: '/memories/b' },
      { command: 'rename', source: target, destination: { given: '/memories/b', path: '/memories/b' } },
    ],
  ])('reads %j', (input, command) => {
    expect(parseCommand(input)).toEqual(command);
  });

  it.each([undefined, null, 'view', 7, [], [{ command: 'view' }]])(
    'refuses %j, which is no object',
    (input) => {
      expect(detailsOf(input)).toEqual({ code: 'invalid_command', problem: 'not_an_object' });
    },
  );

  it.each([
    undefined,
    null,
    '',
    'View',
    'toString',
    'constructor',
    'hasOwnProperty',
    '__proto__',
    'close',
    'execute',
    ['view'],
    { toString: () => 'view' },
    new String('view'),
    0,
  ])('does not know the command %j', (command) => {
    expect(detailsOf({ command, path })).toEqual({ code: 'invalid_command', problem: 'unknown_command' });
  });

  it('looks at own properties only', () => {
    expect(detailsOf(Object.create({ command: 'view', path }))).toMatchObject({ problem: 'unknown_command' });
    expect(detailsOf(Object.assign(Object.create({ path }), { command: 'view' }))).toMatchObject({
      problem: 'missing',
      field: 'path',
    });
    const command = parseCommand(Object.assign(Object.create(null), { command: 'delete', path }));
    expect(command).toEqual({ command: 'delete', target });
  });

  it.each([
    [{ command: 'view' }, 'path'],
    [{ command: 'create', path }, 'file_text'],
    [{ command: 'str_replace', path, new_str: 'x' }, 'old_str'],
    [{ command: 'insert', path, insert_text: 'x' }, 'insert_line'],
    [{ command: 'insert', path, insert_line: 1 }, 'insert_text'],
    [{ command: 'delete' }, 'path'],
    [{ command: 'rename', new_path: path }, 'old_path'],
    [{ command: 'rename', old_path: path }, 'new_path'],
  ])('names the missing field of %j: %s', (input, field) => {
    expect(detailsOf(input)).toEqual({ code: 'invalid_command', problem: 'missing', field });
  });

  it.each([
    [{ command: 'view', path: 7 }, 'path'],
    [{ command: 'view', path: [path] }, 'path'],
    [{ command: 'create', path, file_text: null }, 'file_text'],
    [{ command: 'create', path, file_text: { a: 1 } }, 'file_text'],
    [{ command: 'str_replace', path, old_str: 1 }, 'old_str'],
    [{ command: 'str_replace', path, old_str: 'a', new_str: null }, 'new_str'],
    [{ command: 'insert', path, insert_line: '1', insert_text: 'x' }, 'insert_line'],
    [{ command: 'insert', path, insert_line: null, insert_text: 'x' }, 'insert_line'],
    [{ command: 'insert', path, insert_line: 1, insert_text: true }, 'insert_text'],
    [{ command: 'rename', old_path: path, new_path: null }, 'new_path'],
  ])('names the wrongly typed field of %j: %s', (input, field) => {
    expect(detailsOf(input)).toEqual({ code: 'invalid_command', problem: 'wrong_type', field });
  });

  it.each([
    [{ command: 'view', path, file_text: 'x' }, 'file_text'],
    [{ command: 'view', path, recursive: null }, 'recursive'],
    [{ command: 'create', path, file_text: 'x', old_str: 'y' }, 'old_str'],
    [{ command: 'insert', path, insert_line: 0, insert_text: 'x', new_str: 'x' }, 'new_str'],
    [{ command: 'rename', path, old_path: path, new_path: path }, 'path'],
    [JSON.parse('{"command":"delete","path":"/memories/a","__proto__":{"x":1}}'), '__proto__'],
  ])('refuses the field of %j that does not belong to it: %s', (input, field) => {
    expect(detailsOf(input)).toEqual({ code: 'invalid_command', problem: 'unexpected', field });
  });

  it.each([
    [{ command: 'create', path, file_text: 'a\ud800' }, 'file_text'],
    [{ command: 'str_replace', path, old_str: '\udc00' }, 'old_str'],
    [{ command: 'str_replace', path, old_str: 'a', new_str: '\ud800' }, 'new_str'],
    [{ command: 'insert', path, insert_line: 0, insert_text: '\udfff' }, 'insert_text'],
  ])('refuses half a surrogate pair in %j, which UTF-8 cannot hold', (input, field) => {
    expect(detailsOf(input)).toEqual({ code: 'invalid_command', problem: 'lone_surrogate', field });
  });

  it('names the field of an invalid path', () => {
    expect(detailsOf({ command: 'rename', old_path: path, new_path: '/etc' })).toEqual({
      code: 'invalid_path',
      rule: 'outside_root',
      field: 'new_path',
    });
  });

  it('reports the path before other fields and those before fields that do not belong', () => {
    expect(detailsOf({ extra: 1, command: 'create', path: '/etc' })).toMatchObject({ code: 'invalid_path' });
    expect(detailsOf({ extra: 1, command: 'create', path })).toMatchObject({ field: 'file_text' });
  });

  it.each(['all', 3, {}, [], ['1', 2], [1, null], [[1], 2], [1, 2, 3]])(
    'leaves the view range %j to the view, as one that is never valid',
    (range) => {
      const command = parseCommand({ command: 'view', path, view_range: range });
      if (command.command !== 'view') throw new Error('not a view');
      const viewRange = command.viewRange ?? [1];
      expect([1, 2].includes(viewRange.length) && viewRange.every(Number.isInteger)).toBe(false);
    },
  );

  it('keeps what the model sent out of the error message', () => {
    expect(() => parseCommand({ command: 'view', path, secret: 'secret' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });
});

describe('COMMAND_NAMES', () => {
  it('lists the six commands', () => {
    expect(COMMAND_NAMES).toEqual(['view', 'create', 'str_replace', 'insert', 'delete', 'rename']);
  });
});

describe('echoOf', () => {
  it('repeats what the input holds itself, and nothing that it inherits', () => {
    const inherited = { command: 'view', path: '/memories/inherited', view_range: [1, 2] };
    const echo = echoOf(Object.assign(Object.create(inherited), { path: '/memories/own' }));
    expect(echo.command).toBeUndefined();
    expect(echo.whole('path')).toBe('/memories/own');
    expect(echo.json('view_range')).toBe('');
  });
});
