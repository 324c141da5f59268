import type { Row, Verdict } from './row.ts';

/** A thing that a group could not measure, and why. */
export interface Absence {
  readonly group: string;
  readonly what: string;
  readonly reason: string;
}

/** Something found that is no ratio. */
export interface Fact {
  readonly group: string;
  readonly text: string;
  readonly verdict: Verdict;
}

/** How one thing grows with another: each step as a ratio to the first. */
export interface Growth {
  readonly work: string;
  /** The unit that is counted, such as `files`. */
  readonly of: string;
  readonly steps: readonly { readonly size: number; readonly ratio: number }[];
  /** From where on it grows noticeably, with more than the square root of the size; absent where it never does. */
  readonly risesFrom?: number | undefined;
  /** From where on it grows faster than in proportion, with more than the 1.15th power; absent where it never does. */
  readonly steepFrom?: number | undefined;
}

/** Everything that one run of the benchmarks has found, as its JSON file holds it. */
export interface RunReport {
  readonly format: 1;
  /** The day of the run, `2026-01-31`. */
  readonly day: string;
  readonly machine: { readonly node: string; readonly architecture: string; readonly cores: number };
  readonly isQuick: boolean;
  readonly seconds: number;
  readonly groups: readonly string[];
  readonly rows: readonly Row[];
  readonly growths: readonly Growth[];
  readonly facts: readonly Fact[];
  readonly absences: readonly Absence[];
}
