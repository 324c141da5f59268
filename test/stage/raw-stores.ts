import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import type { RawStore } from '../contracts/sealed-store.ts';
import type { TestBucket } from './s3.ts';

/** Opens the objects of a store, without any wrapper before it. */
export function rawObjects(store: ObjectStore): RawStore {
  return {
    async keys() {
      const keys: string[] = [];
      for await (const page of store.list({ prefix: '' })) keys.push(...page.objects.map(({ key }) => key));
      return keys;
    },
    async read(key) {
      const stored = await store.get(key as ObjectKey);
      if (typeof stored !== 'object') throw new Error('there is no such object');
      return stored.body;
    },
    write: async (key, bytes) => {
      await store.put(key as ObjectKey, bytes, { mode: 'overwrite' });
    },
    remove: async (key) => {
      await store.delete([{ key: key as ObjectKey }]);
    },
  };
}

/** A bucket in the hands of one who may do everything with it, by a plain S3 client. */
export interface RawBucket extends RawStore {
  /** Every object with its ETag, which on MinIO is the same for the same bytes. */
  snapshot(): Promise<readonly string[]>;
}

export function rawBucket({ bucket, client }: TestBucket): RawBucket {
  const list = async (): Promise<readonly (readonly [key: string, etag: string])[]> => {
    const found: (readonly [string, string])[] = [];
    for (let after: string | undefined; ; after = found.at(-1)?.[0]) {
      const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, StartAfter: after }));
      found.push(...(page.Contents ?? []).map(({ Key = '', ETag = '' }) => [Key, ETag] as const));
      if (page.IsTruncated !== true) return found;
    }
  };
  return {
    keys: async () => (await list()).map(([key]) => key),
    snapshot: async () => (await list()).map(([key, etag]) => `${key} ${etag}`),
    async read(key) {
      const { Body: body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      return (await body?.transformToByteArray()) ?? new Uint8Array();
    },
    async write(key, bytes) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes }));
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },
  };
}
