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

/** A plain copy of a range, also of a Buffer, whose own `slice` would share its memory. */
export function copyOf(bytes: Uint8Array, begin = 0, end: number = bytes.length): Uint8Array {
  return new Uint8Array(bytes.subarray(begin, end));
}

/**
 * A copy of a key, in a buffer of its own. It never moves, so that overwriting it leaves nothing: V8 moves small arrays
 * that have none, also when a part of them is taken, and leaves the old place as it was.
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

/** A safe integer as eight bytes, big-endian. */
export function u64(value: number): Uint8Array {
  return concat(u32(Math.floor(value / 2 ** 32)), u32(value % 2 ** 32));
}

/** A number from 0 to 2^64 − 1 as eight bytes, big-endian. */
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

/** Eight bytes, big-endian, when they are at most `max` (a safe integer); otherwise undefined. */
export function readU64(bytes: Uint8Array, offset: number, max: number): number | undefined {
  const value = readBigU64(bytes, offset);
  return value <= BigInt(max) ? Number(value) : undefined;
}

/** Eight bytes, big-endian. */
export function readBigU64(bytes: Uint8Array, offset: number): bigint {
  return viewOf(bytes).getBigUint64(offset);
}

/** lp(x) of the format: a u32 length, then the bytes. */
export function lengthPrefixed(bytes: Uint8Array): Uint8Array {
  return concat(u32(bytes.length), bytes);
}

/** D(s) of the format: what keeps the uses of one key apart. */
export function domain(label: string): Uint8Array {
  return encodeText(`sealed-memory/1/${label}\0`);
}

/** Whether `bytes` hold `part` at `offset`. Not for secrets: it stops at the first difference. */
export function hasBytesAt(bytes: Uint8Array, offset: number, part: Uint8Array): boolean {
  return bytes.length >= offset + part.length && part.every((byte, index) => bytes[offset + index] === byte);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
