import { describe, expect, it } from 'vitest';
import { replaceOnce } from '../../../src/language/edit.ts';
import { editSnippet, viewFile } from '../../../src/language/view.ts';

const given = '/memories/notes.txt';
const header = `Here's the content of ${given} with line numbers:`;

function linesOf(text: string, viewRange?: readonly number[]): readonly string[] {
  const [first, ...lines] = viewFile({ given, text, viewRange }).split('\n');
  expect(first).toBe(header);
  return lines;
}

describe('viewFile', () => {
  it('numbers lines in six columns', () => {
    expect(viewFile({ given, text: 'Hello World\nThis is line two' })).toBe(
      `${header}\n     1\tHello World\n     2\tThis is line two`,
    );
    const lines = linesOf('x\n'.repeat(100));
    expect([lines[9], lines[99]]).toEqual(['    10\tx', '   100\tx']);
  });

  it('shows a final newline as one more empty line', () => {
    expect(linesOf('a\n')).toEqual(['     1\ta', '     2\t']);
  });

  it('shows an empty file as one empty line', () => {
    expect(viewFile({ given, text: '' })).toBe(`${header}\n     1\t`);
  });

  it('leaves CRLF and a byte order mark as they are', () => {
    expect(viewFile({ given, text: '\ufeffa\r\nb' })).toBe(`${header}\n     1\t\ufeffa\r\n     2\tb`);
  });

  it.each([
    [
      [1, 2],
      ['     1\ta', '     2\tb'],
    ],
    [[2, 2], ['     2\tb']],
    [[2], ['     2\tb']],
    [
      [3, -1],
      ['     3\tc', '     4\t'],
    ],
    [[-5, 1], ['     1\ta']],
    [[0, 1], ['     1\ta']],
    [[0], ['     1\ta']],
    [[4, 4], ['     4\t']],
    [
      [3, 99],
      ['     3\tc', '     4\t'],
    ],
    [
      [-1, -1],
      ['     1\ta', '     2\tb', '     3\tc', '     4\t'],
    ],
  ])('shows the lines of the range %j', (viewRange, lines) => {
    expect(linesOf('a\nb\nc\n', viewRange)).toEqual(lines);
  });

  it.each([
    [[5, 6]],
    [[5, -1]],
    [[5]],
    [[3, 2]],
    [[2, 0]],
    [[0, 0]],
    [[1, -2]],
    [[]],
    [[1, 2, 3]],
    [[1.5, 2]],
    [[1, 2.5]],
    [[Number.NaN]],
    [[1, Number.NaN]],
    [[1, Number.POSITIVE_INFINITY]],
  ])('refuses the range %j and tells how many lines there are', (viewRange) => {
    expect(() => viewFile({ given, text: 'a\nb\nc\n', viewRange })).toThrow(
      expect.objectContaining({ code: 'line_out_of_range', details: { lines: 4 } }),
    );
  });

  it('shows 16,000 characters whole', () => {
    const lines = linesOf('x\n'.repeat(8_000));
    expect(lines).toHaveLength(8_001);
    expect(lines.at(-1)).toBe('  8001\t');
  });

  it('cuts a longer text at a line boundary and names the range that continues', () => {
    const lines = linesOf(`${'x\n'.repeat(8_000)}y\nz`);
    expect(lines).toHaveLength(8_001);
    expect(lines.at(-2)).toBe('  8000\tx');
    expect(lines.at(-1)).toBe(
      '(Cut at 16000 characters: 2 more lines remain. Continue with view_range [8001, -1].)',
    );
  });

  it('tells a single remaining line from several', () => {
    expect(linesOf(`${'x\n'.repeat(8_000)}y`).at(-1)).toContain('1 more line remains. Continue');
  });

  it('cuts a range and continues to its end', () => {
    const lines = linesOf('x\n'.repeat(20_000), [101, 10_000]);
    expect(lines[0]).toBe('   101\tx');
    expect(lines.at(-1)).toBe(
      '(Cut at 16000 characters: 1900 more lines remain. Continue with view_range [8101, 10000].)',
    );
  });

  it('shows the start of a line that is longer than a page and tells its length', () => {
    expect(linesOf('y'.repeat(20_000))).toEqual([
      `     1\t${'y'.repeat(16_000)}`,
      '(First 16000 of the 20000 characters of line 1.)',
    ]);
    expect(linesOf(`${'y'.repeat(20_000)}\nb\n`).at(-1)).toBe(
      '(First 16000 of the 20000 characters of line 1: 2 more lines remain. Continue with view_range [2, -1].)',
    );
    expect(linesOf(`a\n${'y'.repeat(20_000)}\nb`).at(-1)).toBe(
      '(Cut at 16000 characters: 2 more lines remain. Continue with view_range [2, -1].)',
    );
    expect(linesOf(`a\n${'y'.repeat(20_000)}\nb`, [2, 2])).toEqual([
      `     2\t${'y'.repeat(16_000)}`,
      '(First 16000 of the 20000 characters of line 2.)',
    ]);
  });

  it('does not cut a surrogate pair', () => {
    const [line, note] = linesOf(`a${'😀'.repeat(8_000)}`);
    expect(line).toBe(`     1\ta${'😀'.repeat(7_999)}`);
    expect(note).toBe('(First 15999 of the 16001 characters of line 1.)');
  });

  it('shows 999,999 lines and refuses one more', () => {
    expect(linesOf('\n'.repeat(999_998), [999_999])).toEqual(['999999\t']);
    expect(() => viewFile({ given, text: '\n'.repeat(999_999), viewRange: [1, 2] })).toThrow(
      expect.objectContaining({
        code: 'limit_exceeded',
        details: { limit: 'lines', value: 1_000_000, max: 999_999 },
      }),
    );
  });
});

