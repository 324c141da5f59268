import { type Spread, spreadOf } from './spread.ts';

/** `wall`: what a caller waits. `processor`: what the process computes, whatever else the machine is busy with. */
export type TimeKind = 'wall' | 'processor';

/** The time of one contestant for one piece of work in one round, in milliseconds; what was not seen is absent. */
export type Cost = Readonly<Partial<Record<TimeKind, number>>>;

/** One figure: a contestant's cost as a ratio to the reference's in the same round. */
export interface Row {
  readonly group: string;
  readonly work: string;
  readonly contestant: string;
  readonly reference: string;
  readonly time: TimeKind;
  readonly ratio: Spread;
  /** The median of the cost itself, for orientation: it holds for this machine alone. */
  readonly milliseconds: number;
  /** The most that the ratio should be. */
  readonly goal?: number | undefined;
  /** Anything else to be known, such as the requests that were sent: `1 GET, 1 PUT`. */
  readonly note?: string | undefined;
}

export type Verdict = 'met' | 'missed' | 'no goal';

/** A goal is kept by what is shown: it is judged to two decimals. */
export function verdictOf({ goal, ratio }: Pick<Row, 'goal' | 'ratio'>): Verdict {
  if (goal === undefined) return 'no goal';
  return Math.round(ratio.median * 100) <= Math.round(goal * 100) ? 'met' : 'missed';
}

/** The costs of a round, by contestant. */
export type Round = ReadonlyMap<string, Cost>;

export interface Comparison {
  readonly group: string;
  readonly work: string;
  /** One of the contestants. */
  readonly reference: string;
  readonly time: TimeKind;
  readonly rounds: readonly Round[];
  readonly goals?: Readonly<Record<string, number>>;
  readonly notes?: Readonly<Record<string, string>>;
}

/** A row for every contestant, the reference first. Rounds in which one of the two has no such cost are left out. */
export function rowsOf(comparison: Comparison): readonly Row[] {
  const { group, work, reference, time, rounds, goals, notes } = comparison;
  const names = new Set([reference, ...rounds.flatMap((round) => [...round.keys()])]);
  return [...names].flatMap((contestant) => {
    const pairs = rounds.flatMap((round) => {
      const [cost, base] = [round.get(contestant)?.[time], round.get(reference)?.[time]];
      return cost === undefined || base === undefined ? [] : [{ cost, ratio: cost / base }];
    });
    if (pairs.length === 0) return [];
    const row: Row = {
      group,
      work,
      contestant,
      reference,
      time,
      ratio: spreadOf(pairs.map(({ ratio }) => ratio)),
      milliseconds: spreadOf(pairs.map(({ cost }) => cost)).median,
      goal: goals?.[contestant],
      note: notes?.[contestant],
    };
    return [row];
  });
}
