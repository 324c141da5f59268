import type { SendBound } from '../store/port.ts';

/** A moment on two clocks. */
export interface Instant {
  readonly wall: number;
  readonly steady: number;
}

/** The longest time to live of a keyring in any process, in milliseconds. */
export const LONGEST_TTL_MS = 900_000;
/** The least time to live that counts when keys are retired, in milliseconds: a shorter one counts as this. */
export const LEAST_TTL_MS = 60_000;
/** A tenant key may be retired two times to live after the keyring was written that rotated it out. */
const SEALING_TTLS = 5 / 3;
/** The rest of the third that is left is for clocks that tell whole seconds, and for clocks that run apart. */
const SENDING_TTLS = 1 / 4;

/** How old a keyring may be that seals, and for how long what was sealed may be sent. */
export function sealingLimits(ttlMs: number): { readonly sealingMs: number; readonly sendingMs: number } {
  return {
    sealingMs: Math.max(LEAST_TTL_MS, ttlMs * SEALING_TTLS),
    sendingMs: Math.max(LEAST_TTL_MS, ttlMs) * SENDING_TTLS,
  };
}

export interface AgeClocks {
  /** Milliseconds since the epoch; may be set back. */
  readonly clock: () => number;
  /** Milliseconds that never go back; they may stand still while the process is frozen. */
  readonly monotonic: () => number;
}

export interface Ages {
  now(): Instant;
  /** Whether less than `limitMs` has passed since then, by both clocks. */
  isWithin(since: Instant, limitMs: number): boolean;
  /** Passes `limitMs` from now, by whichever clock runs faster, and at once where one is set back. */
  boundIn(limitMs: number): SendBound;
}

export function createAges({ clock, monotonic }: AgeClocks): Ages {
  const now = (): Instant => ({ wall: clock(), steady: monotonic() });
  const isWithin = (since: Instant, limitMs: number): boolean => {
    const { wall, steady } = now();
    return [wall - since.wall, steady - since.steady].every((age) => age >= 0 && age < limitMs);
  };
  return {
    now,
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
