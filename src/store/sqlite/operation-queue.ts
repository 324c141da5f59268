import { letOthersRun } from '../../time.ts';

/**
 * The time for which operations follow one another before everything else in the process has its turn, in milliseconds.
 */
const STRETCH_MS = 10;

/** Operations that wait, in the order in which they were asked for. */
const waiting = new Set<() => void>();
/** The time at which the first operation after the last turn of the event loop began. */
let stretchBegan: number | undefined;
/** True: an operation that others may join has run in this turn of the event loop. */
let joinedRan = false;
/** The number of connections that wait for more operations. */
let gathering = 0;

/**
 * Runs an operation that blocks the event loop: at once, or after a turn of the event loop where operations have
 * followed one another for 10 ms. None overtakes another. All stores of the process take turns together, because they
 * share one event loop: a chain of calls that never waits for anything else would keep timers and signals waiting.
 * Among operations that run `together`, the first of a turn runs at once and the others wait for the next turn. This
 * means that writes asked for side by side are all there when the first of them has its turn.
 */
export function inTurn<T>(operation: () => T, kind: 'alone' | 'together' = 'alone'): T | Promise<T> {
  const isNow = waiting.size === 0 && isWithinStretch() && !(kind === 'together' && joinedRan);
  joinedRan ||= kind === 'together';
  if (isNow) return operation();
  return new Promise((resolve, reject) => {
    if (waiting.size === 0) runWaitingLater();
    waiting.add(() => {
      try {
        resolve(operation());
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** The pause after which no more operations are expected, in milliseconds. */
const PAUSE_MS = 1;

/** Lets everything else run until `most` operations wait, or no more came for a millisecond; for 10 ms at most. */
export async function gather(count: () => number, most: number): Promise<void> {
  const began = performance.now();
  let [seen, since] = [count(), began];
  const isOver = (now: number): boolean => now - since >= PAUSE_MS || now - began >= STRETCH_MS;
  gathering++;
  do {
    await letOthersRun();
    if (count() > seen) [seen, since] = [count(), performance.now()];
  } while (seen < most && !isOver(performance.now()));
  gathering--;
}

/** Tells whether an operation waits for its turn; time that is simulated stands still meanwhile. */
export function operationsWait(): boolean {
  return waiting.size + gathering > 0;
}

function isWithinStretch(): boolean {
  if (stretchBegan === undefined) {
    stretchBegan = performance.now();
    void letOthersRun().then(endStretch);
  }
  return performance.now() - stretchBegan < STRETCH_MS;
}

function endStretch(): void {
  stretchBegan = undefined;
  joinedRan = false;
}

function runWaitingLater(): void {
  void letOthersRun().then(() => {
    endStretch();
    for (const run of waiting) {
      if (!isWithinStretch()) break;
      waiting.delete(run);
      run();
    }
    if (waiting.size > 0) runWaitingLater();
  });
}
