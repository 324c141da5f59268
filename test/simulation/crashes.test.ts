import { describe, expect, it } from 'vitest';
import { THOROUGH } from '../runner/thorough.ts';
import type { Fate } from './life.ts';
import type { StoreClass } from './sim-store.ts';
import { type Simulation, simulate } from './simulate.ts';
import type { Theme } from './workload.ts';

const CLASSES: readonly StoreClass[] = ['guarded', 'unguarded'];
const MOST_BOUNDARIES = 80;
const SEEDS = THOROUGH ? [1, 2] : [1];
/** The lengths of freezes: longer than a lease, and longer than a tombstone is safe from others. */
const FREEZES_MS = [12_000, 190_000];

describe('a process that is stopped at a boundary', () => {
  for (const storeClass of CLASSES) {
    for (const themeName of ['files', 'moving directories', 'contested directories'] as const) {
      it(`leaves nothing lost when it is killed there: ${themeName}, ${storeClass}`, async () => {
        await everyBoundary({ storeClass, themeName }, (boundary) => ({ kind: 'kill', boundary }));
      });

      it(`loses nothing when it goes on after a while: ${themeName}, ${storeClass}`, async () => {
        for (const ms of FREEZES_MS) {
          await everyBoundary({ storeClass, themeName }, (boundary) => ({ kind: 'freeze', boundary, ms }));
        }
      });
    }
  }
});

async function everyBoundary(
  where: { readonly storeClass: StoreClass; readonly themeName: Theme['name'] },
  fateAt: (boundary: number) => Fate,
): Promise<void> {
  for (const seed of SEEDS) {
    for (let boundary = 1; boundary <= MOST_BOUNDARIES; boundary++) {
      const simulation: Simulation = await simulate({ ...where, seed, fate: fateAt(boundary) });
      expect(simulation.complaint, `seed ${seed}, boundary ${boundary}`).toBeUndefined();
    }
  }
}
