import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';
import type { Input } from './driver.ts';

const path = '/memories/f';

export function describeInputs({ memory, about }: Contract): void {
  const refuses = async (input: Input, content: RegExp): Promise<void> => {
    await memory.files({ [path]: 'x' });
    await memory.refuses(input, 'invalid_command', content);
  };

  about('language')('a command that is none', () => {
    it.each([
      ['missing', {}],
      ['empty', { command: '' }],
      ['unknown', { command: 'read', path }],
      ['of another case', { command: 'View', path }],
      ['toString', { command: 'toString', path }],
      ['constructor', { command: 'constructor', path }],
      ['__proto__', JSON.parse('{"command":"__proto__"}') as Input],
      ['close', { command: 'close' }],
      ['execute', { command: 'execute', input: {} }],
      ['tool', { command: 'tool' }],
      ['["view"]', { command: ['view'], path }],
      ['null', { command: null, path }],
      ['a number', { command: 1, path }],
      ['an object', { command: { toString: 'view' }, path }],
    ])('is refused: %s', async (_, input) => {
      await refuses(input, /^Error: .*`command`.*view, create, str_replace, insert, delete, rename/);
      await memory.does({ command: 'view', path });
    });
  });

  about('language')('a missing field', () => {
    it.each<readonly [field: string, input: Input]>([
      ['path', { command: 'view' }],
      ['path', { command: 'create', file_text: 'x' }],
      ['file_text', { command: 'create', path: '/memories/new' }],
      ['path', { command: 'str_replace', old_str: 'x', new_str: 'y' }],
      ['old_str', { command: 'str_replace', path, new_str: 'y' }],
      ['path', { command: 'insert', insert_line: 0, insert_text: 'x' }],
      ['insert_line', { command: 'insert', path, insert_text: 'x' }],
      ['insert_text', { command: 'insert', path, insert_line: 0 }],
      ['path', { command: 'delete' }],
      ['old_path', { command: 'rename', new_path: '/memories/g' }],
      ['new_path', { command: 'rename', old_path: path }],
    ])('is named: %s of %j', (field, input) =>
      refuses(input, new RegExp(`^Error: .*\`${field}\` is missing.*expects`)),
    );
  });

  about('language')('a field of another type', () => {
    it.each<readonly [field: string, input: Input]>([
      ['path', { command: 'view', path: 7 }],
      ['path', { command: 'view', path: [path] }],
      ['path', { command: 'delete', path: null }],
      ['file_text', { command: 'create', path: '/memories/new', file_text: null }],
      ['file_text', { command: 'create', path: '/memories/new', file_text: { text: 'x' } }],
      ['old_str', { command: 'str_replace', path, old_str: ['x'] }],
      ['new_str', { command: 'str_replace', path, old_str: 'x', new_str: 0 }],
      ['new_str', { command: 'str_replace', path, old_str: 'x', new_str: null }],
      ['insert_line', { command: 'insert', path, insert_line: '0', insert_text: 'x' }],
      ['insert_line', { command: 'insert', path, insert_line: null, insert_text: 'x' }],
      ['insert_text', { command: 'insert', path, insert_line: 0, insert_text: 1 }],
      ['old_path', { command: 'rename', old_path: {}, new_path: '/memories/g' }],
      ['new_path', { command: 'rename', old_path: path, new_path: true }],
    ])('is named with what was expected: %s of %j', (field, input) =>
      refuses(input, new RegExp(`^Error: .*\`${field}\`.*wrong type.*expects`)),
    );
  });

  about('language')('a field that does not belong to the command', () => {
    it.each<readonly [field: string, input: Input]>([
      ['recursive', { command: 'delete', path, recursive: true }],
      ['file_text', { command: 'view', path, file_text: 'x' }],
      ['view_range', { command: 'create', path: '/memories/new', file_text: 'x', view_range: [1, 2] }],
      ['tenant', { command: 'view', path, tenant: 'another' }],
      ['old_path', { command: 'delete', path, old_path: path }],
      ['path', { command: 'rename', path, old_path: path, new_path: '/memories/g' }],
      ['new_str', { command: 'insert', path, insert_line: 0, insert_text: 'x', new_str: 'y' }],
      ['__proto__', JSON.parse(`{"command":"delete","path":"${path}","__proto__":{}}`) as Input],
    ])('is named: %s of %j', (field, input) =>
      refuses(input, new RegExp(`^Error: .*\`${field}\` is not expected`)),
    );
  });

  about('language', 'entry')('text that is no Unicode', () => {
    it.each<readonly [field: string, input: Input]>([
      ['file_text', { command: 'create', path: '/memories/new', file_text: 'a\ud800' }],
      ['old_str', { command: 'str_replace', path, old_str: '\udfff', new_str: 'y' }],
      ['new_str', { command: 'str_replace', path, old_str: 'x', new_str: '\ud83d' }],
      ['insert_text', { command: 'insert', path, insert_line: 0, insert_text: '\ude00' }],
    ])('is refused rather than stored as something else: %s', (field, input) =>
      refuses(input, new RegExp(`^Error: .*\`${field}\``)),
    );
  });

  about('language')('another name of a field', () => {
    it('insert takes new_str for insert_text', async () => {
      await memory.files({ [path]: 'a\n' });
      await memory.says(
        { command: 'insert', path, insert_line: 1, new_str: 'b' },
        `The file ${path} has been edited.`,
      );
      expect(await memory.dump()).toEqual({ [path]: 'a\nb\n' });
    });
  });
}
