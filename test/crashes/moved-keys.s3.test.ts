import { afterAll, beforeAll } from 'vitest';
import { describeMovedKeys } from '../contracts/moved-keys.ts';
import { createTestBucket, describeOnS3, s3Environment, type TestBucket } from '../stage/s3.ts';

describeOnS3('a tenant in a bucket', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());

  describeMovedKeys(
    'one bucket',
    ({ tenant, names, rootKeys }) => {
      const { endpoint, region, forcePathStyle, credentials } = bucket.storeOptions;
      const store = `s3://${bucket.bucket}/moved`;
      return {
        options: {
          store,
          tenant,
          names,
          rootKey: rootKeys,
          credentials,
          s3: { endpoint, region, forcePathStyle },
        },
        env: {
          SEALED_MEMORY_STORE: store,
          SEALED_MEMORY_TENANT: tenant,
          SEALED_MEMORY_NAMES: names,
          SEALED_MEMORY_ROOT_KEY: rootKeys.join(','),
          ...s3Environment(bucket.storeOptions),
        },
      };
    },
    { step: 4 },
  );
});
