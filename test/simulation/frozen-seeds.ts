import { FROZEN_BUGS } from './frozen-bugs.ts';
import type { Bug } from './process.ts';
import type { SimulationOptions } from './simulate.ts';

export interface FrozenSeed extends Pick<SimulationOptions, 'seed' | 'storeClass' | 'themeName'> {
  /** The mistake that once made it fail. */
  readonly mistake: string;
  /** The mistake as it looks from the store, to be put back. */
  readonly bug: Bug;
}

/** Seeds that meet a mistake which was made once. */
export const FROZEN_SEEDS: readonly FrozenSeed[] = [
  {
    mistake: 'a new file in a moved directory was copied over the one that was moved before',
    bug: FROZEN_BUGS.copiedOverMoved,
    seed: 19,
    storeClass: 'guarded',
    themeName: 'moving directories',
  },
  {
    mistake: 'a file created while its directory was deleted fell to a second round of the delete',
    bug: FROZEN_BUGS.secondRoundTakesAll,
    seed: 70,
    storeClass: 'guarded',
    themeName: 'directories',
  },
  {
    mistake: 'a batch without an answer was reported as one that changed nothing',
    bug: FROZEN_BUGS.lostBatchChangedNothing,
    seed: 52,
    storeClass: 'guarded',
    themeName: 'directories',
  },
  {
    mistake: 'a resend that was refused was taken to mean that the first attempt had not landed either',
    bug: FROZEN_BUGS.resendSpeaksForTheFirst,
    seed: 18,
    storeClass: 'guarded',
    themeName: 'files',
  },
  {
    mistake: 'a create that had landed was reported as unavailable when the look after it failed',
    bug: FROZEN_BUGS.failedLookChangedNothing,
    seed: 432,
    storeClass: 'guarded',
    themeName: 'one file',
  },
];
