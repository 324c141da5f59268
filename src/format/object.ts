import { MemoryError } from '../errors.ts';
import { deriveBodyKeys, openChunks, sealChunks } from './chunks.ts';
import { copyOf } from './encoding.ts';
import { commitmentOf, HEADER_BYTES, OBJECT_START, OFFSET, readHeader } from './header.ts';
import type { LogicalName } from './object-keys.ts';
import { MAX_CONTENT_BYTES, sealedSize } from './sizes.ts';
import { equalBytes, KEY_BYTES, NONCE_BYTES, type RandomBytes, TAG_BYTES, wipe } from './sodium.ts';
import type { Version, VersionIdBytes } from './version.ts';
import {
  NO_ID,
  nextBound,
  openWrap,
  type SealingKeys,
  sealWrap,
  type TenantKey,
  type Wrapped,
} from './wrap.ts';

interface SealRequest {
  readonly keys: SealingKeys;
  readonly name: LogicalName;
  /** The version, made by `newVersion` for this content or taken from an opened object. */
  readonly version: Version;
  readonly content: Uint8Array;
  /** Milliseconds since the epoch; absent: the `mtime` of the version. */
  readonly clock?: number | undefined;
  /**
   * The latest bound that the object's own must pass: that of the version it replaces, and those of earlier attempts to
   * write it.
   */
  readonly after?: bigint | undefined;
  /** 16 bytes; absent: zeros. */
  readonly origin?: Uint8Array | undefined;
  readonly random: RandomBytes;
}

interface OpenRequest {
  readonly keys: SealingKeys;
  /** The name that the caller asked for, never one taken from the object. */
  readonly name: LogicalName;
  readonly object: Uint8Array;
}

/**
 * A version with its content, and the facts of its sealing and binding. `drawnUnder` is at most the version of the key
 * that opened it.
 */
export interface OpenedObject extends Version, Pick<Wrapped, 'bound' | 'origin' | 'drawnUnder'> {
  readonly content: Uint8Array;
}

interface RebindRequest {
  readonly keys: SealingKeys;
  readonly object: Uint8Array;
  readonly from: LogicalName;
  readonly to: LogicalName;
  /** 16 bytes; absent: the object keeps its own. */
  readonly origin?: Uint8Array | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: number;
  /** The bound of the version that the copy replaces, where that is not the object itself. */
  readonly after?: bigint | undefined;
  readonly random: RandomBytes;
}

/**
 * Encrypts the content of a version with a fresh data key under the active tenant key, bound to `name`. Sealing a
 * version twice gives two different objects (docs/format.md, "Object").
 *
 * @throws MemoryError `limit_exceeded` above 2^30 − 1 bytes.
 */
export function seal(request: SealRequest): Uint8Array {
  const { keys, name, version, content, random } = request;
  const { mtime, previous, writer } = version;
  if (content.length > MAX_CONTENT_BYTES) {
    throw new MemoryError('limit_exceeded', 'The content is longer than the format can hold.', {
      details: { limit: 'file_bytes', value: content.length, max: MAX_CONTENT_BYTES },
    });
  }
  const object = new Uint8Array(sealedSize(content.length));
  object.set(OBJECT_START);
  object.set(version.id, OFFSET.id);
  const dataKey = random(KEY_BYTES);
  const { body, commitment } = deriveBodyKeys(dataKey, keys.keyringId, object);
  object.set(commitment, OFFSET.commitment);
  const wrapped: Wrapped = {
    dataKey,
    drawnUnder: keys.active.version,
    length: content.length,
    mtime,
    bound: nextBound(request.clock ?? mtime, request.after),
    previous,
    writer,
    origin: request.origin ?? NO_ID,
  };
  bind(object, wrapped, { keys, name, random });
  sealChunks(content, body, object);
  wipe(dataKey, body);
  return object;
}

/**
 * Verifies the whole object under the requested name and answers its content once all of it is authentic
 * (docs/format.md, "Reading an object").
 *
 * @throws MemoryError `integrity` for every failure; `details.reason` is `unknown_key` when the object looks whole but
 * names a tenant key that the keyring does not hold.
 */
export function open({ keys, name, object }: OpenRequest): OpenedObject {
  const { wrapped, content } = verify(object, keys, name);
  const { dataKey, drawnUnder, mtime, bound, previous, writer, origin } = wrapped;
  wipe(dataKey);
  const id = copyOf(object, OFFSET.id, OFFSET.commitment) as VersionIdBytes;
  return { id, content, mtime, bound, previous, writer, origin, drawnUnder };
}

/**
 * Binds the same content to another name, the active key or another origin: a new nonce and wrap around the same data
 * key. Version, length and chunks stay, and so does the version of the key under which the data key was drawn, as
 * `open` tells it; the bound is later than the object's own. The object is verified under `from` as `open` does.
 *
 * @throws MemoryError `integrity` as `open`.
 */
export function rebind(request: RebindRequest): Uint8Array {
  const { keys, object, from, to, clock, after = 0n, random } = request;
  const { wrapped } = verify(object, keys, from);
  const bound = nextBound(clock, after > wrapped.bound ? after : wrapped.bound);
  const origin = request.origin ?? wrapped.origin;
  const rebound = copyOf(object);
  bind(rebound, { ...wrapped, bound, origin }, { keys, name: to, random });
  wipe(wrapped.dataKey);
  return rebound;
}

interface Verified {
  readonly wrapped: Wrapped;
  readonly content: Uint8Array;
}

function verify(object: Uint8Array, keys: SealingKeys, name: LogicalName): Verified {
  const header = readHeader(object);
  if (header === undefined || object.length < HEADER_BYTES + TAG_BYTES) throw objectRefused();
  const key = keys.find(header.keyId);
  if (key === undefined) throw objectRefused('unknown_key');
  const wrapped = openWrap(object, binding(keys, key, name));
  if (wrapped === undefined) throw objectRefused();
  const { body, commitment } = deriveBodyKeys(wrapped.dataKey, keys.keyringId, object);
  const isWhole =
    object.length === sealedSize(wrapped.length) && equalBytes(commitment, commitmentOf(object));
  const content = isWhole ? openChunks(object, body, wrapped.length) : undefined;
  wipe(body);
  if (content === undefined) {
    wipe(wrapped.dataKey);
    throw objectRefused();
  }
  const drawnUnder = Math.min(wrapped.drawnUnder, key.version);
  return { wrapped: { ...wrapped, drawnUnder }, content };
}

/** Writes all bytes from the keyId to the end of the wrap; those before must be in place. */
function bind(
  object: Uint8Array,
  wrapped: Wrapped,
  {
    keys,
    name,
    random,
  }: { readonly keys: SealingKeys; readonly name: LogicalName; readonly random: RandomBytes },
): void {
  const key = keys.active;
  object.set(key.keyId, OFFSET.keyId);
  object.set(random(NONCE_BYTES), OFFSET.nonce);
  sealWrap(object, wrapped, binding(keys, key, name));
}

function binding(keys: SealingKeys, key: TenantKey, name: LogicalName): Parameters<typeof openWrap>[1] {
  return { wrapKey: key.wrapKey, keyringId: keys.keyringId, tenant: keys.tenant, name };
}

/** Makes the one error for an object that was not sealed for its place. */
export function objectRefused(reason?: 'unknown_key'): MemoryError {
  return new MemoryError(
    'integrity',
    'An object was rejected: it is not what was sealed under this name for this tenant.',
    reason === undefined ? {} : { details: { reason } },
  );
}
