import { afterAll } from 'vitest';
import { createLayout, parseTenantId } from '../../../../src/format/object-keys.ts';
import { openBaseStore } from '../../../../src/store/open-store.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { describeMigration } from '../../../contracts/migration-load.ts';
import { describeStaleKey } from '../../../contracts/stale-key.ts';
import { createTestBucket, describeOnS3, S3_SERVERS } from '../../../stage/s3.ts';

describeOnS3('a bucket', S3_SERVERS, (server) => {
  const disposables: AsyncDisposable[] = [];
  afterAll(async () => {
    for (const each of disposables.reverse()) await each[Symbol.asyncDispose]();
  });

  const start = async (): Promise<ObjectStore> => {
    const bucket = await createTestBucket(server());
    const { endpoint, region, credentials } = bucket.storeOptions;
    const location = { kind: 's3', bucket: bucket.bucket, prefix: '' } as const;
    const base = await openBaseStore({
      store: location,
      s3: { endpoint, region, forcePathStyle: true },
      credentials,
    });
    disposables.push(bucket, base);
    return base.forTenant(createLayout({ prefix: '', tenant: parseTenantId('acme') }));
  };

  describeStaleKey('a bucket', start);
  describeMigration('a bucket', start);
});
