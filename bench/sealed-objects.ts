import { openMemory } from '../src/open/open-memory.ts';
import type { ObjectStore } from '../src/store/port.ts';
import { openSqliteObjectStore } from '../src/store/sqlite/sqlite-store.ts';
import { handSigned } from './hand-signed.ts';
import { sideBySide } from './side-by-side.ts';
import type { Site } from './sites.ts';
import { command, ROOT_KEY } from './stores.ts';

/** Objects by their keys, as they lie in a bucket. */
export type Objects = ReadonlyMap<string, Uint8Array>;

/**
 * Makes what a tenant's bucket holds with these files in it, its keyring included: made without a server, to be copied
 * to one.
 */
export async function sealedObjects(
  paths: readonly string[],
  contentOf: (path: string) => string,
): Promise<Objects> {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  await using memory = await openMemory({ store, tenant: 'bench', rootKey: ROOT_KEY });
  for (const path of paths) {
    await command(memory, { command: 'create', path, file_text: contentOf(path) });
  }
  return await objectsOf(store);
}

/** Everything that a store holds. */
export async function objectsOf(store: ObjectStore): Promise<Objects> {
  const objects = new Map<string, Uint8Array>();
  for await (const page of store.list({ prefix: '' })) {
    await sideBySide(page.objects, async ({ key }) => {
      const stored = await store.get(key);
      if (typeof stored === 'object') objects.set(key, stored.body);
    });
  }
  return objects;
}

/** Writes them into a bucket, over whatever lies there. */
export async function putObjects({ server }: Site, bucket: string, objects: Objects): Promise<void> {
  using hand = handSigned(server, bucket);
  await sideBySide([...objects], ([key, bytes]) => hand.put(key, bytes));
}
