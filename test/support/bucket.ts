import { fileKey, type ObjectKey } from '../../src/format/object-keys.ts';
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
