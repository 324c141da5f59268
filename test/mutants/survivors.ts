/** Says why a mutant that no test kills may stay. */
export type Reason =
  /** Behaves as the code does, whatever is asked. */
  | 'equivalent'
  /** Changes what a call costs, and nothing else. */
  | 'cost only'
  /** Needs a value that the types shut out. */
  | 'unreachable by type';

/** A mutant that stays. A line that is gone takes its row along: `mutants.test.ts` looks. */
export interface Survivor {
  readonly file: string;
  /** The mutator's name, as Stryker gives it. */
  readonly mutator: string;
  /** The line in which the mutant begins, without the spaces around it. */
  readonly line: string;
  /** The text that stands in its place; without it every mutant of this mutator in this line is meant. */
  readonly becomes?: string;
  readonly reason: Reason;
  /** One sentence that lets a reader agree. */
  readonly why: string;
}

export const SURVIVORS: readonly Survivor[] = [];
