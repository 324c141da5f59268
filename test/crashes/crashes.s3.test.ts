import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeCrashes } from '../contracts/crashes.ts';
import { createTestBucket, describeOnS3, s3Environment, type TestBucket } from '../servers/s3.ts';
import { THOROUGH } from '../support/thorough.ts';

// Side by side, because most of the time they wait for leases to run out.
describe.concurrent('directories in a bucket', () => {
  describeOnS3('kept', ['minio', 'versitygw'], (server) => {
    const rootKey = randomBytes(32).toString('base64');
    let bucket: TestBucket;
    beforeAll(async () => {
      bucket = await createTestBucket(server());
    });
    afterAll(() => bucket?.remove());

    describeCrashes('one bucket', {
      everyRequest: THOROUGH,
      newSite: (tenant) => {
        const { endpoint, region, forcePathStyle, credentials } = bucket.storeOptions;
        const store = `s3://${bucket.bucket}/crashes`;
        return {
          options: { store, tenant, rootKey, s3: { endpoint, region, forcePathStyle }, credentials },
          env: {
            SEALED_MEMORY_STORE: store,
            SEALED_MEMORY_TENANT: tenant,
            SEALED_MEMORY_ROOT_KEY: rootKey,
            ...s3Environment(bucket.storeOptions),
          },
        };
      },
    });
  });
});
