import { describe, expect, it } from 'vitest';
import { drawsOf } from '../runner/draws.ts';
import { THOROUGH } from '../runner/thorough.ts';
import type { Death } from '../stage/killed-run.ts';
import { STORE_KINDS } from '../stage/test-tree.ts';
import { killAt, THOROUGH_STEP } from './meet.ts';
import { VERBS } from './verbs.ts';

/** How many deaths of each verb a usual run draws. */
const KILLS = 2;

describe.each(STORE_KINDS)(
  'killed at any of its requests and run again, on a store of the kind "%s",',
  (kind) => {
    it.each(Object.entries(VERBS))(
      '"%s" ends as if nobody had been killed',
      { timeout: THOROUGH ? 600_000 : 60_000 },
      async (name, verb) => {
        const draw = drawsOf(`killed ${kind} ${name}`);
        const choose = (deaths: readonly Death[]): readonly Death[] => {
          const step = THOROUGH ? THOROUGH_STEP : Math.ceil(deaths.length / KILLS);
          const first = Math.floor(draw() * step);
          return deaths.filter((_, index) => index % step === first % deaths.length);
        };
        const { killed, faults } = await killAt({ kind, verb, choose });
        expect(faults).toEqual([]);
        expect(killed).toBeGreaterThan(0);
      },
    );
  },
);
