import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startLocalWorker } from '../../../infra/local/lambda/local-worker.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../stage/s3.ts';

describeOnS3('the worker', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket.remove());

  it('tells with every turn what it has asked of the store', async () => {
    await using unused = openSqliteObjectStore({ path: ':memory:' });
    const { bucket: name, endpoint, region, forcePathStyle, credentials } = bucket.storeOptions;
    const provider = async () => ({ ...credentials, sessionToken: '', expiration: new Date(2e12) });
    await using site = await startLocalWorker(unused, undefined, {
      memory: {
        store: `s3://${name}/agents`,
        rootKey: randomBytes(32).toString('base64'),
        s3: { endpoint, region, forcePathStyle },
      },
      credentials: () => provider,
    });
    const turn = { tenant: 'acme', turn: 'turn-1', prompt: 'Hello' };
    await site.deliver([turn]);
    await site.deliver([turn]);
    const answered = site.lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === 'turn answered');
    expect(answered).toHaveLength(2);
    expect(answered[0].storeRequests).toBeGreaterThan(3);
    // A refused PUT of the receipt, the tombstone look, the receipt and the answer.
    expect(answered[1].storeRequests).toBe(4);
    expect(answered[1].claudeRequests).toBe(0);
  });
});
