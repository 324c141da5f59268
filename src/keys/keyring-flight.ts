import { MemoryError } from '../errors.ts';

/** One piece of work that several callers wait for. */
export interface SharedFlight<T> {
  /** True once the work was given up because nobody waits any more. */
  readonly abandoned: boolean;
  /** Resolves when the work is over, well or badly. */
  readonly settled: Promise<void>;
  /** The result. Rejects with `aborted` when `signal` fires first; the others go on waiting. */
  join(signal?: AbortSignal): Promise<T>;
  /** Gives the work up for everybody. */
  abandon(): void;
}

/** Starts `work`, whose signal fires when the last one who waits has aborted. */
export function startFlight<T>(work: (signal: AbortSignal) => Promise<T>): SharedFlight<T> {
  const controller = new AbortController();
  const result = work(controller.signal);
  const given = Promise.withResolvers<never>();
  const outcome = Promise.race([result, given.promise]);
  outcome.catch(() => {});
  let waiting = 0;

  function abandon(): void {
    controller.abort();
    given.reject(aborted());
  }

  return {
    get abandoned() {
      return controller.signal.aborted;
    },
    settled: result.then(
      () => {},
      () => {},
    ),
    async join(signal) {
      waiting += 1;
      const { promise: left, reject } = Promise.withResolvers<never>();
      const leave = (): void => reject(aborted());
      if (signal?.aborted) leave();
      signal?.addEventListener('abort', leave, { once: true });
      try {
        return await Promise.race([outcome, left]);
      } finally {
        signal?.removeEventListener('abort', leave);
        waiting -= 1;
        if (waiting === 0 && signal?.aborted) abandon();
      }
    },
    abandon,
  };
}

function aborted(): MemoryError {
  return new MemoryError('aborted', 'The caller cancelled the call.');
}
