/** The middle of some values, and the quarter of them on either side of it. */
export interface Spread {
  readonly median: number;
  /** A quarter of the values lie below. */
  readonly low: number;
  /** A quarter of the values lie above. */
  readonly high: number;
  readonly rounds: number;
}

/** @throws RangeError for no values, or one that is not a finite number. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = sortedOf(values);
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    rounds: sorted.length,
  };
}

/**
 * Answers the value below which this share of the values lies, 0 to 1.
 *
 * @throws RangeError for no values, or one that is not a finite number.
 */
export function quantileOf(values: readonly number[], share: number): number {
  return quantile(sortedOf(values), share);
}

function sortedOf(values: readonly number[]): readonly number[] {
  const sorted = values.toSorted((left, right) => left - right);
  if (sorted.length > 0 && sorted.every(Number.isFinite)) return sorted;
  throw new RangeError('a spread needs finite values, at least one');
}

/** Between two values their distance is divided evenly. */
function quantile(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** One step of a growth: so much of something, and what that took. */
export interface Step {
  readonly size: number;
  readonly cost: number;
}

/**
 * The size from which on a cost grows with more than this power of the size (1 is in proportion): the beginning of the
 * first step that does, or undefined where none does.
 */
export function steeperFrom(steps: readonly Step[], power: number): number | undefined {
  return steps.find((step, index) => {
    const next = steps[index + 1];
    return next !== undefined && Math.log(next.cost / step.cost) > power * Math.log(next.size / step.size);
  })?.size;
}
