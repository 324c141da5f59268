import { hasCode, MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import {
  decodeKeyring,
  encodeKeyring,
  isValidKeyList,
  type Keyring,
  keyringKey,
  keyringRefusal,
  MAX_TENANT_KEYS,
  parseKeyringHead,
} from '../format/keyring-bytes.ts';
import type { NameMode } from '../format/names.ts';
import { KEY_BYTES, type RandomBytes, wipe } from '../format/sodium.ts';
import { ID_BYTES } from '../format/wrap.ts';
import type { KeyringContext, RootKey } from './root-key.ts';

export function createKeyring({
  nameMode,
  keepsHistory = false,
  random,
  created,
}: {
  readonly nameMode: NameMode;
  readonly keepsHistory?: boolean | undefined;
  readonly random: RandomBytes;
  /** Milliseconds since the epoch. */
  readonly created: number;
}): Keyring {
  return {
    epoch: 1,
    keyringId: random(ID_BYTES),
    nameMode,
    keepsHistory,
    keptSince: keepsHistory ? Math.floor(created) : undefined,
    nameKey: random(KEY_BYTES),
    tenantKeys: [keyringKey(1, created, random(KEY_BYTES))],
  };
}

/**
 * Makes the keyring's next write with one more tenant key, which becomes the active one.
 *
 * @throws MemoryError `limit_exceeded` when it has 64 keys already: one must be retired first.
 */
export function rotateKeyring(
  keyring: Keyring,
  { random, created }: { readonly random: RandomBytes; readonly created: number },
): Keyring {
  const { tenantKeys } = keyring;
  if (tenantKeys.length >= MAX_TENANT_KEYS) {
    throw new MemoryError('limit_exceeded', 'The keyring is full: retire a tenant key first.', {
      details: { limit: 'tenant_keys', value: tenantKeys.length + 1, max: MAX_TENANT_KEYS },
    });
  }
  const version = (tenantKeys.at(-1)?.version ?? 0) + 1;
  return {
    ...keyring,
    epoch: keyring.epoch + 1,
    tenantKeys: [...tenantKeys, keyringKey(version, created, random(KEY_BYTES))],
  };
}

/** Makes the keyring's next write with the same keys; sealed again, it may be wrapped by another root key. */
export function rewrapKeyring(keyring: Keyring): Keyring {
  return { ...keyring, epoch: keyring.epoch + 1 };
}

/**
 * The time in which every writer loads a keyring after its write (milliseconds), with room for clocks that differ as
 * far as a store allows.
 */
export const FOLLOWED_MS = 3_600_000;

/** Overwrites all secrets of a keyring, except the bytes that it shares with `kept`. */
export function forget(keyring: Keyring, kept?: Keyring | undefined): void {
  const stay = new Set(kept && secretsOf(kept));
  wipe(...secretsOf(keyring).filter((bytes) => !stay.has(bytes)));
}

function secretsOf({ nameKey, tenantKeys }: Keyring): readonly Uint8Array[] {
  return [nameKey, ...tenantKeys.flatMap(({ secret, wrapKey }) => [secret, wrapKey])];
}

interface SealKeyringRequest {
  readonly keyring: Keyring;
  readonly tenant: string;
  readonly rootKey: RootKey;
  readonly random: RandomBytes;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes the keyring's object, under a fresh key that `rootKey` generates and wraps, and proves that the same root key
 * opens it: two calls to the root key. Requires `loadSodium`.
 *
 * @throws MemoryError `integrity` when the root key's answer or the keyring itself breaks the format, or the root key
 * does not open its own wrap; failures of the root key pass through.
 */
export async function sealKeyring({
  keyring,
  tenant,
  rootKey,
  random,
  signal,
}: SealKeyringRequest): Promise<Uint8Array> {
  if (!isValidKeyList(keyring.tenantKeys)) throw keyringRefusal();
  const { key, wrapped } = await rootKey.generate(contextOf(keyring.keyringId, tenant), { signal });
  try {
    if (key.length !== KEY_BYTES) throw keyringRefusal();
    const bytes = encodeKeyring(keyring, { tenant, rootId: rootKey.id, wrapped, key, random });
    await proveOpening({ bytes, tenant, rootKeys: [rootKey], signal });
    return bytes;
  } finally {
    wipe(key);
  }
}

/**
 * Proves that the root key opens the keyring: one that it can make but not open is lost with the last cache that holds
 * it.
 */
async function proveOpening(request: OpenKeyringRequest): Promise<void> {
  try {
    forget(await openKeyring(request));
  } catch (error) {
    if (!hasCode(error, 'integrity')) throw error;
    throw new MemoryError(
      'integrity',
      'The root key does not open what it has just wrapped, so no keyring was written: look at the root key.',
    );
  }
}

interface OpenKeyringRequest {
  readonly bytes: Uint8Array;
  readonly tenant: string;
  /** The configured root keys; only the one whose id the keyring names is used. */
  readonly rootKeys: readonly RootKey[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the keyring in an object, with one call to its root key. Requires `loadSodium`.
 *
 * @throws MemoryError `integrity`, the same whichever check failed; `key_unavailable` for the shred marker or a root
 * key that is not configured; `unsupported_format` for another version. Other failures of the root key pass through.
 */
export async function openKeyring({ bytes, tenant, rootKeys, signal }: OpenKeyringRequest): Promise<Keyring> {
  const head = parseKeyringHead(bytes);
  const rootKey = rootKeys.find(({ id }) => id === head.rootId);
  if (rootKey === undefined) {
    throw new MemoryError(
      'key_unavailable',
      'The root key that wraps the keyring is not configured: configure the root key this tenant was created with, or the one that wraps its keyring now.',
    );
  }
  const key = await rootKey
    .unwrap(head.wrapped, contextOf(head.keyringId, tenant), { signal })
    .catch((error: unknown) => {
      // The error has the words of every other check, whatever the root key says.
      throw hasCode(error, 'integrity') ? keyringRefusal() : error;
    });
  const keyring = decodeKeyring(bytes, { head, tenant, key });
  wipe(key);
  if (keyring === undefined) throw keyringRefusal();
  return keyring;
}

function contextOf(keyringId: Uint8Array, tenant: string): KeyringContext {
  return { app: 'sealed-memory', keyring: toBase64url(keyringId), kind: 'keyring', tenant, version: '1' };
}
