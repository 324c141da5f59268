import { MemoryError } from './errors.ts';

/** @throws MemoryError `aborted` when the signal has fired. */
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

/** The result of `work`, or `aborted` as soon as the signal fires; the work itself goes on. */
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

function aborted(signal: AbortSignal): MemoryError {
  return new MemoryError('aborted', 'The caller cancelled the call.', { cause: signal.reason });
}
