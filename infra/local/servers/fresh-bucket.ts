import { randomBytes } from 'node:crypto';
import {
  CreateBucketCommand,
  type CreateBucketCommandInput,
  DeleteBucketCommand,
  DeleteObjectsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import type { S3Server } from './s3-server.ts';

/** A fresh bucket; shaped like the options of the S3 store, plus a raw client. */
export interface TestBucket extends AsyncDisposable {
  readonly bucket: string;
  /** Unwrapped SDK client for looking behind the store's back. */
  readonly client: S3Client;
  readonly storeOptions: {
    readonly bucket: string;
    readonly endpoint: string;
    readonly region: string;
    readonly forcePathStyle: true;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  /** Removes the bucket and all it holds. */
  remove(): Promise<void>;
}

export async function createTestBucket(
  server: S3Server,
  options: Pick<CreateBucketCommandInput, 'ObjectLockEnabledForBucket'> = {},
): Promise<TestBucket> {
  const bucket = `sealed-memory-test-${randomBytes(6).toString('hex')}`;
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const connection = {
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  } as const;
  const client = new S3Client(connection);
  await client.send(new CreateBucketCommand({ Bucket: bucket, ...options }));
  const remove = async () => {
    await emptyBucket(client, bucket);
    await client.send(new DeleteBucketCommand({ Bucket: bucket }));
    client.destroy();
  };
  return {
    bucket,
    client,
    storeOptions: { bucket, ...connection },
    remove,
    [Symbol.asyncDispose]: remove,
  };
}

async function emptyBucket(client: S3Client, bucket: string): Promise<void> {
  for (;;) {
    const { Contents: objects = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    if (objects.length === 0) return;
    const staying = await deleteAll(client, bucket, objects);
    if (staying > 0) throw new Error(`${staying} objects of the bucket stay`);
  }
}

/** Deletes objects, or versions, in one request: at most 1,000. Gives how many of them stay. */
export async function deleteAll(
  client: S3Client,
  bucket: string,
  objects: readonly { readonly Key?: string | undefined; readonly VersionId?: string | undefined }[],
): Promise<number> {
  const Objects = objects.map(({ Key = '', VersionId }) => ({
    Key,
    ...(VersionId !== undefined && { VersionId }),
  }));
  const Delete = { Objects, Quiet: true };
  const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete }));
  return Errors.length;
}
