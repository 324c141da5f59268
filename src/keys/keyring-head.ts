import { MemoryError } from '../errors.ts';
import { concat, copyOf, hasBytesAt, lengthPrefixed, readU32, u32 } from '../format/encoding.ts';
import { NONCE_BYTES, TAG_BYTES } from '../format/sodium.ts';
import { encodeText } from '../language/text.ts';
import { SMALLEST_SECRET_BYTES } from './keyring-secret.ts';

export const MAX_KEYRING_BYTES = 16_384;

const MAGIC: Uint8Array = Uint8Array.of(0x89, 0x53, 0x4d, 0x4b, 0x0d, 0x0a, 0x1a, 0x0a);
const VERSION: Uint8Array = Uint8Array.of(1, 1, 0, 0);
const START = concat(MAGIC, VERSION);

/** The whole object of a destroyed tenant; it stops the keyring from being created again. */
export const SHRED_MARKER: Uint8Array = concat(MAGIC, new Uint8Array(4));

const EPOCH = 12;
const KEYRING_ID = 16;
const ROOT_ID_LENGTH = 32;
const MAX_EPOCH = 2 ** 32 - 1;
const MAX_ROOT_ID = 512;
const MAX_WRAPPED = 8_192;
const ROOT_ID_CHARACTERS = /^[\x21-\x7e]+$/;

/** The part of a keyring that is not encrypted: everything before the nonce. */
export interface KeyringHead {
  readonly epoch: number;
  readonly keyringId: Uint8Array;
  readonly rootId: string;
  readonly wrapped: Uint8Array;
}

export interface ParsedKeyringHead extends KeyringHead {
  /** Bytes it takes. */
  readonly length: number;
}

/** @throws MemoryError `integrity` when a field is out of the format's range. */
export function encodeKeyringHead({ epoch, keyringId, rootId, wrapped }: KeyringHead): Uint8Array {
  const inRange = epoch >= 1 && epoch <= MAX_EPOCH && wrapped.length >= 1 && wrapped.length <= MAX_WRAPPED;
  if (!inRange || !isRootId(rootId)) throw keyringRefusal();
  return concat(START, u32(epoch), keyringId, lengthPrefixed(encodeText(rootId)), lengthPrefixed(wrapped));
}

export function isShredMarker(bytes: Uint8Array): boolean {
  return bytes.length === SHRED_MARKER.length && hasBytesAt(bytes, 0, SHRED_MARKER);
}

/**
 * The head of a keyring object, checked in the order of docs/format.md, "Reading a keyring". Nothing in it is
 * authenticated yet.
 *
 * @throws MemoryError `integrity`, `key_unavailable` for the shred marker, `unsupported_format`.
 */
export function parseKeyringHead(bytes: Uint8Array): ParsedKeyringHead {
  if (bytes.length < START.length || bytes.length > MAX_KEYRING_BYTES || !hasBytesAt(bytes, 0, MAGIC)) {
    throw keyringRefusal();
  }
  if (isShredMarker(bytes)) {
    throw new MemoryError('key_unavailable', 'the keyring of this tenant was destroyed');
  }
  if (!hasBytesAt(bytes, 0, START)) {
    throw new MemoryError(
      'unsupported_format',
      'the keyring has a format or suite this version does not know',
    );
  }
  const rootId = takePrefixed(bytes, ROOT_ID_LENGTH, MAX_ROOT_ID);
  const wrappedLength = ROOT_ID_LENGTH + 4 + rootId.length;
  const wrapped = takePrefixed(bytes, wrappedLength, MAX_WRAPPED);
  const end = wrappedLength + 4 + wrapped.length;
  const epoch = readU32(bytes, EPOCH);
  const text = String.fromCharCode(...rootId);
  if (epoch < 1 || !isRootId(text) || bytes.length - end < NONCE_BYTES + TAG_BYTES + SMALLEST_SECRET_BYTES) {
    throw keyringRefusal();
  }
  return {
    epoch,
    keyringId: copyOf(bytes, KEYRING_ID, ROOT_ID_LENGTH),
    rootId: text,
    wrapped,
    length: end,
  };
}

function takePrefixed(bytes: Uint8Array, offset: number, max: number): Uint8Array {
  if (offset + 4 > bytes.length) throw keyringRefusal();
  const length = readU32(bytes, offset);
  const begin = offset + 4;
  if (length < 1 || length > max || begin + length > bytes.length) throw keyringRefusal();
  return copyOf(bytes, begin, begin + length);
}

function isRootId(text: string): boolean {
  return text.length <= MAX_ROOT_ID && ROOT_ID_CHARACTERS.test(text);
}

/** The one error for a keyring that cannot be what was written. */
export function keyringRefusal(): MemoryError {
  return new MemoryError('integrity', 'a keyring was refused: it is not what was written for this tenant');
}
