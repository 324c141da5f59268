import { afterAll, beforeAll } from 'vitest';
import { describeMovedKeys } from '../contracts/moved-keys.ts';
import { amount } from '../runner/thorough.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../stage/s3.ts';
import { siteInBucket } from './lifecycle-sites.ts';

describeOnS3('a tenant in a bucket', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());

  describeMovedKeys('one bucket', (site) => siteInBucket(bucket, 'moved')(site), {
    step: amount({ usual: 12, thorough: 4 }),
  });
});
