import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { type CrashSite, describeCrashes } from '../contracts/crashes.ts';
import { describeHistoryCrashes } from '../contracts/history-crashes.ts';
import { amount } from '../runner/thorough.ts';
import { createTestBucket, describeOnS3, S3_SERVERS, s3Environment, type TestBucket } from '../stage/s3.ts';

// Side by side, because most of the time they wait for leases to run out.
describe.concurrent('directories in a bucket', () => {
  describeOnS3('kept', S3_SERVERS, (server, name) => {
    const rootKey = randomBytes(32).toString('base64');
    let bucket: TestBucket;
    beforeAll(async () => {
      bucket = await createTestBucket(server());
    });
    afterAll(() => bucket?.remove());

    const sites = {
      step: amount({ usual: 7, thorough: 1 }),
      newSite: (tenant: string): CrashSite => {
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
    };
    describeCrashes('one bucket', sites);
    // Its protocols are those of any unguarded server: on one of them.
    const step = process.env['HISTORY_KILLS'] === 'all' ? 1 : amount({ usual: 7, thorough: 3 });
    if (name === 'minio') describeHistoryCrashes('one bucket', { ...sites, step });
  });
});
