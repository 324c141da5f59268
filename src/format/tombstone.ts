import { concat, hasBytesAt } from './encoding.ts';
import { TOMBSTONE_BYTES } from './sizes.ts';
import type { RandomBytes } from './sodium.ts';

const MAGIC: Uint8Array = Uint8Array.of(0x89, 0x53, 0x4d, 0x54, 0x0d, 0x0a, 0x1a, 0x0a);

/**
 * Makes a fresh mark of a deletion under way, for a store without an atomic guarded delete. Every mark is different.
 */
export function createTombstone(random: RandomBytes): Uint8Array {
  return concat(MAGIC, random(TOMBSTONE_BYTES - MAGIC.length));
}

export function isTombstone(bytes: Uint8Array): boolean {
  return bytes.length === TOMBSTONE_BYTES && hasBytesAt(bytes, 0, MAGIC);
}
