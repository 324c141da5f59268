import { MemoryError } from '../errors.ts';
import type { Session, Work } from './session.ts';

const FIRST_PAUSE_MS = 8;
const LONGEST_PAUSE_MS = 400;
const ATTEMPTS = 64;

/**
 * Runs `attempt` until it answers something other than `'again'`. Between two attempts it pauses for a random part
 * of an exponentially growing time, so that contenders drift apart.
 *
 * @throws MemoryError `version_conflict` after 64 attempts.
 */
export async function untilSettled<T>(
  { session, call }: Work,
  attempt: () => Promise<T | 'again'>,
): Promise<T> {
  for (let failures = 0; failures < ATTEMPTS; failures++) {
    if (failures > 0) {
      const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
      await session.pause(longest * randomFraction(session.random), call.signal);
    }
    const result = await attempt();
    if (result !== 'again') return result;
  }
  throw new MemoryError('version_conflict', 'the file was changed by others at every attempt');
}

function randomFraction(random: Session['random']): number {
  const [byte = 0] = random(1);
  return (byte + 1) / 256;
}
