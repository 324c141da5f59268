import type { ResultOf } from '../../protocol.ts';

/** The origin of a line, as the gutter shows it. */
export interface LineOrigin {
  /** The actor; undefined where none is named. */
  readonly writer: string | undefined;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** False: the line may be older. */
  readonly isCertain: boolean;
  /** True where the actor is not the one who wrote most lines of the file. */
  readonly isOther: boolean;
  /** True where the line above has another origin, or there is none above. */
  readonly isFirst: boolean;
}

/**
 * Tells the origin of each line; undefined where it is not known. Of two actors with as many lines, the actor of the
 * upper one counts as the one who wrote most. A line that may be older counts for nobody.
 */
export function originsOfLines({
  origins,
  runs,
}: Pick<ResultOf<'lines'>, 'origins' | 'runs'>): readonly (LineOrigin | undefined)[] {
  const sums = new Map<string | undefined, number>();
  for (const { origin, count } of runs) {
    const told = origins[origin];
    if (told?.isCertain) sums.set(told.writer, (sums.get(told.writer) ?? 0) + count);
  }
  const [most] = [...sums].sort(([, a], [, b]) => b - a)[0] ?? [];
  return runs.flatMap(({ origin, count }) => {
    const told = origins[origin];
    if (told === undefined) return Array.from({ length: count }, () => undefined);
    const { writer, time, isCertain } = told;
    const isOther = isCertain && writer !== most;
    return Array.from({ length: count }, (_, at) => ({
      ...{ writer, time, isCertain, isOther },
      isFirst: at === 0,
    }));
  });
}
