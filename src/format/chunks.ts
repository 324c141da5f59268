import { concat, domain, NO_BYTES } from './encoding.ts';
import { HEADER_BYTES, OFFSET } from './header.ts';
import { hasNativeBoxes, NONCE_START_BYTES, openNativeBox, sealNativeBox } from './native-box.ts';
import { CHUNK_BYTES, chunkCount } from './sizes.ts';
import { hashToKey, hchacha20, KEY_BYTES, NONCE_BYTES, openBox, sealBox, TAG_BYTES, wipe } from './sodium.ts';

const BODY = domain('body');
const NUMBER_OFFSET = 15;
/** The length from which Node's cipher is faster than libsodium's, its creation included. */
const LONG_BYTES = 32_768;

interface BodyKeys {
  /** The key that encrypts the chunks. */
  readonly body: Uint8Array;
  /** The commitment in the header, which ties the data key to this one object. */
  readonly commitment: Uint8Array;
}

/**
 * Derives the keys of a body. `start` begins with bytes 0–11 of the object: format, suite and chunk size. The version
 * id enters no key.
 */
export function deriveBodyKeys(dataKey: Uint8Array, keyringId: Uint8Array, start: Uint8Array): BodyKeys {
  const both = hashToKey(2 * KEY_BYTES, dataKey, concat(BODY, keyringId, start.subarray(0, OFFSET.id)));
  return { body: both.subarray(0, KEY_BYTES), commitment: both.subarray(KEY_BYTES) };
}

/** Writes the chunks of `content` after the header of `object`, which has the sealed size of that content. */
export function sealChunks(content: Uint8Array, bodyKey: Uint8Array, object: Uint8Array): void {
  const innerKey = innerKeyFor(content.length, bodyKey);
  for (const { plain, box, nonce } of chunksOf(content, object)) {
    if (innerKey !== undefined && isLong(plain)) sealNativeBox(plain, box, { key: innerKey, nonce });
    else box.set(sealBox(plain, { key: bodyKey, nonce, additional: NO_BYTES }));
  }
  wipe(innerKey ?? NO_BYTES);
}

/**
 * Opens the content of `length` bytes in `object`, which has the sealed size of that length; undefined unless every
 * chunk is authentic, in its place and the last one last.
 */
export function openChunks(object: Uint8Array, bodyKey: Uint8Array, length: number): Uint8Array | undefined {
  const content = new Uint8Array(length);
  const innerKey = innerKeyFor(length, bodyKey);
  let isAuthentic = true;
  for (const { plain, box, nonce } of chunksOf(content, object)) {
    if (innerKey !== undefined && isLong(plain)) {
      isAuthentic = openNativeBox(box, plain, { key: innerKey, nonce });
    } else {
      const opened = openBox(box, { key: bodyKey, nonce, additional: NO_BYTES });
      isAuthentic = opened !== undefined;
      plain.set(opened ?? NO_BYTES);
    }
    if (!isAuthentic) break;
  }
  wipe(innerKey ?? NO_BYTES);
  return isAuthentic ? content : undefined;
}

interface Chunk {
  /** Its place in the content. */
  readonly plain: Uint8Array;
  /** Its place in the object. */
  readonly box: Uint8Array;
  readonly nonce: Uint8Array;
}

function* chunksOf(content: Uint8Array, object: Uint8Array): Generator<Chunk, void> {
  const count = chunkCount(content.length);
  const step = CHUNK_BYTES + TAG_BYTES;
  for (let index = 0; index < count; index++) {
    const begin = HEADER_BYTES + index * step;
    yield {
      plain: content.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
      box: object.subarray(begin, begin + step),
      nonce: chunkNonce(index, count),
    };
  }
}

/**
 * Derives the key of all native boxes of one content: its nonces begin with the same 16 zeros, because the number of a
 * chunk never needs its highest byte. Undefined when every chunk is short, or Node lacks the cipher.
 */
function innerKeyFor(length: number, bodyKey: Uint8Array): Uint8Array | undefined {
  if (length < LONG_BYTES) return undefined;
  if (!hasNativeBoxes()) return undefined;
  return hchacha20(bodyKey, new Uint8Array(NONCE_START_BYTES));
}

function isLong(plain: Uint8Array): boolean {
  return plain.length >= LONG_BYTES;
}

function chunkNonce(index: number, count: number): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  new DataView(nonce.buffer).setBigUint64(NUMBER_OFFSET, BigInt(index));
  nonce[NONCE_BYTES - 1] = index === count - 1 ? 1 : 0;
  return nonce;
}
