/** The wall clock of this process in the hands of a test; `using` gives it back. */
export interface TestClock extends Disposable {
  /** Sets the clock, forwards or back; it goes on from there. @throws RangeError for what is no date. */
  set(moment: Date | number | string): void;
  /** Lets time pass, in milliseconds. */
  advance(ms: number): void;
  /** Gives the process its own time again. */
  restore(): void;
}

let isTaken = false;

/**
 * Takes the wall clock of this process, `Date.now`, which tells `moment` and goes on from there; the present unless
 * given. The times that a memory writes down follow it: of versions, of checkpoints, of what expires. Take it before
 * the memory is opened. Timers, `performance.now()` and `new Date()` keep the real time. It is for `memory:`, `sqlite:`
 * and what is the test's own: the servers of S3 and KMS have clocks too, and refuse requests of another time.
 *
 * @throws Error where the clock is taken already, RangeError for what is no date.
 */
export function createTestClock(moment: Date | number | string = Date.now()): TestClock {
  if (isTaken) throw new Error('The clock of this process is taken already: restore it first.');
  const ownTime = Date.now;
  let ahead = millisecondsOf(moment) - ownTime();
  // A caller who kept this function gets the process's own time from it once the clock is given back.
  const told = (): number => ownTime() + ahead;
  isTaken = true;
  Date.now = told;
  const restore = (): void => {
    if (Date.now !== told) return;
    ahead = 0;
    isTaken = false;
    Date.now = ownTime;
  };
  return {
    set(next) {
      ahead = millisecondsOf(next) - ownTime();
    },
    advance(ms) {
      ahead += ms;
    },
    restore,
    [Symbol.dispose]: restore,
  };
}

function millisecondsOf(moment: Date | number | string): number {
  const ms = new Date(moment).getTime();
  if (Number.isNaN(ms)) throw new RangeError(`${String(moment)} is no date.`);
  return ms;
}
