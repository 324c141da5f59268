import { describe, expect, it } from 'vitest';
import type { MemoryError } from '../../../src/errors.ts';
import { insertAfterLine, replaceOnce } from '../../../src/language/edit.ts';

describe('replaceOnce', () => {
  it('replaces the only occurrence and tells its line', () => {
    expect(replaceOnce('a\nb\nc\n', 'b', 'x\ny')).toEqual({
      text: 'a\nx\ny\nc\n',
      start: 2,
      end: 5,
      firstLine: 2,
      lineBreaks: 1,
    });
  });

  it('replaces text that spans lines', () => {
    expect(replaceOnce('one\ntwo\nthree', 'two\nthree', '2').text).toBe('one\n2');
  });

  it('deletes when the new text is empty', () => {
    expect(replaceOnce('a\nb\n', 'b\n', '').text).toBe('a\n');
  });

  it.each(['$&', '$1', '$$', "$'", '$`', '\\n', '$<a>'])('puts %j in as it is', (newStr) => {
    expect(replaceOnce('x OLD y', 'OLD', newStr).text).toBe(`x ${newStr} y`);
  });

  it('takes characters with a meaning in patterns as they are', () => {
    expect(replaceOnce('a.*b', '.*', '+').text).toBe('a+b');
  });

  it('matches line endings verbatim', () => {
    expect(() => replaceOnce('a\r\nb', 'a\nb', '')).toThrow(expect.objectContaining({ code: 'no_match' }));
  });

  it('refuses text that does not occur', () => {
    expect(() => replaceOnce('a', 'b', '')).toThrow(expect.objectContaining({ code: 'no_match' }));
  });

  it('names every line with an occurrence once, ascending', () => {
    expect(() => replaceOnce('x x\n\nx\ny\nx', 'x', '')).toThrow(
      expect.objectContaining({ code: 'ambiguous_match', details: { lines: [1, 3, 5] } }),
    );
  });

  it.each(['x\n', 'x x\n\n', `${'xx'.repeat(100)}\n`])(
    'names the first lines, as many as 16,000 characters hold, of a text full of %j',
    (line) => {
      let refusal: MemoryError | undefined;
      try {
        replaceOnce(line.repeat(10_000), 'x', '');
      } catch (error) {
        refusal = error as MemoryError;
      }
      expect(refusal).toMatchObject({ code: 'ambiguous_match', details: { more: true } });
      const lines = refusal?.details['lines'] as readonly number[];
      const step = line.endsWith('\n\n') ? 2 : 1;
      expect(lines).toEqual(lines.map((_, index) => 1 + index * step));
      const next = `, ${(lines.at(-1) ?? 0) + step}`;
      expect(lines.join(', ').length).toBeLessThanOrEqual(16_000);
      expect((lines.join(', ') + next).length).toBeGreaterThan(15_990);
    },
  );

  it('refuses two occurrences on one line', () => {
    expect(() => replaceOnce('blue blue', 'blue', '')).toThrow(
      expect.objectContaining({ code: 'ambiguous_match', details: { lines: [1] } }),
    );
  });

  it('counts occurrences without overlap', () => {
    expect(replaceOnce('aaa', 'aa', 'b').text).toBe('ba');
    expect(() => replaceOnce('a\na\na\na\n', 'a\na\n', '')).toThrow(
      expect.objectContaining({ details: { lines: [1, 3] } }),
    );
  });

  it('refuses to replace nothing', () => {
    expect(() => replaceOnce('a', '', 'b')).toThrow(
      expect.objectContaining({
        code: 'invalid_command',
        details: { problem: 'empty', field: 'old_str' },
      }),
    );
  });
});

describe('an edit whose text no string can hold', () => {
  const longest = 'x'.repeat(2 ** 29 - 24);
  const refusal = (value: number) =>
    expect.objectContaining({
      code: 'limit_exceeded',
      details: { limit: 'text_characters', value, max: longest.length },
    });

  it('is refused as too large', () => {
    expect(() => replaceOnce('ab', 'a', longest)).toThrow(refusal(longest.length + 1));
    expect(() => insertAfterLine('a\n', 1, longest)).toThrow(refusal(longest.length + 3));
  });
});

