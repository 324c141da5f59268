import type { MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { Keyring } from '../format/keyring-bytes.ts';
import { keyringRefusal } from '../format/keyring-bytes.ts';
import { createNames, type Names } from '../format/names.ts';
import { wipe } from '../format/sodium.ts';
import type { SealingKeys, TenantKey } from '../format/wrap.ts';
import { forget } from './keyring.ts';

/**
 * A tenant's keys in use. Once a later write of the keyring is loaded, objects handed out before work with the later
 * keys. Once the keys are dropped, every use throws: `aborted` after a close, otherwise the error that dropped them.
 */
export interface LoadedKeyring {
  /** The keys; `active` throws `unavailable` while the keyring is too old to seal with. */
  readonly keys: SealingKeys;
  readonly names: Names;
  readonly epoch: number;
  /** True where a version must be saved before it is replaced. */
  readonly keepsHistory: boolean;
  /** The time from which every writer does so, milliseconds since the epoch; undefined where it is not known. */
  readonly keptSince: number | undefined;
}

/** A loaded keyring and the two ways to end its use. */
export interface ActiveKeyring {
  readonly loaded: LoadedKeyring;
  /** Overwrites its keys; objects handed out then work with those of `successor`. */
  yieldTo(successor: ActiveKeyring): void;
  /** Overwrites its keys; objects handed out then throw `reason`. */
  end(reason: MemoryError): void;
}

interface ActivateOptions {
  readonly tenant: string;
  /** The active keyring of an earlier write: its names, whose key is never rotated, are taken over. */
  readonly predecessor?: ActiveKeyring | undefined;
  /** Runs before the active key is handed out; throws when sealing must stop. */
  readonly beforeSealing?: (() => void) | undefined;
}

/**
 * Takes the keyring over: overwrites the secrets with which it was read, and keeps the keys derived from them.
 *
 * @throws MemoryError `integrity` when the name key or mode differs from the predecessor's, or the keyring has no
 * tenant key.
 */
export function activate(keyring: Keyring, options: ActivateOptions): ActiveKeyring {
  const { tenant, predecessor, beforeSealing } = options;
  const { nameKey, tenantKeys, keyringId, epoch, keepsHistory, keptSince } = keyring;
  const last = tenantKeys.at(-1);
  if (last === undefined) throw keyringRefusal();
  const names = takeNames(keyring, predecessor?.loaded.names);
  wipe(nameKey, ...tenantKeys.map(({ secret }) => secret));
  const byId = new Map(tenantKeys.map((key) => [toBase64url(key.keyId), key]));
  let successor: SealingKeys | undefined;
  let ended: MemoryError | undefined;
  const active = (): TenantKey => {
    if (ended !== undefined) throw ended;
    if (successor !== undefined) return successor.active;
    beforeSealing?.();
    return last;
  };
  const keys: SealingKeys = {
    tenant,
    keyringId,
    get active() {
      return active();
    },
    find(keyId) {
      if (ended !== undefined) throw ended;
      return successor === undefined ? byId.get(toBase64url(keyId)) : successor.find(keyId);
    },
  };
  const wipeKeys = (): void => wipe(...tenantKeys.map(({ wrapKey }) => wrapKey));
  return {
    loaded: { keys, names, epoch, keepsHistory, keptSince },
    yieldTo(later) {
      successor = later.loaded.keys;
      wipeKeys();
    },
    end(reason) {
      ended = reason;
      names.wipe(reason);
      wipeKeys();
    },
  };
}

function takeNames(keyring: Keyring, earlier: Names | undefined): Names {
  const { nameMode: mode, nameKey } = keyring;
  const names = createNames({ mode, nameKey });
  if (earlier === undefined) return names;
  const isSame = earlier.mode === mode && earlier.keyedHash('names', '') === names.keyedHash('names', '');
  names.wipe();
  if (isSame) return earlier;
  forget(keyring);
  throw keyringRefusal();
}
