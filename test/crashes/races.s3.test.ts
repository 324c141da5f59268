import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import { describeRaces } from '../contracts/races.ts';
import { createTestBucket, describeOnS3, S3_SERVERS, s3Environment, type TestBucket } from '../stage/s3.ts';

describeOnS3('memories', S3_SERVERS, (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());

  describeRaces(
    'one bucket',
    () => {
      const { endpoint, region, credentials } = bucket.storeOptions;
      const store = `s3://${bucket.bucket}/races`;
      const [tenant, rootKey] = [`t-${randomBytes(4).toString('hex')}`, randomBytes(32).toString('base64')];
      const s3 = { endpoint, region, forcePathStyle: true };
      return {
        open: () => openMemory({ store, tenant, rootKey, s3, credentials }),
        env: {
          SEALED_MEMORY_STORE: store,
          SEALED_MEMORY_TENANT: tenant,
          SEALED_MEMORY_ROOT_KEY: rootKey,
          ...s3Environment(bucket.storeOptions),
        },
      };
    },
    { memories: 10, rounds: 5 },
  );
});
