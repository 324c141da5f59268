/** CI tries more of the same than fits into the minutes of `npm test`: more seeds, more attempts, more kills. */
export const THOROUGH: boolean = process.env['TEST_THOROUGH'] === '1';

/** The inner loop: a sample of what `npm test` tries. */
export const QUICK: boolean = process.env['TEST_QUICK'] === '1';

/** Answers those of them that a run tries: the first one in a usual run, all with `TEST_THOROUGH=1`. */
export function firstOrAll<T>(each: readonly T[]): readonly T[] {
  return THOROUGH ? each : each.slice(0, 1);
}

/**
 * Answers those of them that a run tries: in a usual run one of every `n`, from the `from`th on, all with
 * `TEST_THOROUGH=1`.
 */
export function oneIn<T>(n: number, each: readonly T[], from = 0): readonly T[] {
  return THOROUGH ? each : each.filter((_, i) => i % n === from % n);
}

/** Makes the rows of a table, each with its number, from which `oneIn` counts. */
export function rowsOf<T>(
  table: Readonly<Record<string, T>>,
): readonly { readonly name: string; readonly row: T; readonly at: number }[] {
  return Object.entries(table).map(([name, row], at) => ({ name, row, at }));
}

/** How much is tried in a usual run; in the quick run and with `TEST_THOROUGH=1` as much, unless it is given. */
export function amount({
  usual,
  quick = usual,
  thorough = usual,
}: {
  readonly usual: number;
  readonly quick?: number;
  readonly thorough?: number;
}): number {
  if (QUICK) return quick;
  return THOROUGH ? thorough : usual;
}
