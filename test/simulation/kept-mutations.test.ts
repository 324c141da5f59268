import { describe, expect, it } from 'vitest';
import { KEPT_BUGS, type KeptBug } from './kept-bugs.ts';
import type { StoreClass } from './sim-store.ts';
import { simulate } from './simulate.ts';

/** So many seeds at most find each of them. */
const SEEDS = 40;

describe('a run of few seeds in which history is kept', () => {
  for (const [name, make] of Object.entries(KEPT_BUGS)) {
    for (const storeClass of make().storeClasses) {
      it(`finds ${name} on a store of class ${storeClass}`, { timeout: 60_000 }, async () => {
        expect(await firstFailure(make(), storeClass)).toBeDefined();
      });
    }
  }
});

/** The first seed whose log is wrong with the bug, as it says; the same seed succeeds without it. */
async function firstFailure(bug: KeptBug, storeClass: StoreClass): Promise<number | undefined> {
  const { themeName, problem } = bug;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const where = { seed, storeClass, themeName, keeping: 'always' } as const;
    const { complaint } = await simulate({ ...where, bug });
    if (complaint?.problem !== `history: ${problem}`) continue;
    expect((await simulate(where)).complaint).toBeUndefined();
    return seed;
  }
  return undefined;
}
