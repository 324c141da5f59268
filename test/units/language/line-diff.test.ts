import { applyPatch, createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffLines, hunkLines, hunksOf, type LineDiff, mergeLines } from '../../../src/language/line-diff.ts';

function run<T>(steps: Generator<void, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

const compare = (before: string, after: string): LineDiff => run(diffLines(before, after));

function patchOf(before: string, after: string, context = 4): string {
  return `--- a\n+++ b\n${run(hunkLines(run(hunksOf(compare(before, after), context))))}`;
}

const edits = ({ runs }: LineDiff): number =>
  runs.reduce((sum, { kind, count }) => sum + (kind === 'same' ? 0 : count), 0);

/** Few different lines, so that many are repeated; the last may lack its line feed. */
const text = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', '', 'd\r'), { maxLength: 24 }), fc.boolean())
  .map(([lines, isEnded]) => lines.join('\n') + (isEnded && lines.length > 0 ? '\n' : ''));

describe('diffLines', () => {
  it('makes a patch that leads from one text to the other', () => {
    fc.assert(
      fc.property(text, text, fc.nat(5), (before, after, context) => {
        const patch = patchOf(before, after, context);
        // Else CRLF in a patch is taken for the work of an editor where the text has none.
        expect(applyPatch(before, patch, { autoConvertLineEndings: false })).toBe(after);
      }),
    );
  });

  it('removes and adds as few lines as can be, in the form of every patch', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const expected = createTwoFilesPatch('a', 'b', before, after, '', '', {
          headerOptions: FILE_HEADERS_ONLY,
        }).replaceAll('\t\n', '\n');
        const signs = expected.split('\n').filter((line) => /^[+-](?!--|\+\+)/.test(line));
        expect(edits(compare(before, after))).toBe(signs.length);
        if (signs.length < 2) expect(patchOf(before, after)).toBe(expected);
      }),
    );
  });

  it('shows changes together where they stand near each other, in the form of every patch', () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}\n`);
    for (const context of [0, 1, 3, 4]) {
      for (let gap = 1; gap <= 12; gap += 1) {
        for (const [first, second] of [
          [[], 'new\n'],
          ['new\n', 'new'],
          [['x\n', 'y\n'], []],
        ] as const) {
          const after = lines.toSpliced(5, 1, ...first).toSpliced(5 + gap, 1, ...second);
          const [from, to] = [lines.join(''), after.join('')];
          const expected = createTwoFilesPatch('a', 'b', from, to, '', '', {
            context,
            headerOptions: FILE_HEADERS_ONLY,
          });
          expect(patchOf(from, to, context)).toBe(expected.replaceAll('\t\n', '\n'));
        }
      }
    }
  });

  it('tells of all lines in their order, and of no kind twice in a row', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { runs, before: left, after: right } = compare(before, after);
        expect([left.join(''), right.join('')]).toEqual([before, after]);
        let [x, y] = [0, 0];
        for (const [index, { kind, before: at, after: to, count }] of runs.entries()) {
          expect([at, to]).toEqual([x, y]);
          expect(kind).not.toBe(runs[index - 1]?.kind);
          if (kind === 'same') expect(left.slice(x, x + count)).toEqual(right.slice(y, y + count));
          if (kind !== 'added') x += count;
          if (kind !== 'removed') y += count;
        }
        expect([x, y]).toEqual([left.length, right.length]);
      }),
    );
  });

  it('tells exactly of thousands of lines that were changed, removed and added', () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`);
    const changed = lines.flatMap((line, index) => {
      if (index % 7 === 3) return [];
      return index % 2 === 0 ? [line] : [`other ${line}`, `new ${line}`];
    });
    const found = compare(lines.join(''), changed.join(''));
    const kept = new Set(changed);
    const same = lines.filter((line) => kept.has(line)).length;
    expect(found.isCoarse).toBe(false);
    expect(edits(found)).toBe(lines.length + changed.length - 2 * same);
  });

  it('tells coarsely, and still rightly, of texts whose lines were moved about', () => {
    const lines = Array.from({ length: 8_000 }, (_, index) => `line ${(index * 7_919) % 8_000}\n`);
    const [before, after] = [`first\n${lines.join('')}last`, `first\n${lines.toSorted().join('')}last`];
    const found = compare(before, after);
    expect(found).toMatchObject({ isCoarse: true });
    expect(found.runs.map(({ kind }) => kind)).toEqual(['same', 'removed', 'added', 'same']);
    expect(applyPatch(before, patchOf(before, after))).toBe(after);
  });
});

describe('mergeLines', () => {
  const merge = (base: string, one: string, other: string): string | undefined =>
    run(mergeLines(base, one, other));

  it('takes the text that alone was changed, and one that both made alike', () => {
    fc.assert(
      fc.property(text, text, (base, changed) => {
        expect(merge(base, changed, base)).toBe(changed);
        expect(merge(base, base, changed)).toBe(changed);
        expect(merge(base, changed, changed)).toBe(changed);
      }),
    );
  });

  it('joins what was changed above a line with what was changed below it, whoever did which', () => {
    const lines = fc
      .array(fc.constantFrom('a\n', 'b\n', '\n'), { maxLength: 12 })
      .map((each) => each.join(''));
    fc.assert(
      fc.property(lines, lines, lines, lines, (above, below, newAbove, newBelow) => {
        const [base, one] = [`${above}# same\n${below}`, `${newAbove}# same\n${below}`];
        const other = `${above}# same\n${newBelow}`;
        expect(merge(base, one, other)).toBe(`${newAbove}# same\n${newBelow}`);
        expect(merge(base, other, one)).toBe(`${newAbove}# same\n${newBelow}`);
      }),
    );
  });

  it.each([
    ['the same line', 'a\nb\nc\n', 'a\nx\nc\n', 'a\ny\nc\n'],
    ['lines that touch', 'a\nb\nc\n', 'x\nb\nc\n', 'a\ny\nc\n'],
    ['a line that the other removed', 'a\nb\nc\n', 'a\nc\n', 'a\ny\nc\n'],
    ['the end, to which both added', 'a\n', 'a\nx\n', 'a\ny\n'],
  ])('makes nothing where both changed %s', (_, base, one, other) => {
    expect(merge(base, one, other)).toBeUndefined();
    expect(merge(base, other, one)).toBeUndefined();
  });
});
