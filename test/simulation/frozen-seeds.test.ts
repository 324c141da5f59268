import { describe, expect, it } from 'vitest';
import { FROZEN_SEEDS } from './frozen-seeds.ts';
import { simulate } from './simulate.ts';

describe('a seed that once found a mistake', () => {
  for (const { mistake, bug, ...where } of FROZEN_SEEDS) {
    it(`finds it no more, and would again: ${mistake} (${where.storeClass}, seed ${where.seed})`, async () => {
      expect((await simulate(where)).complaint).toBeUndefined();
      expect((await simulate({ ...where, bug })).complaint).toMatchObject({ undecided: false });
    });
  }
});
