import { describe, expect, it } from 'vitest';
import { type SimulationOptions, simulate } from '../../simulation/simulate.ts';
import { BUGS_OF_THIS_RUN } from '../bugs-of-this-run.ts';
import { withBug } from '../plant.ts';
import type { SeededBug, SimulationJudge } from '../seeded-bug.ts';
import { classesOf, seamOf, simulationsOf } from '../simulated-bugs.ts';

type Where = Omit<SimulationOptions, 'bug'>;

describe('the seeds that CI runs', () => {
  for (const bug of BUGS_OF_THIS_RUN) {
    const { name, seenBy } = bug;
    if (seenBy.run !== 'simulation') continue;
    for (const storeClass of classesOf(seenBy)) {
      it(`turn red with ${name}, on a store of class ${storeClass}`, { timeout: 120_000 }, async () => {
        const red = await firstRed(bug, seenBy, storeClass);
        if (red === undefined) throw new Error('every seed is green');
        // The honest run beside it.
        expect((await simulate(red)).complaint).toBeUndefined();
      });
    }
  }
});

async function firstRed(
  bug: SeededBug,
  judge: SimulationJudge,
  storeClass: SimulationOptions['storeClass'],
): Promise<Where | undefined> {
  const run = await simulationWith(bug);
  for (const where of simulationsOf(judge, storeClass)) {
    const complaint = await run(where);
    if (complaint === undefined || complaint.undecided) continue;
    if (judge.says === undefined || complaint.problem === judge.says) return where;
  }
  return undefined;
}

/** Simulates with the bug, and answers the complaint. */
async function simulationWith(
  bug: SeededBug,
): Promise<(where: Where) => Promise<Awaited<ReturnType<typeof simulate>>['complaint']>> {
  if (bug.planted === 'seam') {
    const seam = seamOf(bug);
    return async (where) => (await simulate({ ...where, bug: seam() })).complaint;
  }
  const module: string = withBug('/test/simulation/simulate.ts', bug);
  const planted = (await import(module)) as { readonly simulate: typeof simulate };
  return async (where) => (await planted.simulate(where)).complaint;
}
