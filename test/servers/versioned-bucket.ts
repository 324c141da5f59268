import {
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
} from '@aws-sdk/client-s3';
import { createTestBucket, type S3Server, type TestBucket } from './s3.ts';

/** A fresh bucket that keeps older versions; removing it removes those as well. */
export async function createVersionedBucket(server: S3Server): Promise<TestBucket> {
  const created = await createTestBucket(server);
  const { client, bucket: Bucket } = created;
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
  const remove = async (): Promise<void> => {
    for (;;) {
      const { Versions = [], DeleteMarkers = [] } = await client.send(
        new ListObjectVersionsCommand({ Bucket, MaxKeys: 200 }),
      );
      const versions = [...Versions, ...DeleteMarkers];
      if (versions.length === 0) break;
      await Promise.all(
        versions.map(({ Key, VersionId }) =>
          client.send(new DeleteObjectCommand({ Bucket, Key, VersionId })),
        ),
      );
    }
    await created.remove();
  };
  return { ...created, remove, [Symbol.asyncDispose]: remove };
}
