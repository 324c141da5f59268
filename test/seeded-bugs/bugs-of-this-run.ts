import { drawsOf } from '../runner/draws.ts';
import { THOROUGH } from '../runner/thorough.ts';
import { SEEDED_BUGS } from './catalogue.ts';
import type { SeededBug } from './seeded-bug.ts';

/** A usual run plants every third, from one on that is drawn. */
const STEP = 3;

const first = Math.floor(drawsOf('seeded bugs')() * STEP);

/** All of them in CI. */
export const BUGS_OF_THIS_RUN: readonly SeededBug[] = SEEDED_BUGS.filter(
  (_, index) => THOROUGH || index % STEP === first,
);
