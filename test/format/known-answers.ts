import { readFileSync } from 'node:fs';
import { fromHex } from './format-vectors.ts';

/** One case of xchacha20-poly1305.json. */
export interface BoxCase {
  readonly id: number;
  readonly isValid: boolean;
  /** The fault that the case looks for, in Wycheproof's words. */
  readonly what: string;
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  readonly additional: Uint8Array;
  readonly message: Uint8Array;
  readonly box: Uint8Array;
}

/** One case of keyed-blake2b.json. */
export interface HashCase {
  readonly key: Uint8Array;
  readonly message: Uint8Array;
  readonly length: number;
  readonly hash: string;
}

/** One case of kdf.json. */
export interface KdfCase {
  readonly key: Uint8Array;
  readonly index: number;
  readonly context: string;
  readonly derived: string;
}

interface BoxFile {
  readonly hchacha20: { readonly key: string; readonly nonce: string; readonly subkey: string };
  readonly cases: readonly (readonly [number, string, string, string, string, string, string, string])[];
}

interface HashFile {
  readonly kat: readonly string[];
  readonly lengths: readonly (readonly [number, number, number, string])[];
}

interface KdfFile {
  readonly cases: readonly (readonly [string, number, string, string])[];
}

const boxes: BoxFile = read('xchacha20-poly1305.json');
const hashes: HashFile = read('keyed-blake2b.json');
const kdf: KdfFile = read('kdf.json');

export const HCHACHA20: BoxFile['hchacha20'] = boxes.hchacha20;

export const BOX_CASES: readonly BoxCase[] = boxes.cases.map(
  ([id, result, what, key, nonce, additional, message, box]) => ({
    id,
    isValid: result === 'valid',
    what,
    key: fromHex(key),
    nonce: fromHex(nonce),
    additional: fromHex(additional),
    message: fromHex(message),
    box: fromHex(box),
  }),
);

/** BLAKE2's own file: entry n is of n bytes. */
export const HASH_KAT: readonly HashCase[] = hashes.kat.map((hash, size) => ({
  key: ascending(64),
  message: ascending(size),
  length: 64,
  hash,
}));

export const HASH_LENGTHS: readonly HashCase[] = hashes.lengths.map(([length, keyLength, size, hash]) => ({
  key: ascending(keyLength, 0x20),
  message: Uint8Array.from({ length: size }, (_, index) => index % 251),
  length,
  hash,
}));

export const KDF_CASES: readonly KdfCase[] = kdf.cases.map(([key, index, context, derived]) => ({
  key: fromHex(key),
  index,
  context,
  derived,
}));

function ascending(length: number, from = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => from + index);
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8')) as T;
}
