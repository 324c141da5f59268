import { randomBytes } from 'node:crypto';
import { copyOfKey } from '../format/encoding.ts';
import type { RandomBytes } from '../format/sodium.ts';

/** The generator of the operating system, in arrays of their own, of which no other copy is left. */
export const osRandom: RandomBytes = (length) => {
  const drawn = randomBytes(length);
  const bytes = copyOfKey(drawn);
  drawn.fill(0);
  return bytes;
};
