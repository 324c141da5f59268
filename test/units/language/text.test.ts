import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeText, encodeText, LONGEST_TEXT, searchFor, startOfText } from '../../../src/language/text.ts';

describe('decodeText', () => {
  it('gives back what encodeText made, a byte order mark and CRLF included', () => {
    const text = '\ufeffa\r\nb\u0000é👩‍💻';
    expect(decodeText(encodeText(text))).toBe(text);
    expect(encodeText('\ufeff')).toEqual(Uint8Array.of(0xef, 0xbb, 0xbf));
  });

  it.each([[[0xff]], [[0xc0, 0xae]], [[0xed, 0xa0, 0x80]], [[0x61, 0xe2, 0x82]]])(
    'answers undefined for the bytes %j, which are not UTF-8',
    (bytes) => {
      expect(decodeText(Uint8Array.from(bytes))).toBeUndefined();
    },
  );
});

describe('decodeText of more than a string can hold', () => {
  const limit = 2 ** 29 - 24;

  it('says that the text is too large, not that it is none', () => {
    const text = new Uint8Array(limit + 1);
    const refusal = { limit: 'text_bytes', value: limit + 1, max: limit };
    expect(() => decodeText(text)).toThrow(
      expect.objectContaining({ code: 'limit_exceeded', details: refusal }),
    );
    text[0] = 0xff;
    expect(decodeText(text)).toBeUndefined();
  });

  it('has the limit of strings', () => {
    expect(LONGEST_TEXT).toBe(limit);
    expect(() => 'x'.repeat(limit + 1)).toThrow(RangeError);
    expect('x'.repeat(limit)).toHaveLength(limit);
  });
});

describe('startOfText', () => {
  it('never cuts a surrogate pair', () => {
    expect(startOfText('a😀b', 2)).toBe('a');
    expect(startOfText('a😀b', 3)).toBe('a😀');
    expect(startOfText('ab', 2)).toBe('ab');
  });
});

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
      const times = Array.from({ length: 10 }, () => {
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
