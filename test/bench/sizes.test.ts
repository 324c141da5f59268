import { describe, expect, it } from 'vitest';
import { growthBetween, keptSizes, measureSizes } from '../../bench/sizes.ts';

describe('the sizes of the bundles', () => {
  it('are no larger than the figures that are kept, or than they allow', { timeout: 60_000 }, async () => {
    const kept = await keptSizes();
    const now = await measureSizes();
    expect(Object.keys(now.entries)).toEqual(Object.keys(kept.entries));
    expect(growthBetween({ entries: kept.entries, bundled: kept.bundled }, now)).toEqual([]);
  });
});

describe('growthBetween', () => {
  const kept = { entries: { '.': { start: 1_000, all: 2_000 } } };

  it('allows two percent, and less than before', () => {
    expect(growthBetween(kept, { entries: { '.': { start: 1_020, all: 1 } } })).toEqual([]);
  });

  it('tells what has grown by more, and what is new', () => {
    const now = { entries: { '.': { start: 1_021, all: 2_000 }, './new': { start: 5 } } };
    expect(growthBetween(kept, now)).toEqual([
      'entries . start has 1021 bytes, 1000 before: npm run write sizes keeps the new figure',
      'entries ./new start has 5 bytes, 0 before: npm run write sizes keeps the new figure',
    ]);
  });
});
