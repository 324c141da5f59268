import { MAX_TENANT_KEYS } from '../../format/keyring-bytes.ts';
import type { NameMode } from '../../format/names.ts';
import { forget } from '../../keys/keyring.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import type { RootKey } from '../../keys/root-key.ts';
import type { RequestOptions } from '../../store/port.ts';

/** One version of the tenant's key. */
export interface KeyVersion {
  readonly version: number;
  /** The time at which it was made, milliseconds since the epoch. */
  readonly created: number;
  /** True for the key that seals; the others only open. */
  readonly active: boolean;
}

/** The number of objects that name a version of the tenant's key. */
export interface KeyVersionUse extends Pick<KeyVersion, 'version' | 'active'> {
  readonly objects: number;
}

/**
 * The state of a keyring. `absent`: nothing was written for this tenant yet. `shredded`: its keys were destroyed for
 * good.
 */
export type KeyStatus =
  | { readonly state: 'absent' | 'shredded' }
  /** Another root key than the configured ones wraps it. These members are not authenticated. */
  | { readonly state: 'locked'; readonly rootId: string; readonly epoch: number }
  | {
      readonly state: 'open';
      readonly epoch: number;
      readonly nameMode: NameMode;
      /** `on` where the tenant keeps history. */
      readonly history: 'on' | 'off';
      /**
       * The time from which every writer keeps history, milliseconds since the epoch; absent where history is off, or
       * the time is unknown.
       */
      readonly historySince?: number;
      /** The id of the root key that wraps it. */
      readonly rootId: string;
      /** True where that is the first of the configured ones, which wraps every keyring that is written. */
      readonly wrappedByFirst: boolean;
      /** The time at which the keyring was written last, by the server's clock, milliseconds since the epoch. */
      readonly writtenAt: number;
      /** The keys, oldest first. */
      readonly keys: readonly KeyVersion[];
      /** The number of further keys that it can hold. */
      readonly free: number;
    };

interface KeyStatusRequest extends RequestOptions {
  readonly rootKeys: readonly RootKey[];
  readonly editor: KeyringEditor;
}

/**
 * Reads the tenant's keyring, past every cache: one GET, and one call to its root key where it opens.
 *
 * @throws MemoryError `integrity`, `unsupported_format`; the errors of the store and the root key.
 */
export async function readKeyStatus({ rootKeys, editor, signal }: KeyStatusRequest): Promise<KeyStatus> {
  const found = await editor.inspect({ signal });
  if (found.state !== 'open') return found;
  const { keyring, rootId, writtenAt } = found.record;
  const { tenantKeys, nameMode, epoch, keepsHistory, keptSince } = keyring;
  forget(keyring);
  return {
    state: 'open',
    epoch,
    nameMode,
    history: keepsHistory ? 'on' : 'off',
    ...(keptSince !== undefined && { historySince: keptSince }),
    rootId,
    wrappedByFirst: rootId === rootKeys[0]?.id,
    writtenAt,
    keys: tenantKeys.map((key) => ({
      version: key.version,
      created: key.created,
      active: key === tenantKeys.at(-1),
    })),
    free: MAX_TENANT_KEYS - tenantKeys.length,
  };
}
