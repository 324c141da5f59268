import type { Duration } from 'aws-cdk-lib';

interface Bounds {
  readonly least: number;
  readonly most: number;
}

type Bounded =
  | 'maxTokens'
  | 'tokensPerDay'
  | 'alarmTokensPerHour'
  | 'timeoutSeconds'
  | 'memorySize'
  | 'maxConcurrency'
  | 'directConcurrency'
  | 'noncurrentDays'
  | 'maxRequests'
  | 'oldestMessageMinutes'
  | 'expireAfterDays'
  | 'historyDays'
  | 'maxFileBytes'
  | 'maxFiles'
  | 'maxTenantBytes'
  | 'cacheBytes'
  | 'keyringTtlSeconds'
  | 'rootKeyGeneration';

/**
 * The MiB that a worker takes with the 1,000 tenants that its pool keeps warm at most, and the default cache
 * (docs/performance.md, "A worker with its warm tenants").
 */
const WARM_WORKER_MIB = 399;
/** The MiB of the default cache, which are part of those. */
const DEFAULT_CACHE_MIB = 16;

/**
 * The bounds of numbers, beyond which the functions refuse them. A turn needs ten seconds of its function's time for
 * its end, so with a shorter timeout the caller would wait for an answer in vain.
 */
export const BOUNDS: Readonly<Record<Bounded, Bounds>> = {
  maxTokens: { least: 1, most: 1_000_000 },
  tokensPerDay: { least: 1, most: 1_000_000_000_000 },
  timeoutSeconds: { least: 60, most: 900 },
  memorySize: { least: WARM_WORKER_MIB, most: 10_240 },
  maxConcurrency: { least: 2, most: 1_000 },
  directConcurrency: { least: 1, most: 1_000 },
  noncurrentDays: { least: 1, most: 3_650 },
  maxRequests: { least: 1, most: 1_000 },
  oldestMessageMinutes: { least: 1, most: 5_760 },
  alarmTokensPerHour: { least: 1, most: 1_000_000_000_000 },
  expireAfterDays: { least: 1, most: 3_650 },
  historyDays: { least: 1, most: 3_650 },
  maxFileBytes: { least: 1, most: 1_073_741_823 },
  maxFiles: { least: 1, most: 100_000_000 },
  maxTenantBytes: { least: 1, most: 100_000_000_000_000 },
  cacheBytes: { least: 0, most: 1_073_741_824 },
  keyringTtlSeconds: { least: 0, most: 900 },
  rootKeyGeneration: { least: 1, most: 1_000 },
};

/**
 * Checks numbers against `BOUNDS`.
 *
 * @throws RangeError that names the number and its bounds.
 */
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

/**
 * Checks that a function has room for the tenants that stay warm, and for a cache that is larger than the default.
 *
 * @throws RangeError that says what is needed.
 */
export function checkMemory({
  memorySize,
  cacheBytes = 0,
}: {
  readonly memorySize: number;
  readonly cacheBytes?: number | undefined;
}): void {
  const least = WARM_WORKER_MIB + Math.max(0, Math.ceil(cacheBytes / 1_048_576) - DEFAULT_CACHE_MIB);
  if (memorySize >= least) return;
  throw new RangeError(
    `memorySize must be at least ${least} MiB: the warm tenants of a worker take ${WARM_WORKER_MIB}, and its cache what it is larger than ${DEFAULT_CACHE_MIB}`,
  );
}

/** Answers the seconds of a duration; undefined without one. */
export function secondsOf(duration: Duration | undefined): number | undefined {
  return duration?.toSeconds({ integral: false });
}
