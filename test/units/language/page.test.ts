import { describe, expect, it } from 'vitest';
import { cutToPage, echoText, type Lines, pageOf, shorten } from '../../../src/language/page.ts';

const PAGE = 16_000;

/** Makes so many lines, `1`, `2` and so on, and notes each that is read. */
function linesOf(count: number, read: number[] = []): Lines {
  return {
    count,
    *from(first) {
      for (let line = first; line <= count; line++) {
        read.push(line);
        yield String(line);
      }
    },
  };
}

describe('pageOf', () => {
  it.each([
    [undefined, 1, ['1', '2', '3']],
    [[1, 3], 1, ['1', '2', '3']],
    [[2, 3], 2, ['2', '3']],
    [[2, 2], 2, ['2']],
    [[2], 2, ['2']],
    [[3, -1], 3, ['3']],
    [[-7, 2], 1, ['1', '2']],
    [[-7], 1, ['1']],
    [[0, 4], 1, ['1', '2', '3']],
    [[3, 9], 3, ['3']],
  ])('of the range %j begins at %i and shows %j', (viewRange, firstLine, shown) => {
    expect(pageOf(linesOf(3), { viewRange, named: 'line' })).toEqual({ firstLine, lines: shown, notes: [] });
  });

  it.each([
    [[]],
    [[4]],
    [[4, -1]],
    [[2, 1]],
    [[1, -2]],
    [[1, 0]],
    [[1, 2, 3]],
    [[1.5]],
    [[1, 2.5]],
    [[Number.NaN]],
  ])('refuses the range %j, with the number of what can be shown', (viewRange) => {
    const refused = (details: object) => expect.objectContaining({ code: 'line_out_of_range', details });
    expect(() => pageOf(linesOf(3), { viewRange, named: 'line' })).toThrow(refused({ lines: 3 }));
    expect(() => pageOf(linesOf(3), { viewRange, named: 'row' })).toThrow(refused({ rows: 3 }));
  });

  it('reads no more lines than it shows', () => {
    const read: number[] = [];
    pageOf(linesOf(9, read), { viewRange: [2, 4], named: 'line' });
    expect(read).toEqual([2, 3, 4]);
  });
});

describe('cutToPage', () => {
  const range = { first: 5, last: 7, toEnd: false, named: 'line' } as const;
  const x = (length: number): string => 'x'.repeat(length);

  it('shows all lines where they hold a page with the breaks between them', () => {
    const lines = [x(7_999), x(7_999), ''];
    expect(cutToPage(lines, range)).toEqual({ firstLine: 5, lines, notes: [] });
  });

  it.each([
    [
      [x(8_000), x(8_000), 'a'],
      1,
      '(Cut at 16000 characters: 2 more lines remain. Continue with view_range [6, 7].)',
    ],
    [
      [x(8_000), x(7_999), 'a'],
      2,
      '(Cut at 16000 characters: 1 more line remains. Continue with view_range [7, 7].)',
    ],
  ])('cuts at the end of a line, and names what remains', (lines, count, note) => {
    expect(cutToPage(lines, range)).toEqual({ firstLine: 5, lines: lines.slice(0, count), notes: [note] });
  });

  it('continues to the end where the end was asked for, by rows where rows are shown', () => {
    const lines = [x(PAGE), 'a', 'b'];
    expect(cutToPage(lines, { ...range, toEnd: true, named: 'row' }).notes).toEqual([
      '(Cut at 16000 characters: 2 more rows remain. Continue with view_range [6, -1].)',
    ]);
  });

  it('shows a line of a page whole, and of a longer one the start', () => {
    const last = { ...range, last: 5 };
    expect(cutToPage([x(PAGE)], last)).toEqual({ firstLine: 5, lines: [x(PAGE)], notes: [] });
    expect(cutToPage([x(PAGE + 1)], last)).toEqual({
      firstLine: 5,
      lines: [x(PAGE)],
      notes: ['(First 16000 of the 16001 characters of line 5.)'],
    });
    expect(cutToPage([x(PAGE + 1), 'a'], { ...range, last: 6, named: 'row' }).notes).toEqual([
      '(First 16000 of the 16001 characters of row 5: 1 more row remains. Continue with view_range [6, 6].)',
    ]);
  });
});

describe('echoText', () => {
  const cut = (start: string, length: number): string => `${start}… (${length} characters)`;

  it.each(['', 'a\nb', 'x'.repeat(PAGE)])('repeats a text of a page whole', (text) => {
    expect(echoText(text)).toBe(text);
  });

  it.each([
    ['x'.repeat(PAGE + 1), 'x'.repeat(PAGE)],
    [`${'x'.repeat(PAGE)}\n`, 'x'.repeat(PAGE)],
    [`${'x'.repeat(PAGE - 1)}\nxy`, 'x'.repeat(PAGE - 1)],
    [`a\n${'x'.repeat(PAGE)}`, 'a'],
    [`\n${'x'.repeat(PAGE)}`, `\n${'x'.repeat(PAGE - 1)}`],
    [`${'x'.repeat(PAGE - 1)}😀`, 'x'.repeat(PAGE - 1)],
  ])('repeats of a longer one as many lines as a page holds, or the start of the first', (text, start) => {
    expect(echoText(text)).toBe(cut(start, text.length));
  });

  it('repeats no half of a surrogate pair', () => {
    expect(echoText('a\ud800b')).toBe('a\ufffdb');
    expect(echoText(`\ud800${'x'.repeat(PAGE)}`)).toBe(cut(`\ufffd${'x'.repeat(PAGE - 1)}`, PAGE + 1));
  });
});

describe('shorten', () => {
  it('repeats 1,000 characters, and of more the start and their number', () => {
    expect(shorten('x'.repeat(1_000))).toBe('x'.repeat(1_000));
    expect(shorten('x'.repeat(1_001))).toBe(`${'x'.repeat(1_000)}… (1001 characters)`);
    expect(shorten(`${'x'.repeat(999)}😀`)).toBe(`${'x'.repeat(999)}… (1001 characters)`);
    expect(shorten('a\ud800')).toBe('a\ufffd');
  });
});
