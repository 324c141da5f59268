import { concat, copyOf, domain, lengthPrefixed, readU64, u64, utf8 } from './encoding.ts';
import { HEADER_BYTES, OFFSET } from './header.ts';
import type { LogicalName } from './logical-name.ts';
import { MAX_CONTENT_BYTES } from './size.ts';
import { KEY_BYTES, openBox, sealBox } from './sodium.ts';

const WRAP = domain('wrap');
const LENGTH = KEY_BYTES;
const MTIME = LENGTH + 8;
const ORIGIN = MTIME + 8;

export const ORIGIN_BYTES = 16;

/** The origin of an object that no directory rename copied here. */
export const NO_ORIGIN: Uint8Array = new Uint8Array(ORIGIN_BYTES);

/** What the wrapped part of the header holds. */
export interface Wrapped {
  /** Secret. */
  readonly dataKey: Uint8Array;
  /** Bytes of content. */
  readonly length: number;
  /** When the content was written, milliseconds since the epoch. */
  readonly mtime: number;
  /** The id of the directory rename that copied this version here, or 16 zeros. */
  readonly origin: Uint8Array;
}

export interface WrapBinding {
  readonly wrapKey: Uint8Array;
  readonly keyringId: Uint8Array;
  readonly tenant: string;
  readonly name: LogicalName;
}

/** Writes bytes 100–179 of `object`, bound to its bytes 0–75 and under the nonce at 76. */
export function sealWrap(object: Uint8Array, wrapped: Wrapped, binding: WrapBinding): void {
  const secret = concat(wrapped.dataKey, u64(wrapped.length), u64(wrapped.mtime), wrapped.origin);
  object.set(sealBox(secret, parameters(object, binding)), OFFSET.wrap);
  secret.fill(0);
}

/** Undefined unless the wrap is authentic for this binding and its numbers are within the format's limits. */
export function openWrap(object: Uint8Array, binding: WrapBinding): Wrapped | undefined {
  const secret = openBox(object.subarray(OFFSET.wrap, HEADER_BYTES), parameters(object, binding));
  if (secret === undefined) return undefined;
  const length = readU64(secret, LENGTH, MAX_CONTENT_BYTES);
  const mtime = readU64(secret, MTIME, Number.MAX_SAFE_INTEGER);
  if (length === undefined || mtime === undefined) return undefined;
  return { dataKey: secret.subarray(0, KEY_BYTES), length, mtime, origin: copyOf(secret, ORIGIN) };
}

function parameters(
  object: Uint8Array,
  { wrapKey, keyringId, tenant, name }: WrapBinding,
): {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  readonly additional: Uint8Array;
} {
  return {
    key: wrapKey,
    nonce: object.subarray(OFFSET.nonce, OFFSET.wrap),
    additional: concat(
      WRAP,
      object.subarray(0, OFFSET.nonce),
      keyringId,
      lengthPrefixed(utf8(tenant)),
      lengthPrefixed(utf8(name)),
    ),
  };
}
