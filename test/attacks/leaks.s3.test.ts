import { describeLeaks, type LeakSite } from '../contracts/leaks.ts';
import { rawBucket } from '../stage/raw-stores.ts';
import { createTestBucket, describeOnS3, s3Environment } from '../stage/s3.ts';
import { restrictedCredentials, tenantStatements } from '../stage/session-credentials.ts';

describeOnS3('a store', ['minio'], (server) => {
  describeLeaks('a bucket', async (tenant): Promise<LeakSite> => {
    const bucket = await createTestBucket(server());
    const raw = rawBucket(bucket);
    const { endpoint, region } = bucket.storeOptions;
    const store = `s3://${bucket.bucket}`;
    const given = await restrictedCredentials(server(), tenantStatements(bucket.bucket, tenant));
    const session = { ...given, expiration: new Date(Date.now() + 3_600_000) };
    const wrong = { ...given, secretAccessKey: 'not the secret of anybody' };
    return {
      options: { store, s3: { endpoint, region, forcePathStyle: true }, credentials: given },
      env: {
        SEALED_MEMORY_STORE: store,
        ...s3Environment({ endpoint, region, credentials: given }),
      },
      session,
      credentials: [...Object.values(given), wrong.secretAccessKey],
      broken: { credentials: wrong },
      keys: raw.keys,
      bytes: async () => Promise.all((await raw.keys()).map((key) => raw.read(key))),
      async damage(key) {
        const bytes = await raw.read(key);
        await raw.write(key, bytes.with(-1, (bytes.at(-1) ?? 0) ^ 1));
      },
      [Symbol.asyncDispose]: () => bucket.remove(),
    };
  });
});
