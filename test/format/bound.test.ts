import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_BOUND, nextBound } from '../../src/format/bound.ts';
import { added } from '../support/format-vectors.ts';

describe('nextBound', () => {
  it.each(added.bounds)('at $clock ms above $replaced is $bound', ({ clock, replaced, bound }) => {
    expect(nextBound(clock, replaced === undefined ? undefined : BigInt(replaced))).toBe(BigInt(bound));
  });

  it('is the clock above 16 bits', () => {
    expect(nextBound(1_700_000_000_000)).toBe(1_700_000_000_000n << 16n);
    expect(nextBound(1.9)).toBe(1n << 16n);
    expect(nextBound(0)).toBe(0n);
  });

  it('counts on where the version before is as late as the clock, or later', () => {
    expect(nextBound(5, 5n << 16n)).toBe((5n << 16n) + 1n);
    expect(nextBound(5, 9n << 16n)).toBe((9n << 16n) + 1n);
    expect(nextBound(5, (5n << 16n) - 1n)).toBe(5n << 16n);
  });

  it('is always later than the version before, within what the format holds', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.bigInt({ min: 0n, max: MAX_BOUND }), (clock, replaced) => {
        const bound = nextBound(clock, replaced);
        expect(bound <= MAX_BOUND).toBe(true);
        expect(bound > replaced || bound === MAX_BOUND).toBe(true);
      }),
    );
  });

  it('is never below zero', () => {
    expect(nextBound(-1)).toBe(0n);
  });
});
