import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

const FILE = '/memories/f.txt';
const EDITED =
  'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n';

const snippet = (first: number, ...lines: readonly string[]): string =>
  EDITED + lines.map((line, i) => `${String(first + i).padStart(6)}\t${line}`).join('\n');

const replace = (old_str: string, new_str?: string) => ({
  command: 'str_replace',
  path: FILE,
  old_str,
  new_str,
});

export function describeStrReplace({ memory, about }: Contract): void {
  const expectText = async (text: string): Promise<void> => {
    expect(await memory.dump()).toEqual({ [FILE]: text });
  };

  about('store')('str_replace of a stored text', () => {
    it('replaces the one occurrence and shows two lines around it', async () => {
      await memory.files({ [FILE]: '1\n2\n3\n4 blue\n5\n6\n7\n' });
      await memory.says(replace('blue', 'green'), snippet(2, '2', '3', '4 green', '5', '6'));
      await expectText('1\n2\n3\n4 green\n5\n6\n7\n');
    });

    it('replaces a text of several lines', async () => {
      await memory.files({ [FILE]: '1\n2\n3\n4\n5\n6' });
      await memory.says(replace('2\n3\n4', 'two to four'), snippet(1, '1', 'two to four', '5', '6'));
      await expectText('1\ntwo to four\n5\n6');
    });
  });

  about('language')('str_replace', () => {
    it('clamps the snippet to the file', async () => {
      await memory.files({ [FILE]: 'a\nb\n' });
      await memory.says(replace('a', 'A'), snippet(1, 'A', 'b', ''));
      await memory.says(replace('b', 'B'), snippet(1, 'A', 'B', ''));
    });

    it('shows all lines of a longer text that was put in', async () => {
      await memory.files({ [FILE]: '1\n2\n3\n4\n5\n6\n7' });
      await memory.says(replace('4', 'x\ny\nz'), snippet(2, '2', '3', 'x', 'y', 'z', '5', '6'));
      await expectText('1\n2\n3\nx\ny\nz\n5\n6\n7');
    });

    it('names the line where a match begins, not where it ends', async () => {
      await memory.files({ [FILE]: '1\n2\n3\n4\n5\n6\n7\n8\n9' });
      await memory.says(replace('\n5\n6', ''), snippet(2, '2', '3', '4', '7', '8'));
    });

    it('bounds the snippet and the lines and the text it repeats', async () => {
      await memory.files({ [FILE]: 'MARK\n' });
      const long = await memory.does(replace('MARK', `${'x'.repeat(99)}\n`.repeat(9_000)));
      expect(long.split('\n').at(-1)).toBe(
        '(Cut at 16000 characters: 8842 more lines remain. Continue with view_range [161, 9002].)',
      );
      expect(long.length).toBeLessThan(18_000);
      const refused = /^No replacement was performed.{1,16600}only the first \d+ lines are listed.{1,100}$/s;
      await memory.refuses(replace('x'), 'ambiguous_match', refused);
      const missing = `${'y'.repeat(99)}\n`.repeat(9_000);
      await memory.refuses(
        replace(missing),
        'no_match',
        `No replacement was performed, old_str \`${missing.slice(0, 15_999)}… (900000 characters)\` did not appear verbatim in ${FILE}.`,
      );
    });

    it.each([
      ['an omitted', undefined],
      ['an empty', ''],
    ])('deletes with %s new_str', async (_, text) => {
      await memory.files({ [FILE]: 'keep drop keep' });
      await memory.says(replace(' drop', text), snippet(1, 'keep keep'));
      await expectText('keep keep');
    });

    it.each(['$&', '$1', '$$', "$'", '$`', '\\n', '\\', '%s', '{0}', '__proto__'])(
      'puts %s in as it is',
      async (text) => {
        await memory.files({ [FILE]: 'a X b' });
        await memory.says(replace('X', text), snippet(1, `a ${text} b`));
        await expectText(`a ${text} b`);
      },
    );

    it.each(['.', '*', '(a|b)', '[x]', '^', '$', '\\d+'])(
      'takes %s as text, not as a pattern',
      async (text) => {
        await memory.files({ [FILE]: 'abc 123' });
        const refusal = `No replacement was performed, old_str \`${text}\` did not appear verbatim in ${FILE}.`;
        await memory.refuses(replace(text, 'y'), 'no_match', refusal);
        await memory.put(FILE, new TextEncoder().encode(`abc ${text} 123`));
        await memory.does(replace(text, 'y'));
        await expectText('abc y 123');
      },
    );

    it('does nothing where the text is what it was, and says so as for any edit', async () => {
      await memory.files({ [FILE]: 'same' });
      await memory.says(replace('same', 'same'), snippet(1, 'same'));
      await expectText('same');
    });

    it('counts matches without overlap', async () => {
      await memory.files({ [FILE]: 'aaa' });
      await memory.says(replace('aa', 'b'), snippet(1, 'ba'));
    });

    it('repeats the path and the text as given when nothing matches', async () => {
      await memory.files({ [FILE]: 'x' });
      await memory.refuses(
        { command: 'str_replace', path: '/memories//f.txt', old_str: 'a\n`b`', new_str: 'c' },
        'no_match',
        'No replacement was performed, old_str `a\n`b`` did not appear verbatim in /memories//f.txt.',
      );
    });

    it.each([
      ['two lines', 'x\na\nx\n', 'x', '1, 3'],
      ['one line', 'a\nb x x x\n', 'x', '2'],
      ['both', 'x x\nx\na\nx', 'x', '1, 2, 4'],
      ['several lines each', 'a\nb\na\nb\n', 'a\nb', '1, 3'],
      ['line breaks', 'a\n\nb\n\nc', '\n\n', '1, 3'],
    ])('refuses several matches on %s', async (_, text, old, lines) => {
      await memory.files({ [FILE]: text });
      await memory.refuses(
        replace(old, 'y'),
        'ambiguous_match',
        `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines}. Please ensure it is unique`,
      );
    });

    it('refuses an empty old_str and suggests insert or create', async () => {
      for (const text of ['', 'content']) {
        await memory.put(FILE, new TextEncoder().encode(text));
        await memory.refuses(replace('', 'x'), 'invalid_command', /^Error: .*`old_str`.*`insert`.*`create`/);
      }
    });

    it.each(['/memories/none', '/memories/d', '/memories/d/', '/memories', '/memories/d/f/below'])(
      'says that there is no file at %s',
      async (path) => {
        await memory.files({ '/memories/d/f': 'x' });
        await memory.refuses(
          { command: 'str_replace', path, old_str: 'x', new_str: 'y' },
          'not_found',
          `Error: The path ${path} does not exist. Please provide a valid path.`,
        );
      },
    );
  });
}
