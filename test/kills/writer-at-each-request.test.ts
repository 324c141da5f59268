import { describe, expect, it } from 'vitest';
import { drawsOf } from '../runner/draws.ts';
import { THOROUGH } from '../runner/thorough.ts';
import { STORE_KINDS } from '../stage/test-tree.ts';
import { meet, THOROUGH_STEP } from './meet.ts';
import { VERBS } from './verbs.ts';
import { DEEDS } from './writers.ts';

/** A usual run draws one deed for each verb, and about as many of the verb's requests. */
const MEETINGS = 3;

describe.each(STORE_KINDS)('with a writer at any of its requests, on a store of the kind "%s",', (kind) => {
  it.each(Object.keys(VERBS).map((name, index) => [name, index] as const))(
    '"%s" ends as if one had come after the other',
    { timeout: THOROUGH ? 600_000 : 60_000 },
    async (name, index) => {
      const draw = drawsOf(`${kind} ${name}`);
      // Each deed meets each verb on one of the two kinds of stores.
      const own = Object.entries(DEEDS).filter(
        (_, deed) => (deed + index) % STORE_KINDS.length === STORE_KINDS.indexOf(kind),
      );
      const from = Math.floor(draw() * own.length);
      for (const [title, deed] of THOROUGH ? own : own.slice(from, from + 1)) {
        const at = (requests: number) => {
          const step = THOROUGH ? Math.min(THOROUGH_STEP, requests) : Math.ceil(requests / MEETINGS);
          return { first: Math.floor(draw() * step), step };
        };
        const verb = VERBS[name] ?? expect.unreachable();
        const { met, faults } = await meet({ kind, verb, deed, at });
        expect(faults, title).toEqual([]);
        expect(met, title).toBeGreaterThan(0);
      }
    },
  );
});

it.each(STORE_KINDS)(
  'two undos of one actor at once keep a file whose rename both take back (%s)',
  { timeout: 120_000 },
  async (kind) => {
    const verb = VERBS['undo'] ?? expect.unreachable();
    const deed = DEEDS['undoes the same actor'] ?? expect.unreachable();
    // The other one comes while the file lies at both of its places.
    const at = (requests: number) => ({ first: Math.floor(requests * 0.35), step: 1 });
    const { met, faults } = await meet({ kind, verb, deed, at });
    expect(faults).toEqual([]);
    expect(met).toBeGreaterThan(0);
  },
);
