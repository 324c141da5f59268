import { afterAll } from 'vitest';
import { createLayout, parseTenantId } from '../../src/format/object-keys.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { openBaseStore } from '../../src/store/open-store.ts';
import { describeSealedStore, type SealedSite } from '../contracts/sealed-store.ts';
import { rawBucket } from '../stage/raw-stores.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../stage/s3.ts';

describeOnS3('a bucket', ['minio'], (server) => {
  const buckets: TestBucket[] = [];
  afterAll(async () => {
    for (const bucket of buckets) await bucket.remove();
  });

  async function start(): Promise<SealedSite> {
    const bucket = await createTestBucket(server());
    buckets.push(bucket);
    const { endpoint, region, credentials } = bucket.storeOptions;
    const s3 = { endpoint, region, forcePathStyle: true };
    const location = { kind: 's3', bucket: bucket.bucket, prefix: '' } as const;
    // One pool of connections serves all memories of the suite; everything above it is new for each.
    const base = await openBaseStore({ store: location, s3, credentials });
    const raw = rawBucket(bucket);
    return {
      raw,
      open: (tenant, rootKey) =>
        openMemory({
          store: base.forTenant(createLayout({ prefix: '', tenant: parseTenantId(tenant) })),
          tenant,
          rootKey,
          lazy: true,
        }),
      another: start,
      async everything() {
        const keys = await raw.keys();
        return Promise.all(keys.map((key) => raw.read(key)));
      },
    };
  }

  describeSealedStore('a bucket, seen by a plain S3 client,', { start, step: 13 });
});
