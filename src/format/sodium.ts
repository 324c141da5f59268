import { encodeText } from '../language/text.ts';
import { createScratch, type Scratch, type SodiumScratch } from './sodium-scratch.ts';

export const KEY_BYTES = 32;
export const NONCE_BYTES = 24;
export const TAG_BYTES = 16;
const KDF_CONTEXT_BYTES = 8;
const HCHACHA_INPUT_BYTES = 16;
/** The state of libsodium's stream begins with its key. */
const STREAM_STATE_BYTES = 52;
/** The scratch's bytes: enough for the largest secret box of the format, which holds one chunk, its tag aside. */
const SCRATCH_BYTES = 65_536 + 32_768;

let loading: Promise<void> | undefined;
let scratch: Scratch | undefined;

/** Makes the functions of this module usable. Idempotent; rejects when the installed package lacks one of them. */
export function loadSodium(): Promise<void> {
  loading ??= createScratch(SCRATCH_BYTES).then((created) => {
    scratch = created;
  });
  return loading;
}

/** Computes H(n, k, m) of the format: BLAKE2b of `message` under `key`, `length` bytes. */
export function hash(length: number, key: Uint8Array, message: Uint8Array): Uint8Array {
  return hashTo('copy', { length, key, message });
}

/** Computes the digest as `hash` does, where it is a key. */
export function hashToKey(length: number, key: Uint8Array, message: Uint8Array): Uint8Array {
  return hashTo('copyKey', { length, key, message });
}

function hashTo(
  copy: 'copy' | 'copyKey',
  input: { readonly length: number; readonly key: Uint8Array; readonly message: Uint8Array },
): Uint8Array {
  const { length, key, message } = input;
  return within(length + key.length + message.length, (room) => {
    const [digest, secret, text] = [room.take(length), room.put(key), room.put(message)];
    const { _crypto_generichash: digestOf } = room.sodium;
    // A length of 64 bits is handed over in two halves, in this call and in all below.
    const status = digestOf(digest, length, text, message.length, 0, secret, key.length);
    return status === 0 ? room[copy](digest, length) : refuse('BLAKE2b');
  });
}

/** Computes kdf(k, i, c) of the format; `context` is 8 ASCII characters. */
export function deriveKey(key: Uint8Array, index: number, context: string): Uint8Array {
  const label = encodeText(context);
  if (label.length !== KDF_CONTEXT_BYTES || key.length !== KEY_BYTES) refuse('The derivation of a key');
  return within(2 * KEY_BYTES + label.length, (room) => {
    const [derived, secret, name] = [room.take(KEY_BYTES), room.put(key), room.put(label)];
    const status = room.sodium._crypto_kdf_derive_from_key(derived, KEY_BYTES, index, 0, name, secret);
    return status === 0 ? room.copyKey(derived, KEY_BYTES) : refuse('The derivation of a key');
  });
}

interface BoxParameters {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  readonly additional: Uint8Array;
}

/** Computes AE(k, N, A, m) of the format: ciphertext, then the tag. */
export function sealBox(message: Uint8Array, { key, nonce, additional }: BoxParameters): Uint8Array {
  if (!areSizes(key, nonce)) refuse('XChaCha20-Poly1305');
  const length = message.length + TAG_BYTES;
  return within(length + key.length + nonce.length + additional.length, (room) => {
    const [text, secret, start, bound] = [
      room.take(length),
      room.put(key),
      room.put(nonce),
      room.put(additional),
    ];
    room.write(text, message);
    const { _crypto_aead_xchacha20poly1305_ietf_encrypt: encrypt } = room.sodium;
    // The call works in place: the ciphertext overwrites the message.
    const status = encrypt(text, 0, text, message.length, 0, bound, additional.length, 0, 0, start, secret);
    return status === 0 ? room.copy(text, length) : refuse('XChaCha20-Poly1305');
  });
}

/** Opens an authentic box into its message, otherwise undefined. */
export function openBox(box: Uint8Array, { key, nonce, additional }: BoxParameters): Uint8Array | undefined {
  if (box.length < TAG_BYTES || !areSizes(key, nonce)) return undefined;
  return within(box.length + key.length + nonce.length + additional.length, (room) => {
    const [text, secret, start, bound] = [
      room.put(box),
      room.put(key),
      room.put(nonce),
      room.put(additional),
    ];
    const { _crypto_aead_xchacha20poly1305_ietf_decrypt: decrypt } = room.sodium;
    const status = decrypt(text, 0, 0, text, box.length, 0, bound, additional.length, 0, start, secret);
    return status === 0 ? room.copyKey(text, box.length - TAG_BYTES) : undefined;
  });
}

/**
 * Computes HChaCha20 of `key` and 16 bytes (draft-irtf-cfrg-xchacha-03, section 2.2): under a nonce that begins with
 * them, XChaCha20-Poly1305 is ChaCha20-Poly1305 with this key. It comes from the state of libsodium's stream, because
 * this build has no function for it alone.
 */
export function hchacha20(key: Uint8Array, input: Uint8Array): Uint8Array {
  if (key.length !== KEY_BYTES || input.length !== HCHACHA_INPUT_BYTES) refuse('HChaCha20');
  return within(STREAM_STATE_BYTES + NONCE_BYTES + KEY_BYTES, (room) => {
    const [state, start, secret] = [room.take(STREAM_STATE_BYTES), room.take(NONCE_BYTES), room.put(key)];
    room.write(start, input);
    const status = room.sodium._crypto_secretstream_xchacha20poly1305_init_pull(state, start, secret);
    return status === 0 ? room.copyKey(state, KEY_BYTES) : refuse('HChaCha20');
  });
}

/** Compares in a time that depends on the lengths alone. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= (left[index] ?? 0) ^ (right[index] ?? 0);
  return difference === 0;
}

/** Overwrites key material that is no longer needed. */
export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0);
}

function within<T>(bytes: number, work: (room: SodiumScratch) => T): T {
  if (scratch === undefined) throw new Error('libsodium is not loaded yet');
  return scratch.within(bytes, work);
}

function areSizes(key: Uint8Array, nonce: Uint8Array): boolean {
  return key.length === KEY_BYTES && nonce.length === NONCE_BYTES;
}

function refuse(what: string): never {
  throw new Error(`${what} does not take input of that size.`);
}

/**
 * Draws exactly `length` bytes from a cryptographically secure source, never the same ones twice. The caller may
 * overwrite the array.
 */
export type RandomBytes = (length: number) => Uint8Array;
