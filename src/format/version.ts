import type { RandomBytes } from './sodium.ts';
import { ID_BYTES, NO_ID } from './wrap.ts';

/** 16 random bytes that name a version: drawn by `newVersion`, or read from an object that was opened. */
export type VersionIdBytes = Uint8Array & { readonly __brand: 'VersionIdBytes' };

/** The identity and facts of a text, which sealing and binding it again leave as they are. */
export interface Version {
  readonly id: VersionIdBytes;
  /** The time at which the text was written, milliseconds since the epoch, below 2^53. */
  readonly mtime: number;
  /** The id of the version whose text this one replaced, or 16 zeros. */
  readonly previous: Uint8Array;
  /** Keyed hash of the actor that wrote the text, or 16 zeros. */
  readonly writer: Uint8Array;
}

/**
 * Draws the id of a text that has just been judged. Every attempt to write that text seals this one version; a text
 * that is judged anew, after a conflict, is another version.
 */
export function newVersion({
  mtime,
  previous = NO_ID,
  writer = NO_ID,
  random,
}: {
  readonly mtime: number;
  /** 16 bytes; absent: zeros. */
  readonly previous?: Uint8Array | undefined;
  /** 16 bytes; absent: zeros. */
  readonly writer?: Uint8Array | undefined;
  readonly random: RandomBytes;
}): Version {
  return { id: random(ID_BYTES) as VersionIdBytes, mtime, previous, writer };
}
