import { rawBucket } from './attacks/raw-bucket.ts';
import { describeLeaks, type LeakSite } from './contracts/leaks.ts';
import { createTestBucket, describeOnS3 } from './support/s3.ts';

describeOnS3('a store', ['minio'], (server) => {
  describeLeaks('a bucket', async (): Promise<LeakSite> => {
    const bucket = await createTestBucket(server());
    const raw = rawBucket(bucket);
    const { endpoint, region, credentials } = bucket.storeOptions;
    const store = `s3://${bucket.bucket}`;
    return {
      options: { store, s3: { endpoint, region, forcePathStyle: true }, credentials },
      env: {
        SEALED_MEMORY_STORE: store,
        SEALED_MEMORY_S3_ENDPOINT: endpoint,
        SEALED_MEMORY_S3_REGION: region,
        AWS_ACCESS_KEY_ID: credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      },
      broken: { credentials: { ...credentials, secretAccessKey: 'not the secret of anybody' } },
      keys: raw.keys,
      bytes: async () => Promise.all((await raw.keys()).map((key) => raw.get(key))),
      async damage(key) {
        const bytes = await raw.get(key);
        await raw.put(key, bytes.with(-1, (bytes.at(-1) ?? 0) ^ 1));
      },
      [Symbol.asyncDispose]: () => bucket.remove(),
    };
  });
});
