import { deriveBodyKeys, openChunks } from '../../src/format/chunks.ts';
import { copyOf } from '../../src/format/encoding.ts';
import { OFFSET } from '../../src/format/header.ts';
import type { LogicalName } from '../../src/format/object-keys.ts';
import { contentLength } from '../../src/format/sizes.ts';
import { deriveTenantKey, openWrap } from '../../src/format/wrap.ts';

/** The knowledge of a party that once had a tenant's key and kept its bytes. */
export interface StaleKey {
  /** 32 bytes. */
  readonly secret: Uint8Array;
  readonly keyringId: Uint8Array;
  readonly tenant: string;
}

/**
 * The data key in the wrap of an object, tried with the key id that stands there and with the stale key's own.
 * Undefined when the stale key does not open it.
 */
export function stolenDataKey(
  { secret, keyringId, tenant }: StaleKey,
  name: LogicalName,
  object: Uint8Array,
): Uint8Array | undefined {
  const { keyId, wrapKey } = deriveTenantKey(secret);
  const relabelled = copyOf(object);
  relabelled.set(keyId, OFFSET.keyId);
  for (const candidate of [object, relabelled]) {
    const wrapped = openWrap(candidate, { wrapKey, keyringId, tenant, name });
    if (wrapped !== undefined) return copyOf(wrapped.dataKey);
  }
  return undefined;
}

/** The content of an object by a data key alone, without its wrap; undefined when that is another object's. */
export function readByDataKey(
  dataKey: Uint8Array,
  keyringId: Uint8Array,
  object: Uint8Array,
): Uint8Array | undefined {
  const { body } = deriveBodyKeys(dataKey, keyringId, object);
  const length = contentLength(object.length);
  return length === undefined ? undefined : openChunks(object, body, length);
}
