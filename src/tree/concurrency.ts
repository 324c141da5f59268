import { MemoryError, type MemoryErrorCode } from '../errors.ts';
import { letOthersRun } from '../time.ts';
import type { Tenant, Work } from './tenant.ts';

/**
 * After this many bytes of opening or sealing, which take milliseconds, everything else in the process has its turn.
 */
export const BYTES_BETWEEN_TURNS = 1_048_576;
/** The fixed cost of an object, in bytes that are sealed in the same time. */
const BYTES_PER_OBJECT = 16_384;

/**
 * Runs `work` on every item, in their order; the bounds say how many at once. `bytesOf` tells how many bytes of memory
 * an item holds: 0 unless given. After a failure no item is begun, and the first failure is thrown when the items under
 * way have ended. Timers, signals and other requests run in between, also where the store answers at once.
 */
export async function eachConcurrently<T>(
  bounds: Pick<Tenant, 'concurrency' | 'concurrentBytes'>,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  bytesOf: (item: T) => number = () => 0,
): Promise<void> {
  const failures: unknown[] = [];
  let [running, bytes, sinceTurn] = [0, 0, 0];
  let ended = Promise.withResolvers<void>();

  const runOne = async (item: T, size: number): Promise<void> => {
    running++;
    bytes += size;
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
    }
    running--;
    bytes -= size;
    ended.resolve();
  };
  const oneToEnd = async (): Promise<void> => {
    ended = Promise.withResolvers();
    await ended.promise;
  };

  for (const item of items) {
    const size = bytesOf(item);
    while (running >= bounds.concurrency || (running > 0 && bytes + size > bounds.concurrentBytes)) {
      await oneToEnd();
    }
    if (sinceTurn >= BYTES_BETWEEN_TURNS) {
      sinceTurn = 0;
      await letOthersRun();
    }
    if (failures.length > 0) break;
    sinceTurn += size + BYTES_PER_OBJECT;
    void runOne(item, size);
  }
  while (running > 0) await oneToEnd();
  if (failures.length > 0) throw failures[0];
}

/**
 * Runs `attempt` until it answers something other than `'again'`, and answers with that. Where it has answered
 * `'again'` for the `most`th time, other writers were first at each attempt, and `overtaken` answers or throws.
 */
export async function attempts<T, Overtaken>(
  most: number,
  attempt: (number: number) => Promise<T | 'again'>,
  overtaken: () => Overtaken | Promise<Overtaken>,
): Promise<T | Overtaken> {
  for (let number = 1; number <= most; number++) {
    const result = await attempt(number);
    if (result !== 'again') return result;
  }
  return overtaken();
}

/** Makes an `overtaken` for `attempts` that throws this error. */
export function throwing(code: MemoryErrorCode, message: string): () => never {
  return () => {
    throw new MemoryError(code, message);
  };
}

const FIRST_PAUSE_MS = 8;
const LONGEST_PAUSE_MS = 400;
const ATTEMPTS = 64;

/**
 * Runs `attempt` until it answers something other than `'again'`. Between two attempts it pauses for a random part
 * of an exponentially growing time, so that contenders drift apart.
 *
 * @throws MemoryError `version_conflict` after 64 attempts.
 */
export async function untilDone<T>({ tenant, call }: Work, attempt: () => Promise<T | 'again'>): Promise<T> {
  const paused = async (number: number): Promise<T | 'again'> => {
    if (number > 1) {
      const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (number - 2));
      await tenant.pause(longest * randomFraction(tenant.random), call.signal);
    }
    return attempt();
  };
  return attempts(
    ATTEMPTS,
    paused,
    throwing('version_conflict', 'the file was changed by others at every attempt'),
  );
}

function randomFraction(random: Tenant['random']): number {
  const [byte = 0] = random(1);
  return (byte + 1) / 256;
}
