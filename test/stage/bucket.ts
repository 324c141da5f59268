import { deriveBodyKeys, sealChunks } from '../../src/format/chunks.ts';
import { readHeader } from '../../src/format/header.ts';
import { fileKey, type LogicalName, type ObjectKey } from '../../src/format/object-keys.ts';
import { openWrap, type SealingKeys } from '../../src/format/wrap.ts';
import { at, type TestClient, type TestSite } from './test-tree.ts';

/** Lists the keys of all objects, or of those of one class of the tenant. */
export async function keysOf({ base }: TestSite, cls?: string): Promise<readonly ObjectKey[]> {
  const keys: ObjectKey[] = [];
  const prefix = cls === undefined ? '' : `tenants/acme/${cls}/`;
  for await (const { objects } of base.list({ prefix })) keys.push(...objects.map(({ key }) => key));
  return keys;
}

/** Makes the key of the file at a path. */
export async function keyOf(client: TestClient, path: string): Promise<ObjectKey> {
  const { tenant, keyring } = await client.open();
  return fileKey(tenant.layout, keyring.names, at(path));
}

/** All objects of a store, as they lie there. */
export type Bucket = ReadonlyMap<ObjectKey, Uint8Array>;

export async function readBucket({ base }: TestSite): Promise<Bucket> {
  const objects = new Map<ObjectKey, Uint8Array>();
  for await (const page of base.list({ prefix: '' })) {
    for (const { key } of page.objects) {
      const found = await base.get(key);
      if (typeof found === 'object') objects.set(key, found.body);
    }
  }
  return objects;
}

/**
 * Puts another text of the same length under the header of an object, as an attacker can who once held its data key:
 * version, commitment and wrap stay, and it opens.
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
