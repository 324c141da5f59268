import type { MemoryError } from '../errors.ts';
import { inTime, untilAborted } from '../time.ts';

/**
 * A request to a service, in two forms: one for a service that works, and one that finds out whether it works again.
 */
interface GatedRequest<T> {
  readonly send: () => Promise<T>;
  /** Sends a single request, which no caller cancels. */
  readonly probe: () => Promise<T>;
  /**
   * Puts the failure into the operator's words; one that may pass counts as trouble of the service, for all who ask it.
   */
  readonly fail: (error: unknown) => MemoryError;
  /** Overwrites an answer that comes after its caller has stopped waiting. */
  readonly discard: (answer: T) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * The gate to the service that holds one root key: all who use the key ask through it. At most 16 of them ask at once,
 * none for longer than a limit, and while the service is in trouble one of them is let through, once a second. So a
 * service that hangs takes little of the process, and nothing of those who use other keys.
 */
export interface KeyGate {
  /**
   * Asks the service, once a place is free. While it is in trouble, everybody is refused at once with its last failure;
   * once a second one request goes out instead, if no other one is on its way. The caller that sends this request waits
   * for its answer for two seconds at most.
   *
   * @throws MemoryError the answer of `fail` to a failure, `late` after the limit; `aborted`.
   */
  ask<T>(asked: GatedRequest<T>): Promise<T>;
}

interface KeyGateOptions {
  /** The longest that one request may take, with all its attempts, in milliseconds. */
  readonly limitMs: number;
  /** Makes the error of a service that let a caller leave without an answer. */
  readonly late: () => MemoryError;
  /** Milliseconds that never go back. */
  readonly monotonic?: (() => number) | undefined;
}

/** The most requests for one key that are on their way at once. */
const AT_ONCE = 16;
const PAUSE_MS = 1_000;
const PROBE_MS = 2_000;

/** Makes the gate of one key. */
export function createKeyGate(options: KeyGateOptions): KeyGate {
  const { limitMs, late, monotonic = () => performance.now() } = options;
  let trouble: { readonly error: MemoryError; readonly since: number } | undefined;
  let isProbing = false;
  let asking = 0;
  const queue: (() => void)[] = [];

  /** Notes a failure: one that may pass means trouble, and any other is an answer that shows that the service works. */
  const note = (error: MemoryError): void => {
    if (error.code === 'aborted') return;
    trouble = error.retry === 'never' ? undefined : { error, since: monotonic() };
  };

  const follow = async <T>(sent: Promise<T>, fail: GatedRequest<T>['fail']): Promise<T> => {
    const began = monotonic();
    try {
      const answer = await sent;
      trouble = undefined;
      return answer;
    } catch (cause) {
      const error = fail(cause);
      // A caller that left after the time of a probe has met a service that hangs.
      const hangs = error.code === 'aborted' && monotonic() - began >= PROBE_MS;
      note(hangs ? late() : error);
      throw error;
    }
  };

  const present = (): typeof trouble => trouble;

  /** Waits for the place of one who leaves, who hands it on to the one who waits longest. */
  const waitForPlace = async (signal: AbortSignal | undefined): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    queue.push(resolve);
    try {
      await untilAborted(promise, signal);
    } catch (error) {
      const place = queue.indexOf(resolve);
      if (place < 0) leave();
      else queue.splice(place, 1);
      throw error;
    }
  };

  const leave = (): void => {
    const next = queue.shift();
    if (next === undefined) asking--;
    else next();
  };

  return {
    async ask({ send, probe, fail, discard, signal }) {
      /** Waits for an answer, which is overwritten where it comes later. */
      const within = async (ask: typeof send, wait: Wait) => {
        let isAwaited = true;
        const answer = ask();
        answer.then(
          (given) => isAwaited || discard(given),
          () => {},
        );
        try {
          return await inTime(() => answer, wait);
        } finally {
          isAwaited = false;
        }
      };

      let found = trouble;
      if (found === undefined) {
        if (asking < AT_ONCE) asking++;
        else await waitForPlace(signal);
        // Those who asked before may have met trouble meanwhile.
        found = present();
        try {
          if (found === undefined) return await follow(within(send, { ms: limitMs, late, signal }), fail);
        } finally {
          leave();
        }
      }
      const { error, since } = found;
      if (isProbing || monotonic() - since < PAUSE_MS) throw error;
      isProbing = true;
      const probed = follow(within(probe, { ms: limitMs, late }), fail).finally(() => {
        isProbing = false;
      });
      return within(() => probed, { ms: PROBE_MS, late: () => error, signal });
    },
  };
}

interface Wait {
  readonly ms: number;
  readonly late: () => MemoryError;
  readonly signal?: AbortSignal | undefined;
}
