import { afterAll, beforeAll } from 'vitest';
import type { CrashSite } from '../contracts/crashes.ts';
import { describeLifecycleCrashes, type LifecycleSite } from '../contracts/lifecycle-crashes.ts';
import { describeLifecycleLife } from '../contracts/lifecycle-life.ts';
import { amount } from '../runner/thorough.ts';
import { describeOnS3, type TestBucket } from '../stage/s3.ts';
import { createVersionedBucket } from '../stage/versioned-bucket.ts';
import { siteInBucket } from './lifecycle-sites.ts';

describeOnS3('tenants in a bucket that keeps versions', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createVersionedBucket(server());
  });
  afterAll(() => bucket?.remove());

  const newSite = (site: LifecycleSite): CrashSite => siteInBucket(bucket, 'lifecycle')(site);
  describeLifecycleCrashes('one bucket', { newSite, kills: amount({ usual: 1, thorough: 6 }) });
  describeLifecycleLife('one bucket', newSite);
});
