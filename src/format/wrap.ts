import { encodeText } from '../language/text.ts';
import { MAX_BOUND } from './bound.ts';
import { bigU64, concat, copyOf, domain, lengthPrefixed, readBigU64, readU64, u64 } from './encoding.ts';
import { HEADER_BYTES, OFFSET } from './header.ts';
import type { LogicalName } from './logical-name.ts';
import { ID_BYTES } from './sealing-keys.ts';
import { MAX_CONTENT_BYTES } from './size.ts';
import { KEY_BYTES, openBox, sealBox } from './sodium.ts';

const WRAP = domain('wrap');
const LENGTH = KEY_BYTES;
const MTIME = LENGTH + 8;
const BOUND = MTIME + 8;
const PREVIOUS = BOUND + 8;
const WRITER = PREVIOUS + ID_BYTES;
const ORIGIN = WRITER + ID_BYTES;

/** 16 zeros: no directory rename copied the object here, no version went before it, no actor is known. */
export const NO_ID: Uint8Array = new Uint8Array(ID_BYTES);

/** What the wrapped part of the header holds. */
export interface Wrapped {
  /** Secret. */
  readonly dataKey: Uint8Array;
  /** Bytes of content. */
  readonly length: number;
  /** When the content was written, milliseconds since the epoch. */
  readonly mtime: number;
  /** When the object was bound to its name, as hybrid logical time (`nextBound`). */
  readonly bound: bigint;
  /** The contentId of the version whose content this one replaced, or 16 zeros. */
  readonly previous: Uint8Array;
  /** Keyed hash of the actor that wrote the content, or 16 zeros. */
  readonly writer: Uint8Array;
  /** The id of the directory rename that copied this version here, or 16 zeros. */
  readonly origin: Uint8Array;
}

export interface WrapBinding {
  readonly wrapKey: Uint8Array;
  readonly keyringId: Uint8Array;
  readonly tenant: string;
  readonly name: LogicalName;
}

/** Writes bytes 100–219 of `object`, bound to its bytes 0–75 and under the nonce at 76. */
export function sealWrap(object: Uint8Array, wrapped: Wrapped, binding: WrapBinding): void {
  const { dataKey, length, mtime, bound, previous, writer, origin } = wrapped;
  const secret = concat(dataKey, u64(length), u64(mtime), bigU64(bound), previous, writer, origin);
  object.set(sealBox(secret, parameters(object, binding)), OFFSET.wrap);
  secret.fill(0);
}

/** Undefined unless the wrap is authentic for this binding and its numbers are within the format's limits. */
export function openWrap(object: Uint8Array, binding: WrapBinding): Wrapped | undefined {
  const secret = openBox(object.subarray(OFFSET.wrap, HEADER_BYTES), parameters(object, binding));
  if (secret === undefined) return undefined;
  const length = readU64(secret, LENGTH, MAX_CONTENT_BYTES);
  const mtime = readU64(secret, MTIME, Number.MAX_SAFE_INTEGER);
  const bound = readBigU64(secret, BOUND);
  if (length === undefined || mtime === undefined || bound > MAX_BOUND) {
    secret.fill(0);
    return undefined;
  }
  return {
    dataKey: secret.subarray(0, KEY_BYTES),
    length,
    mtime,
    bound,
    previous: copyOf(secret, PREVIOUS, WRITER),
    writer: copyOf(secret, WRITER, ORIGIN),
    origin: copyOf(secret, ORIGIN),
  };
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
      lengthPrefixed(encodeText(tenant)),
      lengthPrefixed(encodeText(name)),
    ),
  };
}
