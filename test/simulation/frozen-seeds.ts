import type { SimulationOptions } from './simulate.ts';

export interface FrozenSeed extends Pick<SimulationOptions, 'seed' | 'storeClass' | 'themeName'> {
  /** The mistake that once made it fail. */
  readonly mistake: string;
}

/** Seeds that found a mistake, which is put right; each failed again when that was undone. */
export const FROZEN_SEEDS: readonly FrozenSeed[] = [
  {
    mistake: 'a new file in a moved directory was copied over the one that was moved before',
    seed: 186,
    storeClass: 'unguarded',
    themeName: 'moving directories',
  },
  {
    mistake: 'a file created while its directory was deleted fell to a second round of the delete',
    seed: 279,
    storeClass: 'guarded',
    themeName: 'directories',
  },
  {
    mistake: 'a batch without an answer was reported as one that changed nothing',
    seed: 1535,
    storeClass: 'guarded',
    themeName: 'moving directories',
  },
  {
    mistake: 'a resend that was refused was taken to mean that the first attempt had not landed either',
    seed: 2190,
    storeClass: 'guarded',
    themeName: 'files',
  },
  {
    mistake: 'a create that had landed was reported as unavailable when the look after it failed',
    seed: 2602,
    storeClass: 'unguarded',
    themeName: 'one file',
  },
  {
    mistake: 'a process that thawed deleted what others had put in the place of its tombstone',
    seed: 962,
    storeClass: 'unguarded',
    themeName: 'one file',
  },
  {
    mistake: 'a process joined a look for the keyring that was older than its call, and found no memory',
    seed: 5086,
    storeClass: 'unguarded',
    themeName: 'one file',
  },
  {
    mistake:
      'a rename that was taken back said that nothing had changed, although a copy had been built on and stayed',
    seed: 676,
    storeClass: 'guarded',
    themeName: 'moving directories',
  },
];
