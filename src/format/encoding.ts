import { encodeText } from '../language/text.ts';

export const NO_BYTES: Uint8Array = new Uint8Array(0);

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Makes a plain copy of a range, also of a Buffer, whose own `slice` would share its memory. */
export function copyOf(bytes: Uint8Array, begin = 0, end: number = bytes.length): Uint8Array {
  return new Uint8Array(bytes.subarray(begin, end));
}

/**
 * Copies a key into a buffer of its own. The copy never moves, so overwriting it erases the key: V8 moves small arrays
 * without a buffer of their own, also when a part of them is taken, and leaves the old place as it was.
 */
export function copyOfKey(bytes: Uint8Array, begin = 0, end: number = bytes.length): Uint8Array {
  const copy = new Uint8Array(new ArrayBuffer(end - begin));
  copy.set(bytes.subarray(begin, end));
  return copy;
}

export function u16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value);
}

export function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

/** Writes a safe integer as eight bytes, big-endian. */
export function u64(value: number): Uint8Array {
  return concat(u32(Math.floor(value / 2 ** 32)), u32(value % 2 ** 32));
}

/** Writes a number from 0 to 2^64 − 1 as eight bytes, big-endian. */
export function bigU64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  viewOf(bytes).setBigUint64(0, value);
  return bytes;
}

export function readU16(bytes: Uint8Array, offset: number): number {
  return viewOf(bytes).getUint16(offset);
}

export function readU32(bytes: Uint8Array, offset: number): number {
  return viewOf(bytes).getUint32(offset);
}

/** Reads eight bytes, big-endian, when they are at most `max` (a safe integer); otherwise undefined. */
export function readU64(bytes: Uint8Array, offset: number, max: number): number | undefined {
  const value = readBigU64(bytes, offset);
  return value <= BigInt(max) ? Number(value) : undefined;
}

/** Reads eight bytes, big-endian. */
export function readBigU64(bytes: Uint8Array, offset: number): bigint {
  return viewOf(bytes).getBigUint64(offset);
}

/** Writes lp(x) of the format: a u32 length, then the bytes. */
export function lengthPrefixed(bytes: Uint8Array): Uint8Array {
  return concat(u32(bytes.length), bytes);
}

/** Writes D(s) of the format, which keeps the uses of one key apart. */
export function domain(label: string): Uint8Array {
  return encodeText(`sealed-memory/1/${label}\0`);
}

/** Tells whether `bytes` hold `part` at `offset`. Unfit for secrets: it stops at the first difference. */
export function hasBytesAt(bytes: Uint8Array, offset: number, part: Uint8Array): boolean {
  return part.every((byte, index) => bytes[offset + index] === byte);
}

/** Tells whether both hold the same bytes. Unfit for secrets: it stops at the first difference. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && hasBytesAt(left, 0, right);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const COMMON = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const URL_SAFE = alphabet(`${COMMON}-_`);
const PADDING = 0x3d;
const ascii = new TextDecoder();
const STANDARD = alphabet(`${COMMON}+/`);

/** The characters of base64url in the order of their bytes, in which keys are listed. */
export const BASE64URL_IN_BYTE_ORDER = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

interface Alphabet {
  readonly codes: Uint8Array;
  /** The value of each ASCII code, −1 for a code outside the alphabet. */
  readonly values: Int8Array;
}

/** Writes RFC 4648 §5 without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return encode(bytes, URL_SAFE, Math.ceil((bytes.length * 4) / 3));
}

/** Reads the bytes of a text that `toBase64url` writes in exactly this way, otherwise undefined. */
export function fromBase64url(text: string): Uint8Array | undefined {
  return decode(text, URL_SAFE);
}

/** Writes RFC 4648 §4, padded. */
export function toBase64(bytes: Uint8Array): string {
  return encode(bytes, STANDARD, Math.ceil(bytes.length / 3) * 4);
}

/** Reads the bytes of padded, canonical RFC 4648 §4 text, otherwise undefined. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return decode(text.slice(0, text.length - padding), STANDARD);
}

function alphabet(characters: string): Alphabet {
  const codes = Uint8Array.from(characters, (character) => character.charCodeAt(0));
  const values = new Int8Array(128).fill(-1);
  for (const [value, code] of codes.entries()) values[code] = value;
  return { codes, values };
}

function encode(bytes: Uint8Array, { codes }: Alphabet, length: number): string {
  const text = new Uint8Array(length).fill(PADDING);
  const used = Math.ceil((bytes.length * 4) / 3);
  for (let at = 0, offset = 0; at < used; at += 4, offset += 3) {
    const group = ((bytes[offset] ?? 0) << 16) | ((bytes[offset + 1] ?? 0) << 8) | (bytes[offset + 2] ?? 0);
    const end = Math.min(at + 4, used);
    for (let index = at, shift = 18; index < end; index++, shift -= 6) {
      text[index] = codes[(group >>> shift) & 63] ?? 0;
    }
  }
  return ascii.decode(text);
}

function decode(text: string, { values }: Alphabet): Uint8Array | undefined {
  if (text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let pending = 0;
  let bits = 0;
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const value = values[text.charCodeAt(index)] ?? -1;
    if (value < 0) return undefined;
    pending = ((pending << 6) | value) & 0xfff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = pending >>> bits;
    }
  }
  const leftOver = pending & ((1 << bits) - 1);
  return leftOver === 0 ? bytes : undefined;
}
