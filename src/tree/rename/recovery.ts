import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { untilAborted } from '../../time.ts';
import type { OpenVault } from '../session.ts';
import type { RenameRegister } from './rename-register.ts';

/** Finishes what a process that is gone has left behind, once in the life of a vault. */
export interface Recovery {
  /** Waits for it. */
  before(vault: OpenVault): Promise<void>;
  /** Runs `read` beside it, and again when something was finished meanwhile. */
  beside<T>(vault: OpenVault, read: () => Promise<T>): Promise<T>;
}

/** Why a rename cannot be finished says itself last. */
function codeBehind(error: unknown): MemoryErrorCode {
  if (!(error instanceof MemoryError)) return 'unavailable';
  return error.cause instanceof MemoryError ? codeBehind(error.cause) : error.code;
}

export function createRecovery(renames: RenameRegister): Recovery {
  let looking: Promise<boolean> | undefined;

  /** A failure is the operator's to know and no reason to refuse a command; the next one looks again. */
  const lookOnce = (vault: OpenVault): Promise<boolean> => {
    looking ??= renames.recover({ ...vault, signal: undefined }).catch((error: unknown) => {
      looking = undefined;
      const code = codeBehind(error);
      vault.logger.warn('the register of renames could not be read or finished', { code });
      return false;
    });
    return untilAborted(looking, vault.signal);
  };

  return {
    async before(vault) {
      await lookOnce(vault);
    },
    async beside(vault, read) {
      const [recovered, result] = await Promise.allSettled([lookOnce(vault), read()]);
      if (recovered.status === 'fulfilled' && recovered.value) return read();
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    },
  };
}
