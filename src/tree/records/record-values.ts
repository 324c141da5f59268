import { fromBase64url } from '../../format/encoding.ts';
import { ID_BYTES, MAX_BOUND } from '../../format/wrap.ts';
import { type MemoryPath, parseStoredPath } from '../../language/path.ts';
import { MOST_DATE_MS } from '../../time.ts';

// Each function reads one kind of value of a record (docs/format.md, "How contents are written"); undefined for any
// other value.

/** Reads a whole number from 0 to 2^53 − 1. */
export function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Reads milliseconds since the epoch. */
export function timeIn(value: unknown): number | undefined {
  const time = numberIn(value);
  return time !== undefined && time <= MOST_DATE_MS ? time : undefined;
}

/** Reads `length` bytes in base64url. */
export function bytesIn(value: unknown, length: number): Uint8Array | undefined {
  const bytes = typeof value === 'string' ? fromBase64url(value) : undefined;
  return bytes?.length === length ? bytes : undefined;
}

/** Reads an id: 16 bytes in base64url. */
export function idIn(value: unknown): Uint8Array | undefined {
  return bytesIn(value, ID_BYTES);
}

/** Reads a bound in decimal digits. */
export function boundIn(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !/^(0|[1-9]\d{0,18})$/.test(value)) return undefined;
  const bound = BigInt(value);
  return bound <= MAX_BOUND ? bound : undefined;
}

/** Reads a path in the form that this library stores. */
export function pathIn(value: unknown): MemoryPath | undefined {
  return typeof value === 'string' ? parseStoredPath(value) : undefined;
}
