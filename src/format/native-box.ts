import { createCipheriv, createDecipheriv } from 'node:crypto';
import { equalBytes, hchacha20, KEY_BYTES, NONCE_BYTES, sealBox, TAG_BYTES, wipe } from './sodium.ts';

const ALGORITHM = 'chacha20-poly1305';
const OPTIONS = { authTagLength: TAG_BYTES };
/** The number of a nonce's bytes that go into the key of the inner box. */
export const NONCE_START_BYTES = 16;
const INNER_NONCE_ZEROS = 4;

/** `key` is `hchacha20` of the box's own key and the first 16 bytes of `nonce`. */
interface InnerParameters {
  readonly key: Uint8Array;
  /** 24 bytes. */
  readonly nonce: Uint8Array;
}

let faithful: boolean | undefined;

/** Tells whether the cipher of Node makes the boxes of libsodium: some builds of Node lack it, or forbid it. */
export function hasNativeBoxes(): boolean {
  faithful ??= answersAsSodium();
  return faithful;
}

/** Writes AE(k, N, nothing, m) of the format, as `sealBox` does: to `box`, which is 16 bytes longer than `message`. */
export function sealNativeBox(message: Uint8Array, box: Uint8Array, { key, nonce }: InnerParameters): void {
  const cipher = createCipheriv(ALGORITHM, key, innerNonce(nonce), OPTIONS);
  box.set(cipher.update(message));
  // The call frees the key with the cipher's state, which OpenSSL overwrites.
  cipher.final();
  box.set(cipher.getAuthTag(), message.length);
}

/** Writes the message of an authentic box to `message`, which is 16 bytes shorter; answers false for any other box. */
export function openNativeBox(
  box: Uint8Array,
  message: Uint8Array,
  { key, nonce }: InnerParameters,
): boolean {
  const decipher = createDecipheriv(ALGORITHM, key, innerNonce(nonce), OPTIONS);
  decipher.setAuthTag(box.subarray(message.length));
  const text = decipher.update(box.subarray(0, message.length));
  try {
    decipher.final();
    message.set(text);
    return true;
  } catch {
    return false;
  } finally {
    text.fill(0);
  }
}

function innerNonce(nonce: Uint8Array): Uint8Array {
  const inner = new Uint8Array(INNER_NONCE_ZEROS + NONCE_BYTES - NONCE_START_BYTES);
  inner.set(nonce.subarray(NONCE_START_BYTES), INNER_NONCE_ZEROS);
  return inner;
}

/** Asks both ciphers for one box under a key of zeros. */
function answersAsSodium(): boolean {
  const [key, nonce] = [new Uint8Array(KEY_BYTES), new Uint8Array(NONCE_BYTES)];
  const message = new Uint8Array(NONCE_BYTES);
  const box = new Uint8Array(message.length + TAG_BYTES);
  try {
    const inner = hchacha20(key, nonce.subarray(0, NONCE_START_BYTES));
    sealNativeBox(message, box, { key: inner, nonce });
    const opens = openNativeBox(box, message, { key: inner, nonce });
    wipe(inner);
    return opens && equalBytes(box, sealBox(message, { key, nonce, additional: new Uint8Array(0) }));
  } catch {
    return false;
  }
}
