import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findTraces } from './traces.ts';

describe('the search for traces', () => {
  const text = 'Geheimakte \u00e9\u{1f600}';
  const utf8 = Buffer.from(text);

  it.each([
    ['bytes', utf8],
    ['utf16le', Buffer.from(text, 'utf16le')],
    ['utf16be', Buffer.from(text, 'utf16le').swap16()],
    ['hex', Buffer.from(utf8.toString('hex'))],
    ['HEX', Buffer.from(utf8.toString('hex').toUpperCase())],
    ['reversed', Buffer.from(utf8).reverse()],
    ['percent-encoded', Buffer.from(encodeURIComponent(text))],
  ])('finds a text as %s between other bytes', (form, hidden) => {
    const haystack = Buffer.concat([randomBytes(101), hidden, randomBytes(57)]);
    expect(findTraces(haystack, ['something else', text])).toContain(`${text} as ${form}`);
  });

  it.each([0, 1, 2, 3, 4])('finds a text in base64 behind %i other bytes', (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const encoded = Buffer.concat([randomBytes(before), utf8, randomBytes(5)]).toString(encoding);
      const found = findTraces(`prefix:${encoded}`, [text]);
      expect(found.some((each) => each.startsWith(`${text} as ${encoding} at`))).toBe(true);
    }
  });

  it('finds a key by its bytes and finds nothing in random bytes', () => {
    const key = randomBytes(32);
    expect(findTraces(Buffer.concat([randomBytes(9), key]), [key])).toEqual(['a key as bytes']);
    expect(findTraces(randomBytes(100_000), [key, text])).toEqual([]);
  });
});
