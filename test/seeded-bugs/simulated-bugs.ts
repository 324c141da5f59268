import type { Bug } from '../simulation/process.ts';
import { CI_SEEDS, keepingOf, keptSeedsOf } from '../simulation/seeds.ts';
import type { SimulationOptions } from '../simulation/simulate.ts';
import { SEAMS } from './seams.ts';
import type { SeededBug, SimulationJudge } from './seeded-bug.ts';

/** The simulations that CI runs with a bug, and without it. */
export function* simulationsOf(
  { theme: themeName, history, seed: only }: SimulationJudge,
  storeClass: SimulationOptions['storeClass'],
): Generator<Omit<SimulationOptions, 'bug'>> {
  const most = history === undefined ? CI_SEEDS[themeName] : keptSeedsOf(themeName, history);
  for (let seed = only ?? 1; seed <= (only ?? most); seed++) {
    const where = { seed, storeClass, themeName };
    if (history === undefined) yield where;
    else if (history === 'kept') yield { ...where, keeping: keepingOf(seed) };
    else yield { ...where, keeping: 'always', takesBack: true };
  }
}

/** The classes of store on which the bug must be seen. */
export function classesOf({ store }: SimulationJudge): readonly SimulationOptions['storeClass'][] {
  return store === undefined ? ['guarded', 'unguarded'] : [store];
}

/** Makes what stands around a process that has the bug. */
export function seamOf({ name }: Pick<SeededBug, 'name'>): () => Bug {
  const seam = SEAMS[name];
  if (seam === undefined) throw new Error(`no seam has the name of the bug: ${name}`);
  return seam;
}
