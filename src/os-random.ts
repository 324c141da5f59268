import { randomBytes } from 'node:crypto';
import type { RandomBytes } from './sealing/random.ts';

/** The generator of the operating system, in arrays of their own. */
export const osRandom: RandomBytes = (length) => new Uint8Array(randomBytes(length));
