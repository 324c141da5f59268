import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0xff]);
const JPEG = Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3]);
const GIF = new TextEncoder().encode('GIF89a\x01\x00');
const WEBP = new TextEncoder().encode('RIFF\x04\x00\x00\x00WEBPVP8 ');

const FILE = '/memories/f.txt';
const view = (view_range?: unknown) => ({ command: 'view', path: FILE, view_range });
const shown = (...lines: readonly string[]): string =>
  [`Here's the content of ${FILE} with line numbers:`, ...lines].join('\n');

export function describeFileViews({ memory, about }: Contract): void {
  about('language')('view of a file', () => {
    it('numbers the lines six wide, and shows a final newline as one more empty line', async () => {
      await memory.files({ [FILE]: 'Hello World\n\tindented\n' });
      await memory.says(view(), shown('     1\tHello World', '     2\t\tindented', '     3\t'));
    });

    it('shows an empty file as one empty line', async () => {
      await memory.files({ [FILE]: '' });
      await memory.says(view(), shown('     1\t'));
    });

    it('keeps numbers aligned up to six digits', async () => {
      await memory.put(FILE, new Uint8Array(99_999).fill(0x0a));
      await memory.says(view([9, 10]), shown('     9\t', '    10\t'));
      await memory.says(view([99_999, 100_000]), shown(' 99999\t', '100000\t'));
    });

    it('repeats the path as it was given', async () => {
      await memory.files({ [FILE]: 'x' });
      await memory.says(
        { command: 'view', path: '/memories//f.txt/' },
        "Here's the content of /memories//f.txt/ with line numbers:\n     1\tx",
      );
    });

    it('says that a missing file does not exist', async () => {
      await memory.refuses(
        { command: 'view', path: '/memories//none/' },
        'not_found',
        'The path /memories//none/ does not exist. Please provide a valid path.',
      );
    });

    it('does not take a file for a directory', async () => {
      await memory.files({ [FILE]: 'x' });
      await memory.refuses(
        { command: 'view', path: `${FILE}/below` },
        'not_found',
        `The path ${FILE}/below does not exist. Please provide a valid path.`,
      );
    });

    it('shows 999,999 lines and refuses a million', async () => {
      await memory.put(FILE, new Uint8Array(999_998).fill(0x0a));
      await memory.says(view([999_999, -1]), shown('999999\t'));
      await memory.put(FILE, new Uint8Array(1_000_000).fill(0x0a));
      await memory.refuses(
        view(),
        'limit_exceeded',
        `File ${FILE} exceeds maximum line limit of 999,999 lines.`,
      );
    });
  });

  about('language')('view_range', () => {
    const all = ['     1\ta', '     2\tb', '     3\tc', '     4\t'];

    it.each<readonly [readonly number[], number, number]>([
      [[1, 2], 1, 2],
      [[2, 3], 2, 3],
      [[3, 3], 3, 3],
      [[2, -1], 2, 4],
      [[4, -1], 4, 4],
      [[4, 4], 4, 4],
      [[0, 2], 1, 2],
      [[-7, 2], 1, 2],
      [[3, 1_000_000], 3, 4],
      [[2], 2, 2],
    ])('%j shows lines %i to %i', async (range, first, last) => {
      await memory.files({ [FILE]: 'a\nb\nc\n' });
      await memory.says(view(range), shown(...all.slice(first - 1, last)));
    });

    it.each([
      [[5, 6]],
      [[5, -1]],
      [[5]],
      [[3, 2]],
      [[1, 0]],
      [[1, -2]],
      [[]],
      [[1, 2, 3]],
      [[1.5, 2]],
      [['1', '2']],
      [[1, null]],
      ['1,2'],
      [{ start: 1, end: 2 }],
      [7],
    ])('%j is refused with the valid range', async (range) => {
      await memory.files({ [FILE]: 'a\nb\nc\n' });
      await memory.refuses(view(range), 'line_out_of_range', /^Error: .*`view_range`.*\[1, 4\]/);
    });

    it('counts the one empty line of an empty file', async () => {
      await memory.files({ [FILE]: '' });
      await memory.says(view([1, 1]), shown('     1\t'));
      await memory.refuses(view([2, 2]), 'line_out_of_range', /\[1, 1\]/);
    });
  });

  about('language', 'entry')('view of bytes that are no text', () => {
    it.each([
      ['/memories/i.png', 'image/png', PNG],
      ['/memories/i.jpg', 'image/jpeg', JPEG],
      ['/memories/i.JPEG', 'image/jpeg', JPEG],
      ['/memories/i.gif', 'image/gif', GIF],
      ['/memories/i.webp', 'image/webp', WEBP],
    ])('shows %s as an image', async (path, media_type, bytes) => {
      await memory.put(path, bytes);
      const data = Buffer.from(bytes).toString('base64');
      await memory.says({ command: 'view', path }, [
        { type: 'image', source: { type: 'base64', media_type, data } },
      ]);
    });

    it('does not take a file for an image whose bytes say otherwise', async () => {
      await memory.put('/memories/i.jpg', PNG);
      await memory.refuses(
        { command: 'view', path: '/memories/i.jpg' },
        'not_text',
        /^Error: .*\/memories\/i\.jpg.*binary.*12 bytes/,
      );
      await memory.files({ '/memories/t.png': 'a text' });
      await memory.says(
        { command: 'view', path: '/memories/t.png' },
        "Here's the content of /memories/t.png with line numbers:\n     1\ta text",
      );
    });

    it('says of other bytes that they are binary, and how many', async () => {
      const path = '/memories/data.bin';
      await memory.put(path, Uint8Array.from([0xff, 0xfe, 0x00]));
      const commands = [
        { command: 'view' },
        { command: 'str_replace', old_str: 'a', new_str: 'b' },
        { command: 'insert', insert_line: 0, insert_text: 'x' },
      ];
      for (const command of commands) {
        await memory.refuses(
          { ...command, path },
          'not_text',
          /^Error: .*\/memories\/data\.bin.*binary.*3 bytes/,
        );
      }
    });
  });

  about('store')('bytes that are no text', () => {
    it('renames and deletes binary files like all others', async () => {
      await memory.put('/memories/a.bin', PNG);
      await memory.does({ command: 'rename', old_path: '/memories/a.bin', new_path: '/memories/b.bin' });
      const base64 = Buffer.from(PNG).toString('base64');
      expect(await memory.dump()).toEqual({ '/memories/b.bin': { base64 } });
      await memory.does({ command: 'delete', path: '/memories/b.bin' });
      expect(await memory.dump()).toEqual({});
    });
  });
}
