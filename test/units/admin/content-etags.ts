import { createHash } from 'node:crypto';
import type { ETag, ObjectStore, StoredObject } from '../../../src/store/port.ts';

/** A store whose ETags are made of the bytes, as those of S3 are: what is put back has the ETag that it had. */
export function contentEtags(store: ObjectStore): ObjectStore {
  const etagOf = ({ body }: StoredObject): ETag => createHash('md5').update(body).digest('hex') as ETag;
  const find = async (key: Parameters<ObjectStore['get']>[0]): Promise<StoredObject | undefined> => {
    const found = await store.get(key);
    return typeof found === 'object' ? found : undefined;
  };
  /** The store's own ETag of what is meant. */
  const meant = async (key: Parameters<ObjectStore['get']>[0], etag: ETag): Promise<ETag> => {
    const found = await find(key);
    return found !== undefined && etagOf(found) === etag ? found.etag : etag;
  };
  const { changeAll: _, ...others } = store;
  return {
    ...others,
    async get(key, { ifNoneMatch, ...options } = {}) {
      const found = await store.get(key, options);
      if (typeof found !== 'object') return found;
      const etag = etagOf(found);
      return etag === ifNoneMatch ? 'not_modified' : { ...found, etag };
    },
    async head(key) {
      const found = await find(key);
      return found && { ...found, etag: etagOf(found) };
    },
    async put(key, body, { mode, ...options }) {
      const ifMatch = typeof mode === 'object' ? { ifMatch: await meant(key, mode.ifMatch) } : mode;
      const written = await store.put(key, body, { ...options, mode: ifMatch });
      const found = 'etag' in written ? await find(key) : undefined;
      return found === undefined ? written : { etag: etagOf(found) };
    },
    async delete(targets, options) {
      const own = targets.map(async ({ key, ifMatch }) =>
        ifMatch === undefined ? { key } : { key, ifMatch: await meant(key, ifMatch) },
      );
      return store.delete(await Promise.all(own), options);
    },
    async *list(options) {
      for await (const { objects, servedAt } of store.list(options)) {
        const shown = objects.map(async (object) => {
          const found = await find(object.key);
          return found === undefined ? object : { ...object, etag: etagOf(found) };
        });
        yield { objects: await Promise.all(shown), servedAt };
      }
    },
  };
}
