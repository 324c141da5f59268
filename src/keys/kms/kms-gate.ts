import type { MemoryError } from '../../errors.ts';
import { inTime } from '../../time.ts';
import { kmsLate } from './kms-errors.ts';

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
 * The gate to a shared service: callers ask through it, and while the service is in trouble it lets one of them
 * through, once a second.
 */
export interface KmsGate {
  /**
   * Asks the service. While it is in trouble, everybody is refused at once with its last failure; once a second one
   * request goes out instead, if no other one is on its way. The caller that sends this request waits for its answer
   * for two seconds at most.
   *
   * @throws MemoryError the answer of `fail` to a failure; `aborted`.
   */
  ask<T>(asked: GatedRequest<T>): Promise<T>;
}

const PAUSE_MS = 1_000;
const PROBE_MS = 2_000;

/**
 * Makes a gate.
 *
 * @param monotonic milliseconds that never go back.
 */
export function createKmsGate(monotonic: () => number = () => performance.now()): KmsGate {
  let trouble: { readonly error: MemoryError; readonly since: number } | undefined;
  let isProbing = false;

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
      note(hangs ? kmsLate() : error);
      throw error;
    }
  };

  return {
    async ask({ send, probe, fail, discard, signal }) {
      if (trouble === undefined) return follow(send(), fail);
      const { error, since } = trouble;
      if (isProbing || monotonic() - since < PAUSE_MS) throw error;
      isProbing = true;
      let isAwaited = true;
      const probed = follow(probe(), fail).finally(() => {
        isProbing = false;
      });
      probed.then(
        (answer) => isAwaited || discard(answer),
        () => {},
      );
      try {
        return await inTime(() => probed, { ms: PROBE_MS, late: () => error, signal });
      } finally {
        isAwaited = false;
      }
    },
  };
}
