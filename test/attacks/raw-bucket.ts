import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import type { TestBucket } from '../servers/s3.ts';

/** The bucket in the hands of an attacker who may do everything with it and holds no key of a tenant. */
export interface RawBucket {
  get(key: string): Promise<Uint8Array>;
  put(key: string, bytes: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  keys(): Promise<readonly string[]>;
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
    async get(key) {
      const { Body: body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      return (await body?.transformToByteArray()) ?? new Uint8Array();
    },
    async put(key, bytes) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes }));
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },
    keys: async () => (await list()).map(([key]) => key),
    snapshot: async () => (await list()).map(([key, etag]) => `${key} ${etag}`),
  };
}
