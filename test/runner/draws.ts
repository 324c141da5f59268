import { randomInt } from 'node:crypto';
import { isCi } from '../../infra/local/programs/install-options.ts';
import { createChance } from '../simulation/chance.ts';

/** CI draws the same in each run: what it finds is the work of the change that it looks at. */
const SEED_OF_CI = 26;
/** Seeds of fast-check have 32 bits. */
const SEEDS = 2 ** 31;

/**
 * The seed of all that the tests of one run draw: the one that `TEST_SEED` names, with `CI=true` always the same, and a
 * new one otherwise. Throws where `TEST_SEED` is no whole number from 0 to 2,147,483,647.
 */
export function seedOfRun(environment: Readonly<Record<string, string | undefined>>): number {
  const named = environment['TEST_SEED'];
  if (named) {
    const seed = Number(named);
    if (!Number.isInteger(seed) || seed < 0 || seed >= SEEDS) {
      throw new Error(`TEST_SEED=${named} is no whole number from 0 to ${SEEDS - 1}.`);
    }
    return seed;
  }
  return isCi(environment) ? SEED_OF_CI : randomInt(SEEDS);
}

/** Draws from 0 up to, but not including, 1: the same ones for the same name in each run with the same seed. */
export function drawsOf(name: string): () => number {
  return createChance(`${seedOfRun(process.env)} ${name}`).fraction;
}
