import { isValidSegment } from '../language/path.ts';
import { decodeText, encodeText } from '../language/text.ts';
import { concat, copyOf, fromBase64url, toBase64url, u32 } from './encoding.ts';
import { equalBytes, hash } from './sodium.ts';

/** Keys derived from the name key, for the encrypted names of one directory's children (docs/format.md, "Names"). */
export interface SegmentKeys {
  /** K_nmac */
  readonly mac: Uint8Array;
  /** K_nenc */
  readonly encryption: Uint8Array;
}

const BLOCK = 16;
const STREAM_BLOCK = 64;
const END_OF_NAME = 0x80;
const SHORTEST_TEXT = 43;
const LONGEST_TEXT = 214;
const SEG = encodeText('seg');
const DIR = encodeText('dir');

/** The tweak of the root directory in the names of its children; other directories have `childTweak`. */
export const ROOT_TWEAK: Uint8Array = new Uint8Array(BLOCK);

/** Encodes one segment (1–143 bytes of UTF-8) in the directory of `tweak`: 43–214 characters of base64url. */
export function encodeSegment(keys: SegmentKeys, tweak: Uint8Array, segment: string): string {
  return encodePadded(keys, tweak, pad(encodeText(segment)));
}

/**
 * Decodes the segment that is encoded as `text` in the directory of `tweak`; undefined when the text is foreign there.
 */
export function decodeSegment(keys: SegmentKeys, tweak: Uint8Array, text: string): string | undefined {
  if (text.length < SHORTEST_TEXT || text.length > LONGEST_TEXT) return undefined;
  const bytes = fromBase64url(text);
  if (bytes === undefined || bytes.length % BLOCK !== 0) return undefined;
  const siv = bytes.subarray(0, BLOCK);
  const padded = copyOf(bytes, BLOCK);
  applyStream(keys, siv, padded);
  if (!equalBytes(siv, sivOf(keys, tweak, padded))) return undefined;
  const name = unpad(padded);
  const segment = name === undefined ? undefined : decodeText(name);
  return segment !== undefined && isValidSegment(segment) ? segment : undefined;
}

/** Computes the tweak for the children of `segment`, itself in the directory of `tweak`. */
export function childTweak(keys: SegmentKeys, tweak: Uint8Array, segment: string): Uint8Array {
  return hash(BLOCK, keys.mac, concat(DIR, tweak, encodeText(segment)));
}

function encodePadded(keys: SegmentKeys, tweak: Uint8Array, padded: Uint8Array): string {
  const siv = sivOf(keys, tweak, padded);
  applyStream(keys, siv, padded);
  return toBase64url(concat(siv, padded));
}

function sivOf(keys: SegmentKeys, tweak: Uint8Array, padded: Uint8Array): Uint8Array {
  return hash(BLOCK, keys.mac, concat(SEG, tweak, padded));
}

/** XORs the key stream of `siv` over `bytes`, in place. */
function applyStream(keys: SegmentKeys, siv: Uint8Array, bytes: Uint8Array): void {
  for (let start = 0; start < bytes.length; start += STREAM_BLOCK) {
    const stream = hash(STREAM_BLOCK, keys.encryption, concat(siv, u32(start / STREAM_BLOCK)));
    const part = bytes.subarray(start, start + STREAM_BLOCK);
    for (const [index, byte] of part.entries()) part[index] = byte ^ (stream[index] ?? 0);
  }
}

function pad(name: Uint8Array): Uint8Array {
  const padded = new Uint8Array(paddedLength(name.length));
  padded.set(name);
  padded[name.length] = END_OF_NAME;
  return padded;
}

function unpad(padded: Uint8Array): Uint8Array | undefined {
  const length = padded.findLastIndex((byte) => byte !== 0);
  const exact = padded[length] === END_OF_NAME && padded.length === paddedLength(length);
  return exact ? padded.subarray(0, length) : undefined;
}

function paddedLength(length: number): number {
  return Math.ceil((length + 1) / BLOCK) * BLOCK;
}
