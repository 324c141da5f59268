import { describe, expect, it } from 'vitest';
import {
  decodeText,
  encodeText,
  isWellFormed,
  LONGEST_TEXT,
  startOfText,
  wellFormed,
} from '../../src/language/text.ts';

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

describe('isWellFormed', () => {
  it('tells text with half a surrogate pair from whole text', () => {
    expect([isWellFormed('a😀'), isWellFormed('a\ud83d'), isWellFormed('\ude00b')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('wellFormed', () => {
  it('replaces lone surrogates only', () => {
    expect(wellFormed('😀\ud83d!')).toBe('😀\ufffd!');
  });
});

describe('startOfText', () => {
  it('never cuts a surrogate pair', () => {
    expect(startOfText('a😀b', 2)).toBe('a');
    expect(startOfText('a😀b', 3)).toBe('a😀');
    expect(startOfText('ab', 2)).toBe('ab');
  });
});
