import type { Duration } from 'aws-cdk-lib';

interface Bounds {
  readonly least: number;
  readonly most: number;
}

type Bounded =
  | 'maxTokens'
  | 'tokensPerDay'
  | 'tokensPerHour'
  | 'timeoutSeconds'
  | 'memorySize'
  | 'maxConcurrency'
  | 'directConcurrency'
  | 'noncurrentDays'
  | 'oldestMessageMinutes'
  | 'expireAfterDays'
  | 'rootKeyGeneration';

/**
 * What a number may be. The functions refuse what is beyond; a turn needs ten seconds of its function's time for its end, so
 * a shorter one would never hear an answer.
 */
export const BOUNDS: Readonly<Record<Bounded, Bounds>> = {
  maxTokens: { least: 1, most: 1_000_000 },
  tokensPerDay: { least: 1, most: 1_000_000_000_000 },
  timeoutSeconds: { least: 60, most: 900 },
  memorySize: { least: 256, most: 10_240 },
  maxConcurrency: { least: 2, most: 1_000 },
  directConcurrency: { least: 1, most: 1_000 },
  noncurrentDays: { least: 1, most: 3_650 },
  oldestMessageMinutes: { least: 1, most: 5_760 },
  tokensPerHour: { least: 1, most: 1_000_000_000_000 },
  expireAfterDays: { least: 1, most: 3_650 },
  rootKeyGeneration: { least: 1, most: 1_000 },
};

/** @throws RangeError that names the number and its bounds. */
export function checkBounds(props: Readonly<Partial<Record<Bounded, number | undefined>>>): void {
  for (const [name, value] of Object.entries(props)) {
    const bounds: Bounds | undefined = BOUNDS[name as Bounded];
    if (bounds === undefined || value === undefined) continue;
    const { least, most } = bounds;
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new RangeError(`${name} must be a whole number from ${least} to ${most}`);
    }
  }
}

/** Undefined for none. */
export function secondsOf(duration: Duration | undefined): number | undefined {
  return duration?.toSeconds({ integral: false });
}
