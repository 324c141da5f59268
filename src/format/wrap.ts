import { encodeText } from '../language/text.ts';
import {
  bigU64,
  concat,
  copyOf,
  domain,
  lengthPrefixed,
  readBigU64,
  readU32,
  readU64,
  u32,
  u64,
} from './encoding.ts';
import { HEADER_BYTES, OFFSET } from './header.ts';
import type { LogicalName } from './object-keys.ts';
import { MAX_CONTENT_BYTES } from './sizes.ts';
import { deriveKey, hash, KEY_BYTES, openBox, sealBox } from './sodium.ts';

export const ID_BYTES = 16;

const KEY_ID = domain('key-id');

/** One version of the tenant's key, in the form that seals and opens objects. */
export interface TenantKey {
  readonly version: number;
  /** The time at which it was made, milliseconds since the epoch. */
  readonly created: number;
  /** 16 bytes, public. */
  readonly keyId: Uint8Array;
  /** 32 bytes, secret: K_wrap of the format. */
  readonly wrapKey: Uint8Array;
}

/** The keys of one tenant. */
export interface SealingKeys {
  readonly tenant: string;
  readonly keyringId: Uint8Array;
  /** The key under which new objects are sealed. */
  readonly active: TenantKey;
  find(keyId: Uint8Array): TenantKey | undefined;
}

/** Derives from the 32 bytes of a tenant key its public id and the key that wraps data keys. */
export function deriveTenantKey(secret: Uint8Array): Pick<TenantKey, 'keyId' | 'wrapKey'> {
  return { keyId: hash(ID_BYTES, secret, KEY_ID), wrapKey: deriveKey(secret, 1, 'smem-tk1') };
}

/** The largest hybrid logical time the format can hold. */
export const MAX_BOUND: bigint = 2n ** 63n - 1n;

const LOGICAL_BITS = 16n;

/**
 * Computes the hybrid logical time of a new binding (docs/format.md, "Object"): the clock, milliseconds since the
 * epoch, above 16 bits that count the bindings within one millisecond, and always later than `replaced`, the time of
 * the version that it replaces. This keeps the bindings of one file in order however far the clocks of its writers
 * differ.
 */
export function nextBound(clock: number, replaced?: bigint): bigint {
  const byClock = BigInt(Math.max(0, Math.floor(clock))) << LOGICAL_BITS;
  const next = replaced === undefined || replaced < byClock ? byClock : replaced + 1n;
  return next > MAX_BOUND ? MAX_BOUND : next;
}

/** Converts a bound to milliseconds since the epoch, by its writer's clock or by one that it followed. */
export function millisecondsOf(bound: bigint): number {
  return Number(bound >> LOGICAL_BITS);
}

const WRAP = domain('wrap');
const DRAWN_UNDER = KEY_BYTES;
const LENGTH = DRAWN_UNDER + 4;
const MTIME = LENGTH + 8;
const BOUND = MTIME + 8;
const PREVIOUS = BOUND + 8;
const WRITER = PREVIOUS + ID_BYTES;
const ORIGIN = WRITER + ID_BYTES;

/**
 * 16 zeros, in the place of a directory rename that copied the object, of a version before it, or of an actor, where it
 * has none.
 */
export const NO_ID: Uint8Array = new Uint8Array(ID_BYTES);

/** The fields of the header's wrapped part. */
export interface Wrapped {
  /** The secret data key. */
  readonly dataKey: Uint8Array;
  /** The version of the tenant key under which the data key was drawn, 1 or more; re-binding never raises it. */
  readonly drawnUnder: number;
  /** Bytes of content. */
  readonly length: number;
  /** The time at which the content was written, milliseconds since the epoch. */
  readonly mtime: number;
  /** The moment at which the object was bound to its name, as hybrid logical time (`nextBound`). */
  readonly bound: bigint;
  /** The id of the version whose content this one replaced, or 16 zeros. */
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

/** Writes bytes 100–223 of `object`, bound to its bytes 0–75 and under the nonce at 76. */
export function sealWrap(object: Uint8Array, wrapped: Wrapped, binding: WrapBinding): void {
  const { dataKey, drawnUnder, length, mtime, bound, previous, writer, origin } = wrapped;
  const numbers = [u32(drawnUnder), u64(length), u64(mtime), bigU64(bound)];
  const secret = concat(dataKey, ...numbers, previous, writer, origin);
  object.set(sealBox(secret, parameters(object, binding)), OFFSET.wrap);
  secret.fill(0);
}

/** Opens the wrap; undefined unless it is authentic for this binding and its numbers are within the format's limits. */
export function openWrap(object: Uint8Array, binding: WrapBinding): Wrapped | undefined {
  const secret = openBox(object.subarray(OFFSET.wrap, HEADER_BYTES), parameters(object, binding));
  if (secret === undefined) return undefined;
  const drawnUnder = readU32(secret, DRAWN_UNDER);
  const length = readU64(secret, LENGTH, MAX_CONTENT_BYTES);
  const mtime = readU64(secret, MTIME, Number.MAX_SAFE_INTEGER);
  const bound = readBigU64(secret, BOUND);
  if (drawnUnder === 0 || length === undefined || mtime === undefined || bound > MAX_BOUND) {
    secret.fill(0);
    return undefined;
  }
  return {
    dataKey: secret.subarray(0, KEY_BYTES),
    drawnUnder,
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
