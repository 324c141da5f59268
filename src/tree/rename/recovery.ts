import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { untilAborted } from '../../time.ts';
import { uncancelled, type Work } from '../session.ts';
import type { RenameRegister } from './rename-register.ts';

/** Finishes what a process that is gone has left behind, once in the life of a work. */
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
  let looking: Promise<boolean> | undefined;

  /** A failure is the operator's to know and no reason to refuse a command; the next one looks again. */
  const lookOnce = (work: Work): Promise<boolean> => {
    looking ??= renames.recover(uncancelled(work)).catch((error: unknown) => {
      looking = undefined;
      const code = codeBehind(error);
      work.session.logger.warn('the register of renames could not be read or finished', { code });
      return false;
    });
    return untilAborted(looking, work.call.signal);
  };

  return {
    async before(work) {
      await lookOnce(work);
    },
    async beside(work, read) {
      const [recovered, result] = await Promise.allSettled([lookOnce(work), read()]);
      if (recovered.status === 'fulfilled' && recovered.value) return read();
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    },
  };
}
