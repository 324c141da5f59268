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

  it.each([
    ['all', []],
    [{ length: 2 }, []],
    [7, []],
    [[], []],
    [
      ['1', 2],
      [Number.NaN, 2],
    ],
    [
      [1, null, 3],
      [1, Number.NaN, 3],
    ],
  ])('reads the view range %j as %j', (range, viewRange) => {
    expect(parseCommand({ command: 'view', path, view_range: range })).toStrictEqual({
      command: 'view',
      target,
      viewRange,
    });
  });

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

  it.each([undefined, null, 'view', 7, []])('repeats nothing of %j', (input) => {
    const echo = echoOf(input);
    expect([echo.command, echo.text('path'), echo.whole('path'), echo.json('path')]).toEqual([
      undefined,
      '',
      '',
      '',
    ]);
  });

  it.each(['View', '', ['view'], 7])('knows no command in %j', (command) => {
    expect(echoOf({ command }).command).toBeUndefined();
  });

  it.each(COMMAND_NAMES)('knows the command %s', (command) => {
    expect(echoOf({ command }).command).toBe(command);
  });

  it('repeats a text whole, and as a sentence may hold it', () => {
    const long = 'x'.repeat(16_001);
    const echo = echoOf({ path: long, old_str: 7 });
    expect(echo.whole('path')).toBe(long);
    expect(echo.text('path')).toBe(`${long.slice(1)}… (16001 characters)`);
    expect([echo.whole('old_str'), echo.text('old_str')]).toEqual(['', '']);
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  it.each([
    ['1', 1],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['0', -0],
    ['null', null],
    ['"a"', 'a'],
    ['[1,"b"]', [1, 'b']],
    ['', undefined],
    ['', () => 1],
    ['', 1n],
    ['', cyclic],
    [`"${'x'.repeat(999)}… (1002 characters)`, 'x'.repeat(1_000)],
  ])('repeats a value as JSON: %s', (json, value) => {
    expect(echoOf({ view_range: value }).json('view_range')).toBe(json);
  });

  it('repeats nothing of what cannot be read', () => {
    const input = {
      get path(): string {
        throw new Error('unreadable');
      },
    };
    expect(echoOf(input).whole('path')).toBe('');
    const locked = new Proxy({}, { getOwnPropertyDescriptor: () => Reflect.ownKeys(7 as never) as never });
    expect(echoOf(locked).whole('path')).toBe('');
  });
});

describe('what an operator reads of a refused command', () => {
  const messageOf = (input: unknown): string => {
    try {
      parseCommand(input);
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };

  it.each([
    [7, /^The command is no object /],
    [{ command: 'x' }, /^The command is none of view, create, str_replace, insert, delete, rename\.$/],
    [{ command: 'view' }, /^The command lacks its field path\.$/],
    [{ command: 'view', path: 7 }, /^The command has a value of another type in its field path\.$/],
    [{ command: 'create', path, file_text: '\ud800' }, /half of a surrogate pair in its field file_text\.$/],
    [{ command: 'view', path, secret: 1 }, /^The command has a field that it does not know\.$/],
    [{ command: 'view', path: '/secret' }, /^The command has a path that is refused in its field path\.$/],
  ])('of %j is %s', (input, message) => {
    expect(messageOf(input)).toMatch(message);
  });
});
