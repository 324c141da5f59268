import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countLineBreaks,
  endOfLine,
  lineBreaksOf,
  lineStartAt,
  linesFrom,
  startOfLine,
} from '../../src/language/text.ts';

/** Lines shorter and longer than what is looked at character by character. */
const text = fc
  .array(fc.constantFrom('', '\r', 'a', 'é😀', 'seven..', 'eight...', 'nine.....', 'x'.repeat(40)), {
    minLength: 1,
    maxLength: 12,
  })
  .map((lines) => lines.join('\n'));

describe('the lines of a text', () => {
  it('are those between its line feeds', () => {
    fc.assert(
      fc.property(text, (content) => {
        const lines = content.split('\n');
        expect([...linesFrom(content, 0)]).toEqual(lines);
        expect(countLineBreaks(content)).toBe(lines.length - 1);
        const crlf = lines.slice(0, -1).filter((line) => line.endsWith('\r')).length;
        expect(lineBreaksOf(content)).toEqual({ all: lines.length - 1, crlf });
        let start = 0;
        for (const [index, line] of lines.entries()) {
          expect(startOfLine(content, index + 1)).toBe(start);
          expect(endOfLine(content, start)).toBe(start + line.length);
          for (let at = start; at <= start + line.length; at++) expect(lineStartAt(content, at)).toBe(start);
          start += line.length + 1;
        }
      }),
      { numRuns: 500 },
    );
  });

  it('are counted within a part of it', () => {
    fc.assert(
      fc.property(text, fc.nat(500), fc.nat(500), (content, a, b) => {
        const [from = 0, to = 0] = [Math.min(a, content.length), Math.min(b, content.length)].sort(
          (x, y) => x - y,
        );
        expect(countLineBreaks(content, from, to)).toBe(content.slice(from, to).split('\n').length - 1);
      }),
      { numRuns: 500 },
    );
  });
});