describe('insertAfterLine', () => {
  it.each([
    ['at the start', 'a\nb\n', 0, 'x', 'x\na\nb\n'],
    ['after a line', 'a\nb\n', 1, 'x', 'a\nx\nb\n'],
    ['after the last line', 'a\nb\n', 2, 'x', 'a\nb\nx\n'],
    ['after the empty line that a final newline shows', 'a\nb\n', 3, 'x', 'a\nb\nx\n'],
    ['after a last line without a newline', 'a\nb', 2, 'x', 'a\nb\nx'],
    ['before a last line without a newline', 'a\nb', 1, 'x', 'a\nx\nb'],
    ['into an empty file, which ends with a newline then', '', 0, 'x', 'x\n'],
    ['into an empty file, its newline kept', '', 0, 'x\n', 'x\n'],
    ['into an empty file, all but one of its newlines being lines', '', 0, 'x\n\n', 'x\n\n'],
    ['an empty line into an empty file', '', 0, '', '\n'],
    ['a newline into an empty file', '', 0, '\n', '\n'],
    ['with its own line endings into an empty file', '', 0, 'x\r\ny', 'x\r\ny\r\n'],
    ['with one final newline dropped', 'a\n', 1, 'x\n', 'a\nx\n'],
    ['with one final CRLF dropped', 'a\n', 1, 'x\r\n', 'a\nx\n'],
    ['with only one of two final newlines dropped', 'a\n', 1, 'x\n\n', 'a\nx\n\n'],
    ['an empty line', 'a\nb\n', 1, '', 'a\n\nb\n'],
    ['an empty line for a newline', 'a\nb\n', 1, '\n', 'a\n\nb\n'],
    ['several lines', 'a\nb', 1, 'x\ny\n', 'a\nx\ny\nb'],
    ['into a file of one newline', '\n', 1, 'x', '\nx\n'],
    ['after a byte order mark', '\ufeffa\n', 1, 'x', '\ufeffa\nx\n'],
    ['with the line endings of a CRLF file', 'a\r\nb\r\n', 1, 'x\ny\n', 'a\r\nx\r\ny\r\nb\r\n'],
    ['at the end of a CRLF file without a newline', 'a\r\nb', 2, 'x\ny', 'a\r\nb\r\nx\r\ny'],
    ['with the line endings of an LF file', 'a\nb\n', 1, 'x\r\ny\r\n', 'a\nx\ny\nb\n'],
    ['with the line endings most lines have', 'a\r\nb\r\nc\n', 3, 'x', 'a\r\nb\r\nc\nx\r\n'],
    ['with LF where both are as many', 'a\r\nb\n', 1, 'x\r\ny', 'a\r\nx\ny\nb\n'],
    ['with its own line endings into a file of one line', 'a', 1, 'x\r\ny\r\n', 'a\r\nx\r\ny'],
    ['dollars and backslashes as they are', 'a\n', 0, '$& \\1', '$& \\1\na\n'],
  ])('inserts %s', (_, text, line, inserted, result) => {
    expect(insertAfterLine(text, line, inserted)).toBe(result);
  });

  it.each([
    ['a\nb\n', 4, 2],
    ['a\nb\n', -1, 2],
    ['a\nb', 3, 2],
    ['', 1, 0],
    ['a\n', 0.5, 1],
    ['a\n', Number.NaN, 1],
    ['a\n', Number.POSITIVE_INFINITY, 1],
    ['\n', 3, 1],
  ])('refuses a line outside of %j: %d', (text, line, lines) => {
    expect(() => insertAfterLine(text, line, 'x')).toThrow(
      expect.objectContaining({ code: 'line_out_of_range', details: { lines } }),
    );
  });
});

describe('replaceOnce, the place of the new text', () => {
  it.each([
    ['a\nb\nc', 'a', 'x', { start: 0, end: 1, firstLine: 1, lineBreaks: 0 }],
    ['a\nb\nc', 'c', '', { start: 4, end: 4, firstLine: 3, lineBreaks: 0 }],
    ['a\nb\nc', '\nb', '\n\nx\n', { start: 1, end: 5, firstLine: 1, lineBreaks: 3 }],
    ['\n\nb', 'b', 'b\r\nb', { start: 2, end: 6, firstLine: 3, lineBreaks: 1 }],
  ])('in %j for %j by %j is %j', (text, oldStr, newStr, place) => {
    const { text: after, ...found } = replaceOnce(text, oldStr, newStr);
    expect(found).toEqual(place);
    expect(after.slice(found.start, found.end)).toBe(newStr);
  });

  it('names of matches that span lines the lines where they begin', () => {
    expect(() => replaceOnce('a\nb\na\nb\n', 'a\nb', '')).toThrow(
      expect.objectContaining({ code: 'ambiguous_match', details: { lines: [1, 3] } }),
    );
    expect(() => replaceOnce('\n\nxx\ny\nxx', 'x', '')).toThrow(
      expect.objectContaining({ code: 'ambiguous_match', details: { lines: [3, 5] } }),
    );
  });
});
