import { describe, expect, it } from 'vitest';
import { type Round, rowsOf, verdictOf } from '../../bench/report/row.ts';
import { quantileOf, spreadOf, steeperFrom } from '../../bench/report/spread.ts';

describe('a spread', () => {
  it('is the median and the quartiles, with distances between two values divided evenly', () => {
    expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 2.5, low: 1.75, high: 3.25, rounds: 4 });
    expect(spreadOf([9, 1, 5])).toEqual({ median: 5, low: 3, high: 7, rounds: 3 });
    expect(spreadOf([7])).toEqual({ median: 7, low: 7, high: 7, rounds: 1 });
  });

  it('has a value below which any share of the values lies', () => {
    const values = Array.from({ length: 101 }, (_, n) => 100 - n);
    expect([0, 0.5, 0.99, 1].map((share) => quantileOf(values, share))).toEqual([0, 50, 99, 100]);
    expect(() => quantileOf([], 0.5)).toThrow(RangeError);
  });

  it('sorts numbers as numbers', () => {
    expect(spreadOf([10, 9, 100]).median).toBe(10);
  });

  it.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY]]])('refuses %j', (values) => {
    expect(() => spreadOf(values)).toThrow(RangeError);
  });
});

describe('a bend', () => {
  const steps = (...costs: readonly number[]) => costs.map((cost, at) => ({ size: 10 ** at, cost }));

  it('is where a cost begins to grow with more than a power of the size', () => {
    expect(steeperFrom(steps(1, 2, 20, 800), 1.15)).toBe(100);
    expect(steeperFrom(steps(1, 30, 31), 1.15)).toBe(1);
    expect(steeperFrom(steps(1, 2, 8, 80), 0.5)).toBe(10);
  });

  it('is nowhere on a curve that is flat, falls or grows in proportion', () => {
    expect(steeperFrom(steps(1, 1, 1), 0.5)).toBeUndefined();
    expect(steeperFrom(steps(5, 3, 2), 0.5)).toBeUndefined();
    expect(steeperFrom(steps(1, 10, 100), 1.15)).toBeUndefined();
    expect(steeperFrom([], 1)).toBeUndefined();
  });
});

describe('a comparison', () => {
  const rounds: readonly Round[] = [
    new Map([
      ['raw', { wall: 2, processor: 1 }],
      ['ours', { wall: 3 }],
    ]),
    new Map([
      ['ours', { wall: 30 }],
      ['raw', { wall: 10, processor: 1 }],
      ['other', { wall: 5 }],
    ]),
    new Map([
      ['raw', { wall: 4, processor: 2 }],
      ['ours', { wall: 8 }],
    ]),
  ];
  const comparison = { group: 'g', work: 'w', reference: 'raw', time: 'wall', rounds } as const;

  it('divides within a round, and takes the median of the quotients', () => {
    const [raw, ours] = rowsOf({ ...comparison, goals: { ours: 2 }, notes: { ours: '1 GET' } });
    expect(raw?.ratio).toEqual({ median: 1, low: 1, high: 1, rounds: 3 });
    expect(ours).toMatchObject({
      contestant: 'ours',
      ratio: { median: 2 },
      milliseconds: 8,
      goal: 2,
      note: '1 GET',
    });
  });

  it('leaves out the rounds in which a contestant did not run', () => {
    const other = rowsOf(comparison).find(({ contestant }) => contestant === 'other');
    expect(other?.ratio).toEqual({ median: 0.5, low: 0.5, high: 0.5, rounds: 1 });
  });

  it('has no row for a contestant whose time was not seen', () => {
    const rows = rowsOf({ ...comparison, time: 'processor' });
    expect(rows.map(({ contestant }) => contestant)).toEqual(['raw']);
  });
});

describe('a goal', () => {
  const judged = (median: number, goal?: number) =>
    verdictOf({ goal, ratio: { median, low: median, high: median, rounds: 1 } });

  it('is judged as it is shown, to two decimals', () => {
    expect(judged(1.1, 1.1)).toBe('met');
    expect(judged(1.104, 1.1)).toBe('met');
    expect(judged(1.106, 1.1)).toBe('missed');
  });

  it('is neither met nor missed where there is none', () => {
    expect(judged(99)).toBe('no goal');
  });
});
