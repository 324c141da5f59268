import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

const path = '/memories/f';

const TEXTS: readonly (readonly [name: string, text: string])[] = [
  ['CRLF', 'a\r\nb\r\n'],
  ['mixed line endings', 'a\r\nb\nc\rd\r\n'],
  ['a byte order mark', '\ufeffa\nb'],
  ['two byte order marks', '\ufeff\ufeffa'],
  ['no final newline', 'a\nb'],
  ['final newlines', 'a\n\n\n'],
  ['only newlines', '\n\n'],
  ['NUL and control characters', 'a\0b\x01\x1b[31m\x7f'],
  ['decomposed and composed', 'e\u0301 \u00e9'],
  ['emoji and joiners', '👩‍👩‍👧 🇩🇪 ❤️'],
  ['right to left', 'שלום \u202eabc'],
  ['line separators', 'a\u2028b\u2029c\u0085d'],
  ['the last code points', '\uffff\u{10ffff}\ufffd'],
  ['trailing blanks', '  a\t \n\t\n'],
];

export function describeBytes({ memory, about }: Contract): void {
  about('store', 'entry')('a stored text', () => {
    it.each(TEXTS)('is what was created, byte for byte: %s', async (_, file_text) => {
      await memory.does({ command: 'create', path, file_text });
      expect(await memory.dump()).toEqual({ [path]: file_text });
    });
  });

  about('language')('a stored text that is shown and edited', () => {
    it.each(TEXTS)('is shown as it is, and stays so around a replacement: %s', async (_, text) => {
      await memory.files({ [path]: `${text}MARK${text}` });
      const [header, ...lines] = (await memory.does({ command: 'view', path })).split('\n');
      expect(header).toBe(`Here's the content of ${path} with line numbers:`);
      expect(lines.map((line) => line.replace(/^ *\d+\t/, '')).join('\n')).toBe(`${text}MARK${text}`);
      await memory.does({ command: 'str_replace', path, old_str: 'MARK', new_str: text });
      expect(await memory.dump()).toEqual({ [path]: text + text + text });
    });

    it.each(TEXTS)('stays so around an insertion at its start and after a rename: %s', async (_, text) => {
      await memory.files({ [path]: `a\n${text}` });
      await memory.does({ command: 'insert', path, insert_line: 1, insert_text: 'b' });
      await memory.does({ command: 'rename', old_path: path, new_path: '/memories/g' });
      const { '/memories/g': stored } = await memory.dump();
      const [, first, rest] = /^a\r?\nb(\r?\n)(.*)$/s.exec(String(stored)) ?? [];
      expect(first).toBeDefined();
      expect(rest).toBe(text);
    });

    it('matches a replacement over CRLF only where the line ending is given', async () => {
      await memory.files({ [path]: 'a\r\nb\r\n' });
      await memory.refuses(
        { command: 'str_replace', path, old_str: 'a\nb', new_str: 'c' },
        'no_match',
        `No replacement was performed, old_str \`a\nb\` did not appear verbatim in ${path}.`,
      );
      await memory.does({ command: 'str_replace', path, old_str: 'a\r\nb', new_str: 'c' });
      expect(await memory.dump()).toEqual({ [path]: 'c\r\n' });
    });
  });
}
