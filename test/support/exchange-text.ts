import { deriveBodyKeys, sealChunks } from '../../src/format/chunks.ts';
import { readHeader } from '../../src/format/header.ts';
import type { LogicalName } from '../../src/format/object-keys.ts';
import { openWrap, type SealingKeys } from '../../src/format/wrap.ts';

/**
 * Another text of the same length under the header of an object, as one makes it who once held its data key: version,
 * commitment and wrap stay, and it opens.
 */
export function exchangeText({
  keys,
  name,
  object,
}: {
  readonly keys: SealingKeys;
  readonly name: LogicalName;
  readonly object: Uint8Array;
}): Uint8Array {
  const { keyId } = readHeader(object) ?? {};
  const wrapKey = keyId && keys.find(keyId)?.wrapKey;
  const { tenant, keyringId } = keys;
  const wrapped = wrapKey && openWrap(object, { wrapKey, keyringId, tenant, name });
  if (wrapped === undefined) throw new Error('the object does not open');
  const exchanged = object.slice();
  const { body } = deriveBodyKeys(wrapped.dataKey, keyringId, object);
  sealChunks(new Uint8Array(wrapped.length).fill(0x78), body, exchanged);
  return exchanged;
}
