import { afterAll, beforeAll } from 'vitest';
import { describeFiles } from '../../contracts/files.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../stage/s3.ts';

describeOnS3('memory.files', ['minio', 'versitygw'], (server, name) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());

  describeFiles(name, async () => {
    const { bucket: of, credentials, ...s3 } = bucket.storeOptions;
    return { options: { store: `s3://${of}`, credentials, s3 }, shared: true, many: 120 };
  });
});
