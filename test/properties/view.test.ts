import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replaceOnce } from '../../src/language/edit.ts';
import { MEMORY_ROOT, parseMemoryPath } from '../../src/language/path.ts';
import { startOfText } from '../../src/language/text.ts';
import { editSnippet, viewFile } from '../../src/language/view.ts';
import { viewDirectory } from '../units/language/view-directory.ts';

/** Follows the notes of a paged view; `show` makes one page's reply. The last number is of pages that were cut. */
function followPages(show: (range: readonly number[] | undefined) => string): readonly (readonly string[])[] {
  const pages: (readonly string[])[] = [];
  for (let range: readonly number[] | undefined, done = false; !done; ) {
    const lines = show(range).split('\n').slice(1);
    const next = /^\(.*Continue with view_range \[(\d+), (-?\d+)\]\.\)$/.exec(lines.at(-1) ?? '');
    pages.push(next === null ? lines : lines.slice(0, -1));
    range = next === null ? undefined : [Number(next[1]), Number(next[2])];
    done = next === null;
  }
  return pages;
}

const line = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.nat({ max: 15_990 }).map((length) => '😀'.repeat(length / 2)),
  fc.constantFrom('', '\r', '\tx', '(Continue with view_range [1, -1].)'),
);
const text = fc.array(line, { minLength: 1, maxLength: 40 }).map((lines) => lines.join('\n'));

describe('viewFile', () => {
  it('gives the whole file to a reader who follows its notes, numbered without a gap', () => {
    fc.assert(
      fc.property(text, (content) => {
        const pages = followPages((viewRange) =>
          viewFile({ given: '/memories/a', text: content, viewRange }),
        );
        const rows = pages.flat();
        expect(rows.map((row) => row.slice(7)).join('\n')).toBe(content);
        expect(rows.map((row) => Number(row.slice(0, 6)))).toEqual(rows.map((_, index) => index + 1));
        for (const page of pages) {
          expect(page.map((row) => row.slice(7)).join('\n').length).toBeLessThanOrEqual(16_000);
        }
      }),
    );
  });

  it('gives a whole range to a reader who follows its notes', () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (content, a, b) => {
        const lines = content.split('\n');
        const [first = 0, last = 0] = [a % lines.length, b % lines.length].sort((x, y) => x - y);
        const range = [first + 1, last + 1];
        const pages = followPages((next) =>
          viewFile({ given: '/memories/a', text: content, viewRange: next ?? range }),
        );
        expect(pages.flat().map((row) => row.slice(7))).toEqual(lines.slice(first, last + 1));
      }),
    );
  });
});

describe('editSnippet', () => {
  it('shows the change and what is around it, or with its note leads a reader there', () => {
    const inserted = fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, inserted, text, (before, newStr, after) => {
        const mark = '<the only one>';
        const replacement = replaceOnce(`${before}${mark}${after}`, mark, newStr);
        const all = replacement.text.split('\n');
        const at = before.split('\n').length;
        const expected = all
          .map((each, index) => `${String(index + 1).padStart(6)}\t${startOfText(each, 16_000)}`)
          .slice(Math.max(0, at - 3), at + newStr.split('\n').length + 1);
        const pages = followPages((viewRange) =>
          viewRange === undefined
            ? `\n${editSnippet(replacement)}`
            : viewFile({ given: '/memories/a', text: replacement.text, viewRange }),
        );
        const rows = pages.flat().filter((row) => !/^\(First \d+ of/.test(row));
        expect(rows).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});

describe('viewDirectory', () => {
  const name = fc.stringMatching(/^[a-zA-Z.é_]{1,3}x$/);
  const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 4 }), {
    maxLength: 400,
    size: 'max',
    selector: (segments) => segments.join('/'),
  });

  it('gives the whole listing to a reader who follows its notes, whatever order the files come in', () => {
    fc.assert(
      fc.property(paths, (all) => {
        const long = 'long-directory-name-'.repeat(5);
        const files = all.map((segments) => ({
          path: parseMemoryPath(`/memories/${long}/${segments.join('/')}`),
          size: segments.length,
        }));
        const show = (order: typeof files, viewRange?: readonly number[]): string =>
          viewDirectory({
            given: '/memories',
            path: files.length === 0 ? MEMORY_ROOT : parseMemoryPath(`/memories/${long}`),
            files: order,
            viewRange,
          });
        const rows = followPages((viewRange) => show(files, viewRange)).flat();
        expect(followPages((viewRange) => show(files.toReversed(), viewRange)).flat()).toEqual(rows);
        expect(new Set(rows).size).toBe(rows.length);
        const visible = all.filter((segments) =>
          segments.slice(0, 2).every((segment) => !segment.startsWith('.')),
        );
        const shallow = visible.filter((segments) => segments.length <= 2);
        const directories = new Set(
          visible.flatMap((segments) =>
            segments
              .slice(0, -1)
              .slice(0, 2)
              .map((_, i) => segments.slice(0, i + 1).join('/')),
          ),
        );
        const hiddenBelow = all.filter(
          ([first, second]) => first !== undefined && !first.startsWith('.') && second?.startsWith('.'),
        );
        for (const [first] of hiddenBelow) directories.add(first ?? '');
        expect(rows).toHaveLength(1 + shallow.length + directories.size);
      }),
      { numRuns: 40 },
    );
  });
});
