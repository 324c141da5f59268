import type { ObjectKey } from '../../src/format/object-keys.ts';
import type { TestSite } from './test-tree.ts';

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
