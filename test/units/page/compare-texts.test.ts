import { describe, expect, it } from 'vitest';
import { compareTexts } from '../../../src/page/client/data/diff-lines.ts';

const lines = (count: number, lineAt: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${lineAt(index)}\n`).join('');

describe('compareTexts', () => {
  it('tells lines with their numbers, and which words of a line were changed', () => {
    const before = lines(9, (index) => `line ${index}`);
    const found = compareTexts(before, before.replace('line 5', 'word 5'), 100);
    expect(found).toMatchObject({ more: 0, isCoarse: false });
    expect(
      found.lines.map((line) => ('parts' in line ? [line.kind, line.before, line.after] : line.kind)),
    ).toEqual([
      'gap',
      ['same', 3, 3],
      ['same', 4, 4],
      ['same', 5, 5],
      ['removed', 6, undefined],
      ['added', undefined, 6],
      ['same', 7, 7],
      ['same', 8, 8],
      ['same', 9, 9],
    ]);
    expect(found.lines[4]).toMatchObject({
      parts: [
        { text: 'line', isChanged: true },
        { text: ' 5', isChanged: false },
      ],
    });
  });

  it('tells nothing of texts that are the same', () => {
    expect(compareTexts('a\nb', 'a\nb', 10)).toEqual({ lines: [], more: 0, isCoarse: false });
  });

  it('tells the first lines of hundreds of thousands, and how many follow', () => {
    const [before, after] = [lines(200_000, (index) => `a${index}`), lines(200_000, (index) => `b${index}`)];
    const found = compareTexts(before, after, 2_000);
    expect(found.lines).toHaveLength(2_000);
    expect(found).toMatchObject({ more: 398_000, isCoarse: false });
  });

  it('says where it compared coarsely', () => {
    const before = lines(4_000, (index) => `line ${index}`);
    const after = lines(4_000, (index) => `line ${(index * 1_009) % 4_000}`);
    const found = compareTexts(before, after, 10_000);
    expect(found.isCoarse).toBe(true);
    expect(found.lines.filter((line) => line.kind === 'removed')).toHaveLength(3_999);
  });

  it('compares no words of lines that have hardly one in common', () => {
    const words = (shift: number) =>
      Array.from({ length: 300 }, (_, index) => index + shift)
        .join(' ')
        .slice(0, 990);
    const found = compareTexts(
      lines(500, () => words(0)),
      lines(500, () => words(500)),
      2_000,
    );
    for (const line of found.lines) {
      if ('parts' in line && line.kind === 'removed') expect(line.parts).toHaveLength(1);
    }
  });
});
