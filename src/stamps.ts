import { misconfigured } from './errors.ts';
import { createAges, type Instant } from './time.ts';

/**
 * The times that a process writes down: mtimes, bounds, days of reads, when a key was made (docs/protocols.md,
 * "Clocks").
 */
export interface Stamps {
  /** Notes the `Date` of an answer of the store: milliseconds since the epoch, in whole seconds. */
  observe(date: number): void;
  /**
   * Answers the time to write down, in whole milliseconds since the epoch; never an earlier one than before. It is the
   * process's own time within a minute of the store's last `Date`, and the store's beyond that. A store that told no
   * time counts as in time.
   *
   * @throws MemoryError `misconfigured` where both differ by more than 48 hours, so that nothing is written.
   */
  now(): number;
  /** Answers the time of the store, in milliseconds since the epoch; the process's own where the store told no time. */
  storeTime(): number;
  /**
   * Answers by how much the process's clock is ahead of the store's, in milliseconds; negative behind it, 0 where the
   * store told no time.
   */
  skew(): number;
}

/** The difference up to which two clocks count as one; milliseconds. */
export const SAME_TIME_MS = 60_000;
/** The furthest that a stamp may be from the process's own time, whatever a store tells; milliseconds. */
export const MOST_SKEW_MS: number = 48 * 3_600_000;

/**
 * Makes the stamps of a process.
 *
 * @param clocks `clock`: milliseconds since the epoch, which somebody may set; `monotonic`: milliseconds that never go
 * back.
 */
export function createStamps(clocks: {
  readonly clock: () => number;
  readonly monotonic: () => number;
}): Stamps {
  const { clock } = clocks;
  const ages = createAges(clocks);
  let seen: { readonly date: number; readonly at: Instant } | undefined;
  let last = 0;
  // The wall clock shows that the process was frozen since; the monotonic one counts on where the wall clock was set
  // back.
  const storeTime = (): number => (seen === undefined ? clock() : seen.date + ages.elapsed(seen.at));
  const skew = (): number => clock() - storeTime();
  return {
    observe(date) {
      seen = { date, at: ages.now() };
    },
    now() {
      const ahead = skew();
      if (Math.abs(ahead) > MOST_SKEW_MS) throw clocksApart();
      last = Math.max(last, Math.floor(Math.abs(ahead) <= SAME_TIME_MS ? clock() : storeTime()));
      return last;
    },
    storeTime,
    skew,
  };
}

function clocksApart() {
  return misconfigured(
    'The clock of this machine and the time that the object store tells differ by more than 48 hours: set the clock. Nothing is written until then.',
  );
}
