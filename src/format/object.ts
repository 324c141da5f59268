import { MemoryError } from '../errors.ts';
import { deriveBodyKeys, openChunks, sealChunks } from './chunks.ts';
import { copyOf } from './encoding.ts';
import { HEADER_BYTES, OBJECT_START, OFFSET, readHeader } from './header.ts';
import type { LogicalName } from './object-keys.ts';
import { MAX_CONTENT_BYTES, sealedSize } from './sizes.ts';
import { equalBytes, KEY_BYTES, NONCE_BYTES, type RandomBytes, TAG_BYTES, wipe } from './sodium.ts';
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
  readonly content: Uint8Array;
  /** When the content was written, milliseconds since the epoch, below 2^53. */
  readonly mtime: number;
  /** Milliseconds since the epoch; absent: `mtime`. */
  readonly clock?: number | undefined;
  /** The bound of the version that the object replaces, where that was read. */
  readonly after?: bigint | undefined;
  /** The contentId of the version whose content is replaced, 16 bytes; absent: zeros. */
  readonly previous?: Uint8Array | undefined;
  /** What stands for the actor, 16 bytes; absent: zeros. */
  readonly writer?: Uint8Array | undefined;
  /** 16 bytes; absent: zeros. */
  readonly origin?: Uint8Array | undefined;
  readonly random: RandomBytes;
}

interface OpenRequest {
  readonly keys: SealingKeys;
  /** The name that was asked for, never one taken from the object. */
  readonly name: LogicalName;
  readonly object: Uint8Array;
}

export interface OpenedObject extends Pick<Wrapped, 'mtime' | 'bound' | 'previous' | 'writer' | 'origin'> {
  readonly content: Uint8Array;
  readonly contentId: Uint8Array;
}

interface RebindRequest {
  readonly keys: SealingKeys;
  readonly object: Uint8Array;
  readonly from: LogicalName;
  readonly to: LogicalName;
  /** 16 bytes; absent: the object's own is kept. */
  readonly origin?: Uint8Array | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: number;
  /** The bound of the version that the copy replaces, where that is not the object itself. */
  readonly after?: bigint | undefined;
  readonly random: RandomBytes;
}

/**
 * Encrypts `content` with a fresh data key under the active tenant key, bound to `name`. Sealing twice never gives
 * the same object, so a retry after a conflict seals again (docs/format.md, "Object").
 *
 * @throws MemoryError `limit_exceeded` above 2^30 − 1 bytes.
 */
export function seal(request: SealRequest): Uint8Array {
  const { keys, name, content, mtime, random } = request;
  if (content.length > MAX_CONTENT_BYTES) {
    throw new MemoryError('limit_exceeded', 'The content is longer than the format can hold.', {
      details: { limit: 'file_bytes', value: content.length, max: MAX_CONTENT_BYTES },
    });
  }
  const object = new Uint8Array(sealedSize(content.length));
  object.set(OBJECT_START);
  object.set(random(OFFSET.commitment - OFFSET.contentId), OFFSET.contentId);
  const dataKey = random(KEY_BYTES);
  const { body, commitment } = deriveBodyKeys(dataKey, keys.keyringId, object);
  object.set(commitment, OFFSET.commitment);
  const wrapped: Wrapped = {
    dataKey,
    length: content.length,
    mtime,
    bound: nextBound(request.clock ?? mtime, request.after),
    previous: request.previous ?? NO_ID,
    writer: request.writer ?? NO_ID,
    origin: request.origin ?? NO_ID,
  };
  bind(object, wrapped, { keys, name, random });
  sealChunks(content, body, object);
  wipe(dataKey, body);
  return object;
}

/**
 * Verifies the whole object under the requested name and gives its content; nothing is released before all of it is
 * authentic (docs/format.md, "Reading an object").
 *
 * @throws MemoryError `integrity` for every failure; `details.reason` is `unknown_key` when the object looks
 * whole but names a tenant key that the keyring does not hold.
 */
export function open({ keys, name, object }: OpenRequest): OpenedObject {
  const { wrapped, content } = verify(object, keys, name);
  const { dataKey, mtime, bound, previous, writer, origin } = wrapped;
  wipe(dataKey);
  const contentId = copyOf(object, OFFSET.contentId, OFFSET.commitment);
  return { content, mtime, bound, previous, writer, origin, contentId };
}

/**
 * The same content under another name, the active key or another origin: a new nonce and wrap around the same data
 * key. contentId, length, mtime, previous, writer and chunks stay; the bound is later than the object's own. The object
 * is verified under `from` as `open` does.
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
  if (wrapped === undefined || object.length !== sealedSize(wrapped.length)) throw objectRefused();
  const { body, commitment } = deriveBodyKeys(wrapped.dataKey, keys.keyringId, object);
  const committed = equalBytes(commitment, object.subarray(OFFSET.commitment, OFFSET.keyId));
  const content = committed ? openChunks(object, body, wrapped.length) : undefined;
  wipe(body);
  if (content === undefined) {
    wipe(wrapped.dataKey);
    throw objectRefused();
  }
  return { wrapped, content };
}

/** Writes everything from the keyId to the end of the wrap; what stands before it must be in place. */
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

/** The one failure of an object that is not what was sealed for its place. */
export function objectRefused(reason?: 'unknown_key'): MemoryError {
  return new MemoryError(
    'integrity',
    'An object was rejected: it is not what was sealed under this name for this tenant.',
    reason === undefined ? {} : { details: { reason } },
  );
}
