import { MemoryError } from '../errors.ts';
import type { Keyring } from '../format/keyring-bytes.ts';
import { equalBytes, hash } from '../format/sodium.ts';
import { createRecent } from '../recent.ts';

/** A keyring that was opened, with the bytes of its object. */
export interface OpenedKeyring {
  readonly keyring: Keyring;
  readonly bytes: Uint8Array;
}

/** The process's memory of a tenant's keyring at one moment. */
export interface SeenKeyring {
  readonly newest: NewestKeyring | undefined;
  readonly shredded: boolean;
}

interface NewestKeyring {
  readonly epoch: number;
  readonly keyringId: Uint8Array;
  /** The digest of the object's bytes. */
  readonly digest: Uint8Array;
}

/**
 * The memory of a process about one tenant's keyring, by which it refuses an older or another one. Cache, editor and
 * status of a tenant share one guard in a process, whatever credentials they use. A guard takes less than a kilobyte
 * and holds no secrets.
 */
export interface RollbackGuard {
  /** The least epoch that is accepted. */
  readonly minimumEpoch: number;
  /** Sets the least epoch that is accepted; the highest of all calls counts. */
  pin(epoch: number): void;
  /** Answers the present memory: called before a keyring is read or written, and passed to `admit` afterwards. */
  begin(): SeenKeyring;
  shredded(): void;
  /**
   * Remembers an authentic keyring as the newest. `'overtaken'`: another read of this process has seen a newer one
   * meanwhile, so the keyring was only the newest when its read began, and must not be used.
   *
   * @throws MemoryError `integrity` for a lower epoch than pinned, or than seen before the read began, the same epoch
   * in other bytes, another keyring id, or any keyring after a shred marker. Requires `loadSodium`.
   */
  admit(opened: OpenedKeyring, before: SeenKeyring): 'newest' | 'overtaken';
}

const DIGEST_BYTES = 32;

export function createRollbackGuard(): RollbackGuard {
  let minimumEpoch = 1;
  let seen: SeenKeyring = { newest: undefined, shredded: false };

  return {
    get minimumEpoch() {
      return minimumEpoch;
    },
    pin(epoch) {
      minimumEpoch = Math.max(minimumEpoch, epoch);
    },
    begin: () => seen,
    shredded() {
      seen = { ...seen, shredded: true };
    },
    admit({ keyring: { epoch, keyringId }, bytes }, before) {
      const found = { epoch, keyringId, digest: hash(DIGEST_BYTES, keyringId, bytes) };
      if (epoch < minimumEpoch) {
        throw new MemoryError(
          'integrity',
          'The keyring is older than the epoch that is pinned for this tenant.',
        );
      }
      if (before.shredded || (before.newest !== undefined && !follows(found, before.newest)))
        throw rolledBack();
      const { shredded, newest } = seen;
      if (shredded) return 'overtaken';
      if (newest !== undefined && !follows(found, newest)) {
        if (epoch < newest.epoch && isSameKeyring(found, newest)) return 'overtaken';
        throw rolledBack();
      }
      seen = { ...seen, newest: found };
      return 'newest';
    },
  };
}

/**
 * Makes the guards of many tenants: a tenant has the same guard at every call, whatever becomes of the tenant in
 * between. Above `most` guards the least recently used one is evicted; a caller that kept its guard hands it in as
 * `kept`.
 */
export function createRollbackGuards(most: number): (tenant: string, kept?: RollbackGuard) => RollbackGuard {
  const guards = createRecent<string, RollbackGuard>({ most });
  return (tenant, kept) => {
    const guard = kept ?? guards.get(tenant) ?? createRollbackGuard();
    guards.set(tenant, guard);
    return guard;
  };
}

function follows(found: NewestKeyring, newest: NewestKeyring): boolean {
  if (!isSameKeyring(found, newest)) return false;
  return (
    found.epoch > newest.epoch || (found.epoch === newest.epoch && equalBytes(found.digest, newest.digest))
  );
}

function isSameKeyring(left: NewestKeyring, right: NewestKeyring): boolean {
  return equalBytes(left.keyringId, right.keyringId);
}

function rolledBack(): MemoryError {
  return new MemoryError(
    'integrity',
    'The keyring is older than, or another than, the one this process has seen.',
  );
}
