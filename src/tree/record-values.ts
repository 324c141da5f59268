import { fromBase64url } from '../format/encoding.ts';
import { ID_BYTES, MAX_BOUND } from '../format/wrap.ts';
import { type MemoryPath, parseStoredPath } from '../language/path.ts';

// The kinds of values that records hold (docs/format.md, "How contents are written"); undefined for what is none.

/** A whole number from 0 to 2^53 − 1. */
export function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The latest that a `Date` can hold. */
const LATEST_TIME = 8.64e15;

/** Milliseconds since the epoch. */
export function timeIn(value: unknown): number | undefined {
  const time = numberIn(value);
  return time !== undefined && time <= LATEST_TIME ? time : undefined;
}

/** So many bytes in base64url. */
export function bytesIn(value: unknown, length: number): Uint8Array | undefined {
  const bytes = typeof value === 'string' ? fromBase64url(value) : undefined;
  return bytes?.length === length ? bytes : undefined;
}

/** 16 bytes. */
export function idIn(value: unknown): Uint8Array | undefined {
  return bytesIn(value, ID_BYTES);
}

export function boundIn(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !/^(0|[1-9]\d{0,18})$/.test(value)) return undefined;
  const bound = BigInt(value);
  return bound <= MAX_BOUND ? bound : undefined;
}

export function pathIn(value: unknown): MemoryPath | undefined {
  return typeof value === 'string' ? parseStoredPath(value) : undefined;
}
