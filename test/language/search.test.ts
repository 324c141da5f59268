import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { searchFor } from '../../src/language/search.ts';

describe('searchFor', () => {
  const piece = fc
    .tuple(fc.constantFrom('a', 'ab', 'aab', 'x\n', '😀'), fc.nat({ max: 300 }))
    .map(([text, times]) => text.repeat(times));
  const pieces = fc.array(piece, { maxLength: 4 }).map((all) => all.join(''));

  it('finds what indexOf finds, from wherever it begins', () => {
    fc.assert(
      fc.property(pieces, pieces, pieces, fc.nat(900), fc.boolean(), (before, part, after, from, isThere) => {
        if (part === '') return;
        const text = isThere ? before + part + after : before + after;
        expect(searchFor(part)(text, from)).toBe(text.indexOf(part, from));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<readonly [title: string, text: string, part: (length: number) => string]>([
    ['one character', 'a', (length) => `${'a'.repeat(length)}b${'a'.repeat(length)}`],
    ['lines', `${'-'.repeat(79)}\n`, (length) => `${'-'.repeat(79)}\n`.repeat(length / 80).concat('!')],
    ['an end', `b${'a'.repeat(199)}`, (length) => `b${'a'.repeat(length)}`],
  ])('takes no longer for a long repetition of %s than for a short one', (_, unit, part) => {
    const text = unit.repeat(262_144 / unit.length);
    const fastest = (length: number): number => {
      const search = searchFor(part(length));
      const times = Array.from({ length: 3 }, () => {
        const before = performance.now();
        expect(search(text, 0)).toBe(-1);
        return performance.now() - before;
      });
      return Math.min(...times);
    };
    // A hundred times as much, where every character is compared with every other.
    expect(fastest(32_000) / fastest(320)).toBeLessThan(20);
  });
});