describe('editSnippet', () => {
  const text = '1\n2\n3\n4\n5\n6\n7\n8\n9';

  it('shows two lines before and after the change', () => {
    expect(editSnippet(replaceOnce(text, '5', 'five'))).toBe(
      '     3\t3\n     4\t4\n     5\tfive\n     6\t6\n     7\t7',
    );
  });

  it('shows every line that was put in', () => {
    expect(editSnippet(replaceOnce(text, '5', 'a\nb\nc'))).toBe(
      '     3\t3\n     4\t4\n     5\ta\n     6\tb\n     7\tc\n     8\t6\n     9\t7',
    );
  });

  it('is cut like a view, with the range that shows the rest', () => {
    const many = editSnippet(replaceOnce(text, '5', 'x\n'.repeat(20_000))).split('\n');
    expect(many.slice(0, 3)).toEqual(['     3\t3', '     4\t4', '     5\tx']);
    expect(many.at(-2)).toBe('  8002\tx');
    expect(many.at(-1)).toBe(
      '(Cut at 16000 characters: 12005 more lines remain. Continue with view_range [8003, 20007].)',
    );
    const long = editSnippet(replaceOnce(`1\n2\n${'😀'.repeat(10_000)}5\n4`, '5', 'x')).split('\n');
    expect(long).toEqual([
      ...['     1\t1', '     2\t2'],
      '(Cut at 16000 characters: 2 more lines remain. Continue with view_range [3, 4].)',
    ]);
    const alone = editSnippet(replaceOnce(`x${'😀'.repeat(10_000)}5`, '5', '6'));
    expect(alone).toBe(`     1\tx${'😀'.repeat(7_999)}\n(First 15999 of the 20002 characters of line 1.)`);
    expect(alone.isWellFormed()).toBe(true);
  });

  it('is made without a look at the rest of a long text', () => {
    const snippetOf = (lines: number): (() => string) => {
      const start = lines / 2;
      const long = new TextDecoder().decode(new Uint8Array(lines).fill(0x0a));
      const replacement = { text: long, start, end: start + 1, firstLine: start + 1, lineBreaks: 1 };
      return () => editSnippet(replacement);
    };
    const [short, long] = [snippetOf(2 ** 10), snippetOf(2 ** 25)];
    expect(long().split('\n')).toHaveLength(6);
    const fastest = (work: () => string): number =>
      Math.min(
        ...Array.from({ length: 50 }, () => {
          const before = performance.now();
          for (let times = 0; times < 10; times++) work();
          return performance.now() - before;
        }),
      );
    // A look at all of it would take 32,768 times as long.
    expect(fastest(long) / fastest(short)).toBeLessThan(1_000);
  });

  it('stays within the text', () => {
    expect(editSnippet(replaceOnce(text, '1\n', ''))).toBe('     1\t2\n     2\t3\n     3\t4');
    expect(editSnippet(replaceOnce(text, '9', 'nine'))).toBe('     7\t7\n     8\t8\n     9\tnine');
    expect(editSnippet(replaceOnce('only', 'only', ''))).toBe('     1\t');
  });
});
