import { copyOf, hasBytesAt } from './encoding.ts';

export const HEADER_BYTES = 220;

/** Magic, format 1, suite 1, log2 of the chunk size, reserved: bytes 0–11 of every object. */
export const OBJECT_START: Uint8Array = Uint8Array.of(
  ...[0x89, 0x53, 0x4d, 0x31, 0x0d, 0x0a, 0x1a, 0x0a],
  ...[0x01, 0x01, 0x10, 0x00],
);

/** Where each field of the header begins (docs/format.md, "Object"). */
export const OFFSET = {
  contentId: 12,
  commitment: 28,
  keyId: 60,
  nonce: 76,
  wrap: 100,
  chunks: 220,
} as const;

/** What an object says about itself without a key. Nothing here is authenticated. */
interface ObjectHeader {
  /** Shared by all re-bound copies of one sealing. */
  readonly contentId: Uint8Array;
  readonly keyId: Uint8Array;
  /** The identity of this version. */
  readonly wrapNonce: Uint8Array;
}

/** The header's public fields; undefined when the bytes do not start like an object of this format. */
export function readHeader(object: Uint8Array): ObjectHeader | undefined {
  if (object.length < HEADER_BYTES || !hasBytesAt(object, 0, OBJECT_START)) return undefined;
  return {
    contentId: copyOf(object, OFFSET.contentId, OFFSET.commitment),
    keyId: copyOf(object, OFFSET.keyId, OFFSET.nonce),
    wrapNonce: copyOf(object, OFFSET.nonce, OFFSET.wrap),
  };
}
