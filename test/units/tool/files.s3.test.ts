import { afterAll, beforeAll } from 'vitest';
import { describeFiles } from '../../contracts/files.ts';
import { createTestBucket, describeOnS3, S3_SERVERS, type TestBucket } from '../../stage/s3.ts';

describeOnS3('memory.files', S3_SERVERS, (server, name) => {
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
