import { MemoryError } from './errors.ts';

/** Throws `aborted` when the caller has already given up. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new MemoryError('aborted', 'The caller gave up.', { cause: signal.reason });
}

/** Waits `ms` milliseconds. Rejects with `aborted` as soon as the signal fires. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new MemoryError('aborted', 'The caller gave up.', { cause: signal.reason }));
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(new MemoryError('aborted', 'The caller gave up.', { cause: signal?.reason }));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Lets timers, signals and answers that have arrived have their turn; promises alone would keep them waiting. */
export function letOthersRun(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The waiting function as a parameter: tests hand in a simulated one. */
export type Pause = typeof pause;

/** The result of `work`, or `aborted` as soon as the signal fires; the work itself goes on. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  // Nobody waits for it any more after an abort, and a failure that nobody waits for would end the process.
  work.catch(() => {});
  throwIfAborted(signal);
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void =>
    reject(new MemoryError('aborted', 'The caller gave up.', { cause: signal.reason }));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
