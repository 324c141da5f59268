import { expect, it } from 'vitest';
import { applyEdit } from '../../../src/language/apply-edit.ts';
import { parseCommand } from '../../../src/language/command.ts';

const path = '/memories/a.md';

function edit(text: string, input: object): ReturnType<typeof applyEdit> {
  const command = parseCommand({ path, ...input });
  if (command.command !== 'insert' && command.command !== 'str_replace') throw new Error('no edit');
  return applyEdit(text, command);
}

it('an insert makes a text, and shows nothing', () => {
  expect(edit('a\nb\n', { command: 'insert', insert_line: 1, insert_text: 'x' })).toStrictEqual({
    text: 'a\nx\nb\n',
  });
});

it('a replacement makes a text, and shows its place', () => {
  expect(edit('a\nb\n', { command: 'str_replace', old_str: 'b', new_str: 'x' })).toStrictEqual({
    text: 'a\nx\n',
    snippet: '     1\ta\n     2\tx\n     3\t',
  });
});
