import { HEADER_BYTES } from './header.ts';
import { TAG_BYTES } from './sodium.ts';

/** The plaintext bytes of every chunk but the last. */
export const CHUNK_BYTES = 65_536;
export const TOMBSTONE_BYTES = 40;
/** The longest content that the format can hold (bytes). */
export const MAX_CONTENT_BYTES: number = 2 ** 30 - 1;
/** The most bytes that a record of the history takes beside its text. */
export const FACTS_BYTES = 65_536;
/** The longest text that a record of the history can hold together with those facts (bytes). */
export const MOST_KEPT_BYTES: number = MAX_CONTENT_BYTES - FACTS_BYTES;

const SEALED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;

/** Counts the chunks that hold `length` bytes: an empty content has one, an exact multiple no extra one. */
export function chunkCount(length: number): number {
  return Math.max(1, Math.ceil(length / CHUNK_BYTES));
}

/** Computes the bytes of the object that holds `length` bytes of content. */
export function sealedSize(length: number): number {
  return HEADER_BYTES + length + TAG_BYTES * chunkCount(length);
}

/**
 * Computes the bytes of content in an object of `sealed` bytes; undefined when no object has that size (a foreign one).
 * For display and limits only: sizes come from unauthenticated listings.
 */
export function contentLength(sealed: number): number | undefined {
  const body = sealed - HEADER_BYTES;
  if (!Number.isSafeInteger(sealed) || body < TAG_BYTES) return undefined;
  const chunks = Math.ceil(body / SEALED_CHUNK_BYTES);
  const length = body - TAG_BYTES * chunks;
  return chunks === chunkCount(length) ? length : undefined;
}
