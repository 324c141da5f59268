import libsodium from 'libsodium-wrappers';

/**
 * The functions used here, typed by hand: the package's own declarations promise functions that are missing at run
 * time and admit strings where only bytes may go.
 */
interface Sodium {
  readonly ready: Promise<void>;
  crypto_generichash(length: number, message: Uint8Array, key: Uint8Array): Uint8Array;
  crypto_kdf_derive_from_key(length: number, index: number, context: string, key: Uint8Array): Uint8Array;
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    message: Uint8Array,
    additional: Uint8Array,
    secretNonce: null,
    nonce: Uint8Array,
    key: Uint8Array,
  ): Uint8Array;
  crypto_aead_xchacha20poly1305_ietf_decrypt(
    secretNonce: null,
    box: Uint8Array,
    additional: Uint8Array,
    nonce: Uint8Array,
    key: Uint8Array,
  ): Uint8Array;
  memcmp(left: Uint8Array, right: Uint8Array): boolean;
}

const sodium: Sodium = libsodium;
const USED: readonly (keyof Sodium)[] = [
  'crypto_generichash',
  'crypto_kdf_derive_from_key',
  'crypto_aead_xchacha20poly1305_ietf_encrypt',
  'crypto_aead_xchacha20poly1305_ietf_decrypt',
  'memcmp',
];

export const KEY_BYTES = 32;
export const NONCE_BYTES = 24;
export const TAG_BYTES = 16;

let loading: Promise<void> | undefined;

/** Makes the functions of this module usable. Idempotent; rejects when the installed package lacks one of them. */
export function loadSodium(): Promise<void> {
  loading ??= sodium.ready.then(() => {
    const missing = USED.filter((name) => typeof sodium[name] !== 'function');
    if (missing.length > 0) throw new Error(`libsodium-wrappers lacks ${missing.join(', ')}`);
  });
  return loading;
}

/** H(n, k, m) of the format: BLAKE2b of `message` under `key`, `length` bytes. */
export function hash(length: number, key: Uint8Array, message: Uint8Array): Uint8Array {
  return sodium.crypto_generichash(length, message, key);
}

/** kdf(k, i, c) of the format; `context` is 8 ASCII characters. */
export function deriveKey(key: Uint8Array, index: number, context: string): Uint8Array {
  return sodium.crypto_kdf_derive_from_key(KEY_BYTES, index, context, key);
}

export interface BoxParameters {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  readonly additional: Uint8Array;
}

/** AE(k, N, A, m) of the format: ciphertext, then the tag. */
export function sealBox(message: Uint8Array, { key, nonce, additional }: BoxParameters): Uint8Array {
  return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(message, additional, null, nonce, key);
}

/** The message of an authentic box, otherwise undefined. */
export function openBox(box: Uint8Array, { key, nonce, additional }: BoxParameters): Uint8Array | undefined {
  if (box.length < TAG_BYTES) return undefined;
  try {
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, box, additional, nonce, key);
  } catch {
    return undefined;
  }
}

/** Compares in a time that depends on the lengths alone. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && sodium.memcmp(left, right);
}

/** Overwrites key material that is no longer needed. */
export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0);
}
