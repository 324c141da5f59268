import { MemoryError } from '../errors.ts';
import { hasBytesAt } from '../sealing/encoding.ts';
import type { Keyring } from './keyring.ts';

/** A keyring that was opened, with the bytes of its object. */
export interface OpenedKeyring {
  readonly keyring: Keyring;
  readonly bytes: Uint8Array;
}

/** What this process has seen of one tenant's keyring: an older or another one is not taken for news. */
export interface KeyringHistory {
  /** Whether a keyring or a shred marker was seen. */
  readonly started: boolean;
  shredded(): void;
  /**
   * Remembers an authentic keyring as the newest.
   *
   * @throws MemoryError `integrity` for a lower epoch than seen or pinned, the same epoch in other bytes, another
   * keyring id, or any keyring after a shred marker.
   */
  admit(opened: OpenedKeyring): void;
}

/** `minimumEpoch` is what somebody outside knows to have been reached. */
export function startKeyringHistory({
  minimumEpoch = 1,
}: {
  readonly minimumEpoch?: number | undefined;
} = {}): KeyringHistory {
  let newest:
    | { readonly epoch: number; readonly keyringId: Uint8Array; readonly bytes: Uint8Array }
    | undefined;
  let shredded = false;
  return {
    get started() {
      return shredded || newest !== undefined;
    },
    shredded() {
      shredded = true;
    },
    admit({ keyring: { epoch, keyringId }, bytes }) {
      if (epoch < minimumEpoch) {
        throw new MemoryError(
          'integrity',
          'the keyring is older than the epoch that is pinned for this tenant',
        );
      }
      const follows =
        newest === undefined ||
        (hasBytesAt(keyringId, 0, newest.keyringId) &&
          (epoch > newest.epoch || (epoch === newest.epoch && sameBytes(bytes, newest.bytes))));
      if (shredded || !follows) {
        throw new MemoryError(
          'integrity',
          'the keyring is older than, or another than, the one this process has seen',
        );
      }
      newest = { epoch, keyringId, bytes };
    },
  };
}

export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && hasBytesAt(left, 0, right);
}
