import { copyOf, hasBytesAt } from './encoding.ts';

export const HEADER_BYTES = 224;

/** Magic, format 1, suite 1, log2 of the chunk size, reserved: bytes 0–11 of every object. */
export const OBJECT_START: Uint8Array = Uint8Array.of(
  ...[0x89, 0x53, 0x4d, 0x31, 0x0d, 0x0a, 0x1a, 0x0a],
  ...[0x01, 0x01, 0x10, 0x00],
);

/** The offset at which each field of the header begins (docs/format.md, "Object"). */
export const OFFSET = {
  id: 12,
  commitment: 28,
  keyId: 60,
  nonce: 76,
  wrap: 100,
  chunks: 224,
} as const;

/** The fields of an object that need no key. They are not authenticated. */
interface ObjectHeader {
  /** The id of the version, which all its sealings and bindings share. */
  readonly id: Uint8Array;
  readonly keyId: Uint8Array;
  /** The name of this one binding. */
  readonly wrapNonce: Uint8Array;
}

/** Reads the header's public fields; undefined when the bytes do not start like an object of this format. */
export function readHeader(object: Uint8Array): ObjectHeader | undefined {
  if (object.length < HEADER_BYTES || !hasBytesAt(object, 0, OBJECT_START)) return undefined;
  return {
    id: copyOf(object, OFFSET.id, OFFSET.commitment),
    keyId: copyOf(object, OFFSET.keyId, OFFSET.nonce),
    wrapNonce: copyOf(object, OFFSET.nonce, OFFSET.wrap),
  };
}

/** Copies the name of one sealing of a version, 32 bytes; every re-binding keeps it. `object` holds a whole header. */
export function commitmentOf(object: Uint8Array): Uint8Array {
  return copyOf(object, OFFSET.commitment, OFFSET.keyId);
}
