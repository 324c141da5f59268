import { MemoryError } from '../../src/errors.ts';
import { operationsWait } from '../../src/store/sqlite/operation-queue.ts';
import { type Pause, turnsWait } from '../../src/time.ts';

/** Time that passes only when nothing else can happen, and chance that repeats itself for the same seed. */
export interface VirtualTime {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly pause: Pause;
  /** From 0 up to, but not including, 1. */
  readonly fraction: () => number;
  readonly randomBytes: (length: number) => Uint8Array;
}

const START = Date.UTC(2026, 0, 1);

/**
 * Makes simulated time for code whose only waiting is `pause`: once everything that can run has run, the clock jumps to
 * the next pause that ends. Pauses that end together end in the order in which they began.
 */
export function createVirtualTime(seed = 1, start: number = START): VirtualTime {
  const pending: { readonly at: number; readonly wake: () => void }[] = [];
  const fraction = seededFraction(seed);
  let now = start;
  let pumping = false;

  const pump = (): void => {
    if (operationsWait() || turnsWait()) {
      setImmediate(pump);
      return;
    }
    const next = pending.reduce((first, each) => (each.at < first.at ? each : first), pending[0] ?? NEVER);
    const place = pending.indexOf(next);
    if (place >= 0) pending.splice(place, 1);
    now = Math.max(now, next.at);
    next.wake();
    pumping = pending.length > 0;
    if (pumping) setImmediate(pump);
  };

  return {
    clock: () => now,
    fraction,
    randomBytes: (length) => Uint8Array.from({ length }, () => Math.floor(fraction() * 256)),
    pause: (ms, signal) =>
      new Promise((resolve, reject) => {
        const wake = (): void => {
          if (signal?.aborted) reject(new MemoryError('aborted', 'The caller cancelled the call.'));
          else resolve();
        };
        pending.push({ at: now + ms, wake });
        if (!pumping) setImmediate(pump);
        pumping = true;
      }),
  };
}

const NEVER = { at: Number.NEGATIVE_INFINITY, wake: (): void => {} };

/** The generator mulberry32: 32 bits of state, good enough to shuffle requests. */
function seededFraction(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
