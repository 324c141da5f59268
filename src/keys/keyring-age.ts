/** A moment on two clocks. */
export interface Instant {
  readonly wall: number;
  readonly steady: number;
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
}

export function createAges({ clock, monotonic }: AgeClocks): Ages {
  const now = (): Instant => ({ wall: clock(), steady: monotonic() });
  return {
    now,
    isWithin(since, limitMs) {
      const { wall, steady } = now();
      return [wall - since.wall, steady - since.steady].every((age) => age >= 0 && age < limitMs);
    },
  };
}
