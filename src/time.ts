import { MemoryError } from './errors.ts';

export const DAY_MS = 86_400_000;

/** The farthest from the epoch that a `Date` can be, in milliseconds. */
export const MOST_DATE_MS = 8.64e15;

/**
 * Makes a valid `Date` of a stored or given number of milliseconds since the epoch: a number beyond all dates, which
 * the format allows, gives the last or the first of them, and NaN the epoch.
 */
export function dateOf(ms: number): Date {
  return new Date(Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, -MOST_DATE_MS), MOST_DATE_MS));
}

/** Writes a moment as text of ISO 8601 in UTC, to the millisecond. Never throws. */
export function isoOf(moment: Date | number): string {
  return dateOf(Number(moment)).toISOString();
}

/**
 * Throws once the signal has fired.
 *
 * @throws MemoryError `aborted`.
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal);
}

/** Waits `ms` milliseconds. Rejects with `aborted` as soon as the signal fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  throwIfAborted(signal);
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await untilAborted(promise, signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets timers, signals and arrived answers run; a chain of promises alone would keep them waiting. */
export function letOthersRun(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

let waiting = 0;

/** Tells whether work in turns lets others run just now; time that is simulated stands still meanwhile. */
export function turnsWait(): boolean {
  return waiting > 0;
}

/**
 * Runs work in steps to its end, and lets others run after every `stepsPerTurn` of them, after each unless given.
 *
 * @throws MemoryError `aborted`.
 */
export async function inTurns<T>(
  steps: Generator<void, T>,
  signal?: AbortSignal,
  stepsPerTurn = 1,
): Promise<T> {
  for (let count = 1; ; count++) {
    throwIfAborted(signal);
    const step = steps.next();
    if (step.done === true) return step.value;
    if (count % stepsPerTurn !== 0) continue;
    waiting++;
    await letOthersRun();
    waiting--;
  }
}

/** The waiting function as a parameter: tests pass a simulated one. */
export type Pause = typeof pause;

/** Returns the result of one run of `work` to every caller. After a failure the next call runs it again. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}

/** Waits for one run of `work` for each key. After a failure the next call for the key runs it again. */
export async function oncePerKey<K>(
  runs: Map<K, Promise<void>>,
  key: K,
  work: () => Promise<void>,
): Promise<void> {
  const running = runs.get(key) ?? work();
  runs.set(key, running);
  try {
    await running;
  } catch (error) {
    if (runs.get(key) === running) runs.delete(key);
    throw error;
  }
}

/** Waits for `work`, and rejects with `aborted` as soon as the signal fires; the work itself continues. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  // After an abort no caller handles a failure of the work, and an unhandled rejection would end the process.
  work.catch(() => {});
  throwIfAborted(signal);
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(aborted(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The time that a function of the caller's may take to answer, as long as a request to a store (milliseconds). */
export const LONGEST_ANSWER_MS = 60_000;

/**
 * Waits for a function of the caller's: its result, `aborted` as soon as the signal fires, or the error `late` after
 * `ms`, 60 s unless given. The function may then run on: its end changes nothing.
 */
export async function inTime<T>(
  ask: () => T | Promise<T>,
  {
    late,
    signal,
    ms = LONGEST_ANSWER_MS,
  }: {
    readonly late: () => Error;
    readonly signal?: AbortSignal | undefined;
    readonly ms?: number | undefined;
  },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await untilAborted(Promise.race([(async () => ask())(), promise]), signal);
  } finally {
    clearTimeout(timer);
  }
}

/** One piece of work that several callers wait for. */
export interface SharedWork<T> {
  /** True once the work was cancelled, because its last caller left or `abandon` was called. */
  readonly abandoned: boolean;
  /** Resolves when the work has ended, also when it failed. */
  readonly ended: Promise<void>;
  /** The result. Rejects with `aborted` when `signal` fires first; the other callers continue to wait. */
  join(signal?: AbortSignal): Promise<T>;
  /** Cancels the work for all its callers. */
  abandon(): void;
}

/** Starts `work`, whose signal fires when its last caller has aborted. */
export function shareWork<T>(work: (signal: AbortSignal) => Promise<T>): SharedWork<T> {
  const controller = new AbortController();
  const result = work(controller.signal);
  const cancelled = Promise.withResolvers<never>();
  const outcome = Promise.race([result, cancelled.promise]);
  outcome.catch(() => {});
  let waiting = 0;

  function abandon(): void {
    controller.abort();
    cancelled.reject(aborted());
  }

  return {
    get abandoned() {
      return controller.signal.aborted;
    },
    ended: result.then(
      () => {},
      () => {},
    ),
    async join(signal) {
      waiting += 1;
      try {
        return await untilAborted(outcome, signal);
      } finally {
        waiting -= 1;
        if (waiting === 0 && signal?.aborted) abandon();
      }
    },
    abandon,
  };
}

/** A moment on two clocks. */
export interface Instant {
  readonly wall: number;
  readonly steady: number;
}

/** A moment after which something must not be sent or trusted any more. */
interface Bound {
  isPast(): boolean;
}

interface AgeClocks {
  /** Milliseconds since the epoch; may be set back. */
  readonly clock: () => number;
  /** Milliseconds that never go back; they may stand still while the process is frozen. */
  readonly monotonic: () => number;
}

export interface Ages {
  now(): Instant;
  /**
   * Answers the milliseconds since then, by whichever clock ran faster: the wall clock counts while a process is
   * frozen, the monotonic one when the wall clock is set back.
   */
  elapsed(since: Instant): number;
  /** Tells whether less than `limitMs` has passed since then, by both clocks. */
  isWithin(since: Instant, limitMs: number): boolean;
  /**
   * Makes a bound that passes `limitMs` from now, by whichever clock runs faster, and at once where one is set back.
   */
  boundIn(limitMs: number): Bound;
}

export function createAges({ clock, monotonic }: AgeClocks): Ages {
  const now = (): Instant => ({ wall: clock(), steady: monotonic() });
  const isWithin = (since: Instant, limitMs: number): boolean => {
    const { wall, steady } = now();
    return [wall - since.wall, steady - since.steady].every((age) => age >= 0 && age < limitMs);
  };
  return {
    now,
    elapsed(since) {
      const { wall, steady } = now();
      return Math.max(wall - since.wall, steady - since.steady);
    },
    isWithin,
    boundIn(limitMs) {
      const since = now();
      let past = false;
      return {
        isPast() {
          past ||= !isWithin(since, limitMs);
          return past;
        },
      };
    },
  };
}

function aborted(signal?: AbortSignal): MemoryError {
  return new MemoryError('aborted', 'The caller cancelled the call.', { cause: signal?.reason });
}
