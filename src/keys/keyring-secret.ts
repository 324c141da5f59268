import { concat, copyOfKey, readU16, readU32, readU64, u16, u32, u64 } from '../format/encoding.ts';
import type { NameMode } from '../format/names.ts';
import { equalBytes, KEY_BYTES } from '../format/sodium.ts';
import { deriveTenantKey, type TenantKey } from '../format/wrap.ts';

/** One version of the tenant's key with the 32 bytes it is made from. */
export interface KeyringKey extends TenantKey {
  readonly secret: Uint8Array;
}

/** What the encrypted part of a keyring holds. */
export interface KeyringSecret {
  readonly nameMode: NameMode;
  /** Whether the tenant keeps the versions of its files; for every writer the same. */
  readonly keepsHistory: boolean;
  /** 32 bytes, never rotated. */
  readonly nameKey: Uint8Array;
  /** 1–64, versions ascending; the last one is active, the others only open. */
  readonly tenantKeys: readonly KeyringKey[];
}

export const MAX_TENANT_KEYS = 64;

/** The one flag that is defined. */
const KEEPS_HISTORY = 0x01;
const MAX_VERSION = 2 ** 32 - 1;
const MODES: readonly NameMode[] = ['plain', 'encrypted'];
const NAME_KEY = 4;
const KEYS = NAME_KEY + KEY_BYTES;
const ENTRY_BYTES = 12 + KEY_BYTES;

/** Bytes of the secret part that holds one key, the least there can be. */
export const SMALLEST_SECRET_BYTES: number = KEYS + ENTRY_BYTES;

/** The caller wipes the result. */
export function encodeKeyringSecret(secret: KeyringSecret): Uint8Array {
  const { nameMode, keepsHistory, nameKey, tenantKeys } = secret;
  return concat(
    Uint8Array.of(MODES.indexOf(nameMode), keepsHistory ? KEEPS_HISTORY : 0),
    u16(tenantKeys.length),
    nameKey,
    ...tenantKeys.flatMap(({ version, created, secret }) => [u32(version), u64(created), secret]),
  );
}

/** Undefined unless the bytes are exactly what the format allows. */
export function decodeKeyringSecret(bytes: Uint8Array): KeyringSecret | undefined {
  if (bytes.length < SMALLEST_SECRET_BYTES) return undefined;
  const nameMode = MODES[bytes[0] ?? MODES.length];
  const flags = bytes[1] ?? 0;
  const count = readU16(bytes, 2);
  if (
    nameMode === undefined ||
    (flags | KEEPS_HISTORY) !== KEEPS_HISTORY ||
    bytes.length !== KEYS + count * ENTRY_BYTES
  )
    return undefined;
  const tenantKeys: KeyringKey[] = [];
  for (let offset = KEYS; offset < bytes.length; offset += ENTRY_BYTES) {
    const created = readU64(bytes, offset + 4, Number.MAX_SAFE_INTEGER);
    if (created === undefined) return undefined;
    tenantKeys.push(
      keyringKey(readU32(bytes, offset), created, copyOfKey(bytes, offset + 12, offset + ENTRY_BYTES)),
    );
  }
  return isValidKeyList(tenantKeys)
    ? {
        nameMode,
        keepsHistory: flags === KEEPS_HISTORY,
        nameKey: copyOfKey(bytes, NAME_KEY, KEYS),
        tenantKeys,
      }
    : undefined;
}

/** Keeps `secret`, 32 bytes, as it is. */
export function keyringKey(version: number, created: number, secret: Uint8Array): KeyringKey {
  return { version, created, secret, ...deriveTenantKey(secret) };
}

/** Whether there are 1–64 keys, versions from 1 strictly ascending and key ids distinct. */
export function isValidKeyList(keys: readonly KeyringKey[]): boolean {
  return (
    keys.length >= 1 &&
    keys.length <= MAX_TENANT_KEYS &&
    keys.every(({ version }, index) => version > (keys[index - 1]?.version ?? 0) && version <= MAX_VERSION) &&
    keys.every(
      ({ keyId }, index) => !keys.slice(0, index).some((earlier) => equalBytes(earlier.keyId, keyId)),
    )
  );
}
