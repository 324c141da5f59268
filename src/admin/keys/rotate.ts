import { MemoryError } from '../../errors.ts';
import { equalBytes, type RandomBytes } from '../../format/sodium.ts';
import { forget, rewrapKeyring, rotateKeyring } from '../../keys/keyring.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import type { RootKey } from '../../keys/root-key.ts';
import type { RequestOptions } from '../../store/port.ts';

export interface RotateOptions extends RequestOptions {
  /** True to rotate even when a rotation made the active key less than an hour ago. */
  readonly force?: boolean | undefined;
  /** The version that must be active; otherwise the rotation changes nothing. */
  readonly ifActive?: number | undefined;
}

export interface RotateReport {
  /**
   * True where this run made a key. False: the active key is not the expected one, or so young that a run before this
   * one made it.
   */
  readonly rotated: boolean;
  /** The version of the active key now. */
  readonly version: number;
  /** The time at which it was made, milliseconds since the epoch. */
  readonly created: number;
  readonly epoch: number;
  /** The number of tenant keys in the keyring. */
  readonly held: number;
}

interface KeyringEditing {
  readonly editor: KeyringEditor;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly random: RandomBytes;
}

const FIRST_VERSION = 1;
const RECENT_MS = 3_600_000;

/**
 * Gives the tenant a new key, which seals from now on; the others still open. A process with the keyring in its cache
 * seals with the old one for as long as its time to live. A run that was killed may be run again.
 *
 * @throws MemoryError `key_unavailable` without a keyring; `limit_exceeded` when it holds 64 keys; `outcome_unknown`;
 * the errors of the store and the root key.
 */
export async function rotateKey(
  { editor, clock, random }: KeyringEditing,
  { force = false, ifActive, signal }: RotateOptions = {},
): Promise<RotateReport> {
  const made: Uint8Array[] = [];
  const { record } = await editor.change(
    ({ keyring }) => {
      const active = keyring.tenantKeys.at(-1);
      const isOurs = keyring.tenantKeys.some(({ keyId }) => made.some((own) => equalBytes(own, keyId)));
      const { version = FIRST_VERSION, created = 0 } = active ?? {};
      const isRecent = version > FIRST_VERSION && clock() - created < RECENT_MS;
      const isOther = ifActive !== undefined && ifActive !== version;
      if (isOurs || isOther || (isRecent && !force)) return undefined;
      const next = rotateKeyring(keyring, { random, created: clock() });
      made.push(...next.tenantKeys.slice(-1).map(({ keyId }) => keyId));
      return next;
    },
    { signal },
  );
  const { tenantKeys, epoch } = record.keyring;
  forget(record.keyring);
  const active = tenantKeys.at(-1);
  return {
    rotated: tenantKeys.some(({ keyId }) => made.some((own) => equalBytes(own, keyId))),
    version: active?.version ?? FIRST_VERSION,
    created: active?.created ?? 0,
    epoch,
    held: tenantKeys.length,
  };
}

export interface RewrapOptions extends RequestOptions {
  /** True to wrap the keyring again when the first configured root key wraps it already. */
  readonly force?: boolean | undefined;
}

export interface RewrapReport {
  /** True where this run rewrapped the keyring. False: the first configured root key wrapped it already. */
  readonly rewrapped: boolean;
  /** The id of the root key that wraps the keyring now. */
  readonly rootId: string;
  readonly epoch: number;
}

/**
 * Makes the first of the configured root keys wrap the keyring; the tenant's keys stay. Every process that works on the
 * tenant must have that root key configured before. A run that was killed may be run again.
 *
 * @throws MemoryError `key_unavailable` without a keyring, or when the root key that wraps it now is not configured;
 * `outcome_unknown`; the errors of the store and the root keys.
 */
export async function rewrapRoot(
  { editor, rootKeys }: { readonly editor: KeyringEditor; readonly rootKeys: readonly RootKey[] },
  { force = false, signal }: RewrapOptions = {},
): Promise<RewrapReport> {
  const first = rootKeys[0];
  if (first === undefined) throw new MemoryError('misconfigured', 'no root key is configured');
  let tried = false;
  const { record, changed } = await editor.change(
    ({ keyring, rootId }) => {
      // After a lost answer, one look is enough at this process's own write, or at a later one by the same root.
      if (rootId === first.id && (!force || tried)) return undefined;
      tried = true;
      return rewrapKeyring(keyring);
    },
    { signal },
  );
  forget(record.keyring);
  const { rootId, keyring } = record;
  return { rewrapped: changed || tried, rootId, epoch: keyring.epoch };
}
