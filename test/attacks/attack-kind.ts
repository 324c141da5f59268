import { expect } from 'vitest';
import { type Chance, createChance } from '../simulation/chance.ts';
import type { AttackSite, Lane } from './attack-site.ts';
import type { Outcome } from './outcome.ts';

export interface Attempt {
  readonly number: number;
  readonly lane: Lane;
  readonly chance: Chance;
  /**
   * The positive control: the same steps with the right credentials or keys, on what its owner wrote. It must
   * succeed, and show what the owner would see.
   */
  readonly entitled: boolean;
}

export interface AttackKind {
  readonly title: string;
  /** The names under which it may be refused. */
  readonly refusals: readonly string[];
  /**
   * True where the attempt may write to the store, which `restore` then undoes; absent: nothing may reach the store.
   */
  readonly writes?: true;
  /** Attempts on one tenant's one keyring or register come one after the other. */
  readonly perTenant?: true;
  attempt(attempt: Attempt): Promise<Outcome>;
}

export interface Tally {
  readonly attempts: number;
  readonly refused: number;
  readonly controls: number;
  readonly succeeded: number;
}

export interface AttackPlan {
  readonly attempts: number;
  /** Before the attempts, and as many after them. */
  readonly controls: number;
  readonly seed: string;
}

/**
 * Carries out all attempts of a kind and its controls, and counts. Throws at the first attempt that is not refused,
 * or not as the kind says, and when the store is not as it was.
 */
export async function runKind(site: AttackSite, kind: AttackKind, plan: AttackPlan): Promise<Tally> {
  const tally = { attempts: 0, refused: 0, controls: 0, succeeded: 0 };
  const chance = createChance(plan.seed).fork(kind.title);
  const lanes = kind.perTenant ? site.lanes.slice(0, site.victims.length) : site.lanes;

  const round = async (count: number, entitled: boolean): Promise<void> => {
    const name = entitled ? 'control' : 'attempt';
    await Promise.all(
      lanes.map(async (lane) => {
        for (let number = lane.index; number < count; number += lanes.length) {
          const own = chance.fork(`${name} ${number}`);
          const outcome = await kind.attempt({ number, lane, chance: own, entitled });
          if (entitled) {
            tally.controls++;
            if ('got' in outcome) tally.succeeded++;
            else expect.unreachable(`${kind.title}: control ${number} was refused as ${outcome.refusedAs}`);
          } else {
            tally.attempts++;
            if ('refusedAs' in outcome && kind.refusals.includes(outcome.refusedAs)) tally.refused++;
            else
              expect.unreachable(`${kind.title}: attempt ${number} of ${plan.seed} ended in ${say(outcome)}`);
          }
        }
      }),
    );
  };

  const before = await site.raw.snapshot();
  await site.reopen();
  await round(plan.controls, true);
  await site.restore();
  expect(await site.raw.snapshot()).toEqual(before);
  await site.reopen();
  await round(plan.attempts, false);
  if (kind.writes) await site.restore();
  expect(await site.raw.snapshot()).toEqual(before);
  await site.reopen();
  await round(plan.controls, true);
  await site.restore();
  return tally;
}

function say(outcome: Outcome): string {
  return 'got' in outcome ? `success: ${outcome.got.slice(0, 200)}` : `the refusal ${outcome.refusedAs}`;
}
