import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

const FILE = '/memories/f.txt';
const insert = (insert_line: number, insert_text: string) => ({
  command: 'insert',
  path: FILE,
  insert_line,
  insert_text,
});

export function describeInsert({ memory, about }: Contract): void {
  about('language')('insert', () => {
    it.each<readonly [text: string, line: number, inserted: string, result: string]>([
      ['a\nb\n', 0, 'x', 'x\na\nb\n'],
      ['a\nb\n', 1, 'x', 'a\nx\nb\n'],
      ['a\nb\n', 2, 'x', 'a\nb\nx\n'],
      ['a\nb\n', 3, 'x', 'a\nb\nx\n'],
      ['a\nb\n', 1, 'x\n', 'a\nx\nb\n'],
      ['a\nb\n', 1, 'x\n\n', 'a\nx\n\nb\n'],
      ['a\nb\n', 1, '', 'a\n\nb\n'],
      ['a\nb\n', 1, '\n', 'a\n\nb\n'],
      ['a\nb\n', 1, 'x\ny', 'a\nx\ny\nb\n'],
      ['a\nb\n', 1, 'x\ny\n', 'a\nx\ny\nb\n'],
      ['a\nb', 0, 'x', 'x\na\nb'],
      ['a\nb', 1, 'x\n', 'a\nx\nb'],
      ['a\nb', 2, 'x', 'a\nb\nx'],
      ['a\nb', 2, 'x\n', 'a\nb\nx'],
      ['', 0, 'l0', 'l0\n'],
      ['', 0, 'c\n', 'c\n'],
      ['', 0, 'x\ny\n', 'x\ny\n'],
      ['', 0, '', '\n'],
      ['\n', 0, 'x', 'x\n\n'],
      ['\n', 1, 'x', '\nx\n'],
      ['\n', 2, 'x', '\nx\n'],
      ['a', 0, '$& $1 \\n', '$& $1 \\n\na'],
    ])('into %j after line %i puts %j: %j', async (text, line, inserted, result) => {
      await memory.files({ [FILE]: text });
      await memory.says(insert(line, inserted), `The file ${FILE} has been edited.`);
      expect(await memory.dump()).toEqual({ [FILE]: result });
    });

    it.each<readonly [text: string, line: number, inserted: string, result: string]>([
      ['a\r\nb\r\n', 1, 'x', 'a\r\nx\r\nb\r\n'],
      ['a\r\nb\r\n', 1, 'x\ny\n', 'a\r\nx\r\ny\r\nb\r\n'],
      ['a\r\nb\r\n', 2, 'x\r\n', 'a\r\nb\r\nx\r\n'],
      ['a\r\nb', 2, 'x', 'a\r\nb\r\nx'],
      ['a\r\nb\r\nc\n', 3, 'x', 'a\r\nb\r\nc\nx\r\n'],
      ['a\nb\nc\r\n', 1, 'x\r\ny', 'a\nx\ny\nb\nc\r\n'],
    ])(
      'uses the line ending that prevails in %j after line %i for %j: %j',
      async (text, line, inserted, result) => {
        await memory.files({ [FILE]: text });
        await memory.does(insert(line, inserted));
        expect(await memory.dump()).toEqual({ [FILE]: result });
      },
    );

    it.each([
      ['a\nb\n', -1, 2],
      ['a\nb\n', 4, 2],
      ['a\nb\n', 1.5, 2],
      ['a\nb', 3, 2],
      ['', 1, 0],
      ['\n', 3, 1],
      ['a', 2, 1],
      ['a\nb\n', 1e21, 2],
    ])('refuses %j after line %d: it has %i lines', async (text, line, lines) => {
      await memory.files({ [FILE]: text });
      await memory.refuses(
        insert(line, 'x'),
        'line_out_of_range',
        `Error: Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${lines}]`,
      );
    });

    it.each(['/memories/none', '/memories/d', '/memories/d/', '/memories', '/memories/d/f/below'])(
      'says that there is no file at %s',
      async (path) => {
        await memory.files({ '/memories/d/f': 'x' });
        await memory.refuses(
          { command: 'insert', path, insert_line: 0, insert_text: 'x' },
          'not_found',
          `Error: The path ${path} does not exist`,
        );
      },
    );

    it('repeats the path as it was given', async () => {
      await memory.files({ [FILE]: '' });
      await memory.says(
        { command: 'insert', path: '/memories//f.txt/', insert_line: 0, insert_text: 'x' },
        'The file /memories//f.txt/ has been edited.',
      );
    });
  });
}
