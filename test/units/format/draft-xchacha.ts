import { createCipheriv, createDecipheriv } from 'node:crypto';

/** The first words of every ChaCha20 state: "expand 32-byte k". */
const CONSTANTS: readonly number[] = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];
const COLUMNS = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
] as const;
const DIAGONALS = [
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
] as const;
const TAG_BYTES = 16;

export interface DraftParameters {
  readonly key: Uint8Array;
  /** 24 bytes. */
  readonly nonce: Uint8Array;
  readonly additional: Uint8Array;
}

/**
 * XChaCha20-Poly1305 laid out from draft-irtf-cfrg-xchacha-03 over node:crypto's ChaCha20-Poly1305: a witness beside
 * libsodium, with which it shares no code.
 */
export function draftSeal(message: Uint8Array, { key, nonce, additional }: DraftParameters): Uint8Array {
  const cipher = createCipheriv('chacha20-poly1305', hchacha20(key, nonce), innerNonce(nonce), {
    authTagLength: TAG_BYTES,
  });
  cipher.setAAD(additional, { plaintextLength: message.length });
  return Uint8Array.from(
    Buffer.concat([cipher.update(message), cipher.final(), cipher.getAuthTag()] as const),
  );
}

/** The message of an authentic box, otherwise undefined. */
export function draftOpen(
  box: Uint8Array,
  { key, nonce, additional }: DraftParameters,
): Uint8Array | undefined {
  if (box.length < TAG_BYTES || nonce.length !== 24) return undefined;
  const decipher = createDecipheriv('chacha20-poly1305', hchacha20(key, nonce), innerNonce(nonce), {
    authTagLength: TAG_BYTES,
  });
  const ciphertext = box.subarray(0, box.length - TAG_BYTES);
  decipher.setAAD(additional, { plaintextLength: ciphertext.length });
  decipher.setAuthTag(box.subarray(ciphertext.length));
  try {
    return Uint8Array.from(Buffer.concat([decipher.update(ciphertext), decipher.final()]));
  } catch {
    return undefined;
  }
}

/** Section 2.2 of the draft: the first 16 bytes of `nonce` and the key make a subkey. */
export function hchacha20(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const words = [...CONSTANTS, ...littleEndian(key, 8), ...littleEndian(nonce, 4)];
  const state = Uint32Array.from(words);
  for (let round = 0; round < 10; round++) {
    for (const quarter of [...COLUMNS, ...DIAGONALS]) quarterRound(state, quarter);
  }
  const subkey = new DataView(new ArrayBuffer(32));
  const kept = [...state.subarray(0, 4), ...state.subarray(12)];
  for (const [index, word] of kept.entries()) subkey.setUint32(index * 4, word, true);
  return new Uint8Array(subkey.buffer);
}

/** Section 2.1 of RFC 8439. */
function quarterRound(state: Uint32Array, [a, b, c, d]: readonly [number, number, number, number]): void {
  const mix = (sum: number, other: number, turned: number, bits: number): void => {
    state[sum] = (state[sum] ?? 0) + (state[other] ?? 0);
    const word = (state[turned] ?? 0) ^ (state[sum] ?? 0);
    state[turned] = (word << bits) | (word >>> (32 - bits));
  };
  mix(a, b, d, 16);
  mix(c, d, b, 12);
  mix(a, b, d, 8);
  mix(c, d, b, 7);
}

function innerNonce(nonce: Uint8Array): Uint8Array {
  return Uint8Array.of(0, 0, 0, 0, ...nonce.subarray(16));
}

function littleEndian(bytes: Uint8Array, words: number): readonly number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: words }, (_, index) => view.getUint32(index * 4, true));
}
