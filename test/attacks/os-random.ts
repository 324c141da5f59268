import { randomBytes } from 'node:crypto';
import type { RandomBytes } from '../../src/sealing/random.ts';

export const osRandom: RandomBytes = (length) => new Uint8Array(randomBytes(length));
