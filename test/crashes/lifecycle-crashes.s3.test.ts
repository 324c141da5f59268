import { afterAll, beforeAll } from 'vitest';
import type { CrashSite } from '../contracts/crashes.ts';
import { describeLifecycleCrashes, type LifecycleSite } from '../contracts/lifecycle-crashes.ts';
import { describeLifecycleLife } from '../contracts/lifecycle-life.ts';
import { amount } from '../runner/thorough.ts';
import { describeOnS3, s3Environment, type TestBucket } from '../stage/s3.ts';
import { createVersionedBucket } from '../stage/versioned-bucket.ts';

describeOnS3('tenants in a bucket that keeps versions', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createVersionedBucket(server());
  });
  afterAll(() => bucket?.remove());

  const newSite = ({ tenant, names, rootKeys }: LifecycleSite): CrashSite => {
    const { endpoint, region, forcePathStyle, credentials } = bucket.storeOptions;
    const store = `s3://${bucket.bucket}/lifecycle`;
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
  };
  describeLifecycleCrashes('one bucket', { newSite, kills: amount({ usual: 2, thorough: 6 }) });
  describeLifecycleLife('one bucket', newSite);
});
