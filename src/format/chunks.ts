import { concat, domain, NO_BYTES } from './encoding.ts';
import { HEADER_BYTES, OFFSET } from './header.ts';
import { CHUNK_BYTES, chunkCount } from './sizes.ts';
import { hashToKey, KEY_BYTES, NONCE_BYTES, openBox, sealBox, TAG_BYTES } from './sodium.ts';

const BODY = domain('body');
const NUMBER_OFFSET = 15;

interface BodyKeys {
  /** Encrypts the chunks. */
  readonly body: Uint8Array;
  /** Stands in the header: what ties the data key to this one object. */
  readonly commitment: Uint8Array;
}

/** `start` is bytes 0–27 of the object: version and contentId. */
export function deriveBodyKeys(dataKey: Uint8Array, keyringId: Uint8Array, start: Uint8Array): BodyKeys {
  const both = hashToKey(
    2 * KEY_BYTES,
    dataKey,
    concat(BODY, keyringId, start.subarray(0, OFFSET.commitment)),
  );
  return { body: both.subarray(0, KEY_BYTES), commitment: both.subarray(KEY_BYTES) };
}

/** Writes the chunks of `content` behind the header of `object`, which has the sealed size of that content. */
export function sealChunks(content: Uint8Array, bodyKey: Uint8Array, object: Uint8Array): void {
  const count = chunkCount(content.length);
  let offset = HEADER_BYTES;
  for (let index = 0; index < count; index++) {
    const plain = content.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
    const box = sealBox(plain, { key: bodyKey, nonce: chunkNonce(index, count), additional: NO_BYTES });
    object.set(box, offset);
    offset += box.length;
  }
}

/**
 * The content of `length` bytes in `object`, which has the sealed size of that length; undefined unless every chunk is
 * authentic, in its place and the last one last.
 */
export function openChunks(object: Uint8Array, bodyKey: Uint8Array, length: number): Uint8Array | undefined {
  const content = new Uint8Array(length);
  const count = chunkCount(length);
  const step = CHUNK_BYTES + TAG_BYTES;
  for (let index = 0; index < count; index++) {
    const begin = HEADER_BYTES + index * step;
    const box = object.subarray(begin, begin + step);
    const plain = openBox(box, { key: bodyKey, nonce: chunkNonce(index, count), additional: NO_BYTES });
    if (plain === undefined) return undefined;
    content.set(plain, index * CHUNK_BYTES);
  }
  return content;
}

function chunkNonce(index: number, count: number): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  new DataView(nonce.buffer).setBigUint64(NUMBER_OFFSET, BigInt(index));
  nonce[NONCE_BYTES - 1] = index === count - 1 ? 1 : 0;
  return nonce;
}
