import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { untilAborted } from '../../time.ts';
import { uncancelled, type Work } from '../session.ts';
import { LEASE_MS } from './lease.ts';
import type { Recovered, RenameRegister } from './rename-register.ts';

/**
 * Finishes what a process that is gone has left behind. One look is enough for the life of a session, unless it finds a
 * rename under way: the process that runs it may die within its lease, so the first command after the lease looks again.
 */
export interface Recovery {
  /** Waits for it. */
  before(work: Work): Promise<void>;
  /** Runs `read` beside it, and again when something was finished meanwhile. */
  beside<T>(work: Work, read: () => Promise<T>): Promise<T>;
}

/** Why a rename cannot be finished says itself last. */
function codeBehind(error: unknown): MemoryErrorCode {
  if (!(error instanceof MemoryError)) return 'unavailable';
  return error.cause instanceof MemoryError ? codeBehind(error.cause) : error.code;
}

export function createRecovery(renames: RenameRegister): Recovery {
  let looking: Promise<Recovered> | undefined;
  /** By the monotonic clock. */
  let lookAgainAt = Number.POSITIVE_INFINITY;

  /** A failure is the operator's to know and no reason to refuse a command; the next one looks again. */
  const look = async (work: Work): Promise<Recovered> => {
    const { logger, monotonic } = work.session;
    lookAgainAt = Number.POSITIVE_INFINITY;
    try {
      const recovered = await renames.recover(uncancelled(work));
      if (recovered === 'under_way') lookAgainAt = monotonic() + LEASE_MS;
      // Reads that begin from here on see what was finished.
      if (recovered === 'finished') looking = Promise.resolve('idle');
      return recovered;
    } catch (error) {
      looking = undefined;
      logger.warn('the register of renames could not be read or finished', { code: codeBehind(error) });
      return 'idle';
    }
  };

  const lookWhereNeeded = (work: Work): Promise<Recovered> => {
    if (work.session.monotonic() >= lookAgainAt) looking = undefined;
    looking ??= look(work);
    return untilAborted(looking, work.call.signal);
  };

  return {
    async before(work) {
      await lookWhereNeeded(work);
    },
    async beside(work, read) {
      const [recovered, result] = await Promise.allSettled([lookWhereNeeded(work), read()]);
      if (recovered.status === 'fulfilled' && recovered.value === 'finished') return read();
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    },
  };
}
