import { MAX_TENANT_KEYS } from '../../format/keyring-bytes.ts';
import type { NameMode } from '../../format/names.ts';
import { forget } from '../../keys/keyring.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import type { RootKey } from '../../keys/root-key.ts';
import type { RequestOptions } from '../../store/port.ts';

/** One version of the tenant's key. */
export interface KeyVersion {
  readonly version: number;
  /** When it was made, milliseconds since the epoch. */
  readonly created: number;
  /** The one that seals; the others only open. */
  readonly active: boolean;
}

/** How many objects name a version of the tenant's key. */
export interface KeyVersionUse extends Pick<KeyVersion, 'version' | 'active'> {
  readonly objects: number;
}

/** `absent`: nothing was written for this tenant yet. `shredded`: its keys were destroyed for good. */
export type KeyStatus =
  | { readonly state: 'absent' | 'shredded' }
  /** None of the configured root keys is the one it is wrapped by. Nothing here is authenticated. */
  | { readonly state: 'locked'; readonly rootId: string; readonly epoch: number }
  | {
      readonly state: 'open';
      readonly epoch: number;
      readonly nameMode: NameMode;
      /** Whether the tenant keeps history. */
      readonly history: 'on' | 'off';
      /** From when on every writer keeps it, milliseconds since the epoch; absent where none does, or nothing tells. */
      readonly historySince?: number;
      /** Of the root key that wraps it. */
      readonly rootId: string;
      /** Whether that is the first of the configured ones, which wraps what is written. */
      readonly wrappedByFirst: boolean;
      /** When the keyring was written last, by the server's clock, milliseconds since the epoch. */
      readonly writtenAt: number;
      /** Oldest first. */
      readonly keys: readonly KeyVersion[];
      /** How many keys more it can hold. */
      readonly free: number;
    };

interface KeyStatusRequest extends RequestOptions {
  readonly rootKeys: readonly RootKey[];
  readonly editor: KeyringEditor;
}

/**
 * What the tenant's keyring holds, past every cache: one GET, and one call to its root key where it opens.
 *
 * @throws MemoryError `integrity`, `unsupported_format`; what the store and the root key throw.
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
