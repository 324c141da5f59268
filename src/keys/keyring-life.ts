import { MemoryError } from '../errors.ts';
import { toBase64url } from '../sealing/base64.ts';
import { createNames, type Names } from '../sealing/names.ts';
import type { SealingKeys } from '../sealing/sealing-keys.ts';
import { wipe } from '../sealing/sodium.ts';
import type { Keyring } from './keyring.ts';

/** A tenant's keys in use. Once the store that gave them is closed, every use throws `aborted`. */
export interface LoadedKeyring {
  readonly keys: SealingKeys;
  readonly names: Names;
  readonly epoch: number;
}

/** A loaded keyring and the means to end its life. */
export interface KeyringLife {
  readonly loaded: LoadedKeyring;
  end(): void;
}

/** Takes the keyring over: the secrets it was read with are overwritten, what was derived from them is kept. */
export function bringToLife(keyring: Keyring, tenant: string): KeyringLife {
  const { tenantKeys, keyringId, nameMode, nameKey, epoch } = keyring;
  const active = tenantKeys.at(-1);
  if (active === undefined) throw new MemoryError('integrity', 'the keyring holds no tenant key');
  const names = createNames({ mode: nameMode, nameKey });
  forget(keyring);
  const byId = new Map(tenantKeys.map((key) => [toBase64url(key.keyId), key]));
  let ended = false;
  const refuseEnded = (): void => {
    if (ended) throw new MemoryError('aborted', 'the keyring was closed');
  };
  const keys: SealingKeys = {
    tenant,
    keyringId,
    get active() {
      refuseEnded();
      return active;
    },
    find(keyId) {
      refuseEnded();
      return byId.get(toBase64url(keyId));
    },
  };
  return {
    loaded: { keys, names, epoch },
    end() {
      ended = true;
      names.wipe();
      wipe(...tenantKeys.map(({ wrapKey }) => wrapKey));
    },
  };
}

/** Overwrites the secrets a keyring was read with. */
export function forget({ nameKey, tenantKeys }: Keyring): void {
  wipe(nameKey, ...tenantKeys.map(({ secret }) => secret));
}
