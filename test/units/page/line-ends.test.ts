import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { savedText } from '../../../src/page/client/data/line-ends.ts';

/** A text as a browser gives it back from a field. */
const typed = (text: string): string => text.replaceAll(/\r\n|\r/g, '\n');

const text = fc
  .array(fc.tuple(fc.constantFrom('', 'a', 'b', 'c'), fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 })
  .map((lines) => lines.flat().join(''));

describe('the text that is saved of a draft', () => {
  it('has each line end of its base where nothing was changed', () => {
    fc.assert(
      fc.property(text, (base) => {
        expect(savedText({ base, text: typed(base) })).toBe(base);
      }),
    );
  });

  it('has the lines that were typed, whatever their ends', () => {
    fc.assert(
      fc.property(text, text, (base, changed) => {
        const saved = savedText({ base, text: typed(changed) });
        expect(typed(saved)).toBe(typed(changed));
      }),
    );
  });

  it.each([
    ['CRLF', 'a\r\nb\r\n', 'a\nnew\nb\nend', 'a\r\nnew\r\nb\r\nend'],
    ['LF', 'a\nb\n', 'a\nnew\nb\n', 'a\nnew\nb\n'],
    ['mostly CRLF', 'a\r\nb\nc\r\n', 'a\nb\nnew\nc\n', 'a\r\nb\nnew\r\nc\r\n'],
    ['nothing yet', '', 'a\nb', 'a\nb'],
  ])('ends new lines as most of the base: %s', (_, base, changed, saved) => {
    expect(savedText({ base, text: changed })).toBe(saved);
  });
});
