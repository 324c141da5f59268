import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BASE64URL_IN_BYTE_ORDER,
  bigU64,
  concat,
  copyOf,
  copyOfKey,
  domain,
  fromBase64,
  fromBase64url,
  hasBytesAt,
  lengthPrefixed,
  readBigU64,
  readU16,
  readU32,
  readU64,
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

describe('numbers', () => {
  /** A part of a larger buffer, which has other bytes before and behind it. */
  const part = (...values: readonly number[]): Uint8Array =>
    Uint8Array.from([0xaa, ...values, 0xbb]).subarray(1, values.length + 1);

  it('are read big-endian, at their place within a part of a buffer', () => {
    expect(readU16(part(0, 1, 2), 1)).toBe(0x0102);
    expect(readU32(part(0, 0xff, 2, 3, 4), 1)).toBe(0xff02_0304);
    expect(readBigU64(part(0, 0xff, 2, 3, 4, 5, 6, 7, 8), 1)).toBe(0xff02_0304_0506_0708n);
    expect(readU64(part(0, 0, 0x1f, 2, 3, 4, 5, 6, 7), 1, Number.MAX_SAFE_INTEGER)).toBe(0x1f_0203_0405_0607);
  });

  it('are never read beyond a part of a buffer', () => {
    expect(() => readU16(part(1, 2), 1)).toThrow(RangeError);
    expect(() => readU32(part(1, 2, 3), 0)).toThrow(RangeError);
    expect(() => readBigU64(part(1, 2, 3, 4, 5, 6, 7), 0)).toThrow(RangeError);
  });

  it.each([
    [7n, 7, 7],
    [8n, 7, undefined],
    [0n, 0, 0],
    [2n ** 53n - 1n, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [2n ** 53n, Number.MAX_SAFE_INTEGER, undefined],
    [2n ** 64n - 1n, Number.MAX_SAFE_INTEGER, undefined],
  ])('of eight bytes are read up to a limit: %s of at most %s', (value, most, read) => {
    expect(readU64(bigU64(value), 0, most)).toBe(read);
  });
});

describe('parts of bytes', () => {
  it('are put behind one another', () => {
    expect(concat()).toEqual(new Uint8Array(0));
    expect(concat(Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3))).toEqual(Uint8Array.of(1, 2, 3));
  });

  it.each([
    ['copyOf', copyOf],
    ['copyOfKey', copyOfKey],
  ])('are copied by %s to memory of their own', (_, copy) => {
    const whole = Buffer.from([1, 2, 3, 4]);
    const copies = [copy(whole), copy(whole, 1), copy(whole, 1, 3)];
    whole.fill(0);
    expect(copies).toEqual([Uint8Array.of(1, 2, 3, 4), Uint8Array.of(2, 3, 4), Uint8Array.of(2, 3)]);
    expect(copies.every(({ buffer, length }) => buffer.byteLength === length)).toBe(true);
  });

  it('are written with their length before them', () => {
    expect(lengthPrefixed(new Uint8Array(0))).toEqual(Uint8Array.of(0, 0, 0, 0));
    expect(lengthPrefixed(Uint8Array.of(7, 8))).toEqual(Uint8Array.of(0, 0, 0, 2, 7, 8));
  });

  it('that name a use of a key end in a zero', () => {
    expect(Buffer.from(domain('wrap')).toString('latin1')).toBe('sealed-memory/1/wrap\0');
  });
});

it('the characters of base64url stand in the order of their bytes', () => {
  const written = new Set(toBase64url(Uint8Array.from({ length: 768 }, (_, at) => (at * 157) >> 3)));
  const all = [...written, ...toBase64url(Uint8Array.from({ length: 256 }, (_, at) => at))];
  expect(BASE64URL_IN_BYTE_ORDER).toBe([...new Set(all)].sort().join(''));
  expect(BASE64URL_IN_BYTE_ORDER).toHaveLength(64);
});
