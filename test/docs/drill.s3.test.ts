import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, it, vi } from 'vitest';
import { createTestBucket, describeOnS3, s3Environment, type TestBucket } from '../stage/s3.ts';
import { takeDrill } from './drill.ts';

describeOnS3('the drill of docs/drill.md', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket.remove());

  it('leads from the log to what came of it, back, and out, in a bucket', { timeout: 300_000 }, async () => {
    const settings = s3Environment(bucket.storeOptions);
    // The memory is prepared by this process, with the credentials that it has.
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
    try {
      await takeDrill({
        SEALED_MEMORY_STORE: `s3://${bucket.bucket}/drill`,
        SEALED_MEMORY_TENANT: 'acme',
        SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64'),
        ...settings,
      });
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

it('the drill of docs/drill.md leads from the log to what came of it, back, and out', {
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-drill-store-'));
  try {
    await takeDrill({
      SEALED_MEMORY_STORE: `sqlite:${join(folder, 'memory.sqlite')}`,
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64'),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
