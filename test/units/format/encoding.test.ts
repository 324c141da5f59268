import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bigU64,
  fromBase64,
  fromBase64url,
  hasBytesAt,
  sameBytes,
  toBase64,
  toBase64url,
  u16,
  u32,
  u64,
} from '../../../src/format/encoding.ts';

const bytes = fc.uint8Array({ maxLength: 200 });

describe('base64', () => {
  it('writes what Node writes', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(toBase64url(value)).toBe(Buffer.from(value).toString('base64url'));
        expect(toBase64(value)).toBe(Buffer.from(value).toString('base64'));
      }),
    );
  });

  it('reads back what it wrote', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(fromBase64url(toBase64url(value))).toEqual(value);
        expect(fromBase64(toBase64(value))).toEqual(value);
      }),
    );
  });

  it('reads only text that it would write in exactly that way', () => {
    const nearly = fc.string({ unit: fc.constantFrom(...'ABgw89-_+/=\n é'), maxLength: 12 });
    fc.assert(
      fc.property(nearly, (text) => {
        const url = fromBase64url(text);
        expect(url === undefined || toBase64url(url) === text).toBe(true);
        const standard = fromBase64(text);
        expect(standard === undefined || toBase64(standard) === text).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['A', 'AB', 'AA=', 'AA==', 'A A', 'AA\n', 'AAAAA', '+/+/', 'AAB', 'AAé', 'AA\u0141'])(
    'refuses %j as base64url',
    (text) => {
      expect(fromBase64url(text)).toBeUndefined();
    },
  );

  it.each(['AA', 'AA=', 'AB==', 'AAB=', '====', 'A===', 'AA==AA==', '-_-_', 'AAA=\n', 'AAA ='])(
    'refuses %j as padded base64',
    (text) => {
      expect(fromBase64(text)).toBeUndefined();
    },
  );
});

it.each([
  [u16(0x1234), '1234'],
  [u16(0xffff), 'ffff'],
  [u32(0x12345678), '12345678'],
  [u32(0xffffffff), 'ffffffff'],
  [u64(0x1234_5678_9abc), '0000123456789abc'],
  [u64(2 ** 32), '0000000100000000'],
  [bigU64(0n), '0000000000000000'],
  [bigU64(2n ** 64n - 1n), 'ffffffffffffffff'],
])('a number is written big-endian, in as many bytes as it says', (written, hex) => {
  expect(Buffer.from(written).toString('hex')).toBe(hex);
});

describe('bytes', () => {
  const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

  it('are the same where none differs and none is missing', () => {
    expect(sameBytes(bytes(1, 2), bytes(1, 2))).toBe(true);
    expect(sameBytes(bytes(), bytes())).toBe(true);
    expect(sameBytes(bytes(1, 2), bytes(1, 3))).toBe(false);
    expect(sameBytes(bytes(1), bytes(1, 2))).toBe(false);
    expect(sameBytes(bytes(1, 2), bytes(1))).toBe(false);
  });

  it('lie at a place where all of them lie there', () => {
    expect(hasBytesAt(bytes(1, 2, 3), 1, bytes(2, 3))).toBe(true);
    expect(hasBytesAt(bytes(1, 2, 3), 1, bytes(3))).toBe(false);
    expect(hasBytesAt(bytes(1, 2, 3), 2, bytes(3, 4))).toBe(false);
    expect(hasBytesAt(bytes(1, 2, 3), 3, bytes(0))).toBe(false);
  });
});
