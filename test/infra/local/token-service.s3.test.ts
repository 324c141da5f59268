import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { AssumeRoleCommand, type AssumeRoleCommandInput, STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sessionPolicy } from '../../../infra/local/aws/session-policy.ts';
import { startTokenService, type TokenService } from '../../../infra/local/aws/token-service.ts';
import { parseTenantId } from '../../../src/format/object-keys.ts';
import { createTenantCredentials } from '../../../src/worker/index.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../stage/s3.ts';

const ROLE = 'arn:aws:iam::123456789012:role/tenant';
const CALLER = { accessKeyId: 'AKIAOFTHEWORKER', secretAccessKey: 'its secret' };

describeOnS3('The token service before MinIO', ['minio'], (server) => {
  let bucket: TestBucket;
  let tokens: TokenService;

  beforeAll(async () => {
    bucket = await createTestBucket(server());
    tokens = await startTokenService({
      minio: server(),
      caller: CALLER,
      roleArn: ROLE,
      policyOf: (tenant) => sessionPolicy({ bucketName: bucket.bucket, prefix: 'local', tenant }),
    });
  });
  afterAll(async () => {
    await tokens?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });

  const sts = (credentials = CALLER) =>
    new STSClient({ endpoint: tokens.url, region: 'us-east-1', credentials, maxAttempts: 1 });
  const assume = (input: Partial<AssumeRoleCommandInput>, credentials = CALLER) =>
    sts(credentials).send(
      new AssumeRoleCommand({
        RoleArn: ROLE,
        RoleSessionName: 'worker',
        Tags: [{ Key: 'tenant', Value: 'acme' }],
        ...input,
      }),
    );

  it('gives credentials that reach one tenant, and no other', async () => {
    const provider = createTenantCredentials({ sts: sts(), roleArn: ROLE })(parseTenantId('acme'));
    const client = new S3Client({ ...bucket.storeOptions, credentials: provider });
    const Bucket = bucket.bucket;
    const put = (Key: string) => client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
    const get = (Key: string) => client.send(new GetObjectCommand({ Bucket, Key }));
    const list = (Prefix: string) => client.send(new ListObjectsV2Command({ Bucket, Prefix }));
    for (const key of ['local/tenants/acme/data/x', 'local/keyrings/acme']) {
      await put(key);
      await get(key);
    }
    await list('local/tenants/acme/data/');
    await expect(get('local/tenants/acme/data/missing')).rejects.toMatchObject({ name: 'NoSuchKey' });
    const denied = { $metadata: { httpStatusCode: 403 } };
    for (const key of [
      'local/tenants/bolt/data/x',
      'local/keyrings/bolt',
      'local/tenants/acme-2/data/x',
      'x',
    ]) {
      await expect(put(key), key).rejects.toMatchObject(denied);
      await expect(get(key), key).rejects.toMatchObject(denied);
    }
    for (const prefix of ['', 'local/tenants/', 'local/tenants/bolt/', 'local/keyrings/']) {
      await expect(list(prefix), prefix).rejects.toMatchObject(denied);
    }
    client.destroy();
  });

  it.each<readonly [string, Partial<AssumeRoleCommandInput>]>([
    ['another role', { RoleArn: 'arn:aws:iam::123456789012:role/other' }],
    ['no tenant', { Tags: undefined }],
    ['another tag', { Tags: [{ Key: 'team', Value: 'acme' }] }],
    ['a tenant that is none', { Tags: [{ Key: 'tenant', Value: 'acme/data' }] }],
    ['every tenant', { Tags: [{ Key: 'tenant', Value: '*' }] }],
  ])('refuses %s', async (_, input) => {
    await expect(assume(input)).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  it.each<readonly [string, Partial<AssumeRoleCommandInput>]>([
    ['a policy of the caller', { Policy: '{}' }],
    ['a second tag', { Tags: ['acme', 'bolt'].map((Value) => ({ Key: 'tenant', Value })) }],
    ['tags that outlive the session', { TransitiveTagKeys: ['tenant'] }],
  ])('knows no such parameter: %s', async (_, input) => {
    await expect(assume(input)).rejects.toMatchObject({ name: 'ValidationError' });
  });

  it.each([
    ['another key', { ...CALLER, accessKeyId: 'AKIAOFSOMEBODY' }],
    ['a wrong secret', { ...CALLER, secretAccessKey: 'guessed' }],
  ])('refuses %s', async (_, credentials) => {
    await expect(assume({}, credentials)).rejects.toMatchObject({ name: 'InvalidClientTokenId' });
  });
});
