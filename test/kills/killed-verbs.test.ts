import { describe, expect, it } from 'vitest';
import { drawsOf } from '../runner/draws.ts';
import { THOROUGH } from '../runner/thorough.ts';
import { STORE_KINDS } from '../stage/test-tree.ts';
import { type CutVerb, fillAt, killAt, THOROUGH_STEP } from './meet.ts';
import { ALONE, VERBS } from './verbs.ts';

/** How many places a usual run draws for each verb, and for what sends few requests. */
const [CUTS, CUTS_OF_FEW] = [2, 5];

const CASES = {
  'killed at any of its requests and run again': {
    cut: killAt,
    ends: 'as if nobody had been killed',
    step: THOROUGH_STEP,
  },
  // The writes are a part of the requests: two neighbours are mostly refused at the same one.
  'refused by a full store at any of its requests and run again': {
    cut: fillAt,
    ends: 'as if there had always been room',
    step: 2 * THOROUGH_STEP,
  },
} as const;

describe.each(STORE_KINDS)('on a store of the kind "%s",', (kind) => {
  describe.each(Object.entries(CASES))('%s,', (incident, { cut, ends, step: thorough }) => {
    it.each(Object.entries({ ...VERBS, ...ALONE }))(
      `"%s" ends ${ends}`,
      { timeout: THOROUGH ? 600_000 : 60_000 },
      async (name, verb) => {
        const draw = drawsOf(`${incident} ${kind} ${name}`);
        const choose: CutVerb['choose'] = (places) => {
          const cuts = name in ALONE ? CUTS_OF_FEW : CUTS;
          const step = THOROUGH ? thorough : Math.ceil(places.length / cuts);
          const first = Math.floor(draw() * step);
          return places.filter((_, index) => index % step === first % places.length);
        };
        const report = await cut({ kind, verb, choose });
        expect(report.faults).toEqual([]);
        expect(report.cuts).toBeGreaterThan(0);
      },
    );
  });
});
