import { afterAll, beforeAll, it } from 'vitest';
import { createTestBucket, describeOnS3, s3Environment, type TestBucket } from '../stage/s3.ts';
import { takeTour } from './tour.ts';

describeOnS3('docs/command-line.md', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket.remove());

  it('shows a newcomer around, in a bucket', { timeout: 300_000 }, () =>
    takeTour({
      SEALED_MEMORY_STORE: `s3://${bucket.bucket}/tour`,
      ...s3Environment(bucket.storeOptions),
    }),
  );
});
