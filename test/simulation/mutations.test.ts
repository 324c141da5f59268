import { describe, expect, it } from 'vitest';
import { BUGS, type SeededBug } from './bugs.ts';
import { CI_SEEDS } from './seeds.ts';
import type { StoreClass } from './sim-store.ts';
import { simulate } from './simulate.ts';

describe('the run that CI makes', () => {
  for (const [name, bug] of Object.entries(BUGS)) {
    for (const storeClass of bug.storeClasses) {
      it(`finds ${name} on a store of class ${storeClass}`, { timeout: 60_000 }, async () => {
        expect(await firstFailure(bug, storeClass)).toBeDefined();
      });
    }
  }
});

/** The first seed that fails with the bug; the same seed succeeds without it. */
async function firstFailure(bug: SeededBug, storeClass: StoreClass): Promise<number | undefined> {
  const { themeName } = bug;
  for (let seed = 1; seed <= CI_SEEDS[themeName]; seed++) {
    const { complaint } = await simulate({ seed, storeClass, themeName, bug });
    if (complaint === undefined || complaint.undecided) continue;
    expect((await simulate({ seed, storeClass, themeName })).complaint).toBeUndefined();
    return seed;
  }
  return undefined;
}
