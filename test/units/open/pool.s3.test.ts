import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMemoryPool, type MemoryPool } from '../../../src/open/pool.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../stage/s3.ts';

describeOnS3('createMemoryPool', ['minio'], (server) => {
  const path = '/memories/f';
  let bucket: TestBucket;
  let pool: MemoryPool;

  beforeAll(async () => {
    bucket = await createTestBucket(server());
    const { bucket: name, credentials: _, ...s3 } = bucket.storeOptions;
    const credentials = async () => bucket.storeOptions.credentials;
    pool = createMemoryPool({
      lazy: true,
      store: `s3://${name}/pool`,
      s3,
      credentials,
      rootKey: new Uint8Array(32).fill(4),
    });
  });
  afterAll(async () => {
    await pool?.close();
    await bucket?.remove();
  });

  const wrong = async () => ({ accessKeyId: 'nobody', secretAccessKey: 'x'.repeat(40) });

  it('uses the credentials of each tenant, and its own where none are given', async () => {
    const denied = await pool.open('denied', { credentials: wrong });
    const served = await pool.open('served');
    const [refused, done] = await Promise.all(
      [denied, served].map((memory) => memory.execute({ command: 'create', path, file_text: 'x' })),
    );
    expect(refused).toMatchObject({ isError: true, error: { code: 'access_denied' } });
    expect(done).toMatchObject({ isError: false });
  });

  it('lets new credentials take over at once', async () => {
    const old = await pool.open('renewed', { credentials: wrong });
    const create = { command: 'create', path, file_text: 'x' };
    expect(await old.execute(create)).toMatchObject({ error: { code: 'access_denied' } });
    const right = async () => bucket.storeOptions.credentials;
    const fresh = await pool.open('renewed', { credentials: right });
    expect(await fresh.execute(create)).toMatchObject({ isError: false });
    await old.close();
    expect(await fresh.execute({ command: 'view', path })).toMatchObject({ isError: false });
  });
});
