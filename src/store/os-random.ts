import { randomBytes } from 'node:crypto';
import { copyOfKey } from '../format/encoding.ts';
import type { RandomBytes } from '../format/sodium.ts';

/** Draws from the operating system's generator into a new array, and leaves no other copy of the bytes. */
export const osRandom: RandomBytes = (length) => {
  const drawn = randomBytes(length);
  const bytes = copyOfKey(drawn);
  drawn.fill(0);
  return bytes;
};
