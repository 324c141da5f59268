import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { createTestBucket, describeOnS3, s3Environment, type TestBucket } from '../stage/s3.ts';
import { runDemo, SECRET_WORDS } from './demo-process.ts';

describeOnS3('npm run demo', ['minio'], (server) => {
  it('plays the same on S3, and leaves no name and no word of the memory there', {
    timeout: 60_000,
  }, async () => {
    await using bucket = await createTestBucket(server());
    const { code, stdout, stderr } = await runDemo('main.ts', {
      env: {
        SEALED_MEMORY_STORE: `s3://${bucket.bucket}/some/prefix`,
        ...s3Environment(bucket.storeOptions),
      },
    });

    expect(stderr).toBe('');
    expect(stdout).toContain(`Store     s3://${bucket.bucket}/some/prefix`);
    expect(stdout.match(/^checked: /gm)).toHaveLength(2);
    expect(code).toBe(0);

    const objects = await readBucket(bucket);
    expect(objects.filter(({ key }) => /^some\/prefix\/tenants\/demo-\w+\/data\//.test(key))).toHaveLength(4);
    for (const { key, body } of objects) {
      for (const word of SECRET_WORDS) {
        expect(key).not.toContain(word);
        expect(body.includes(word), word).toBe(false);
      }
    }
  });
});

async function readBucket({
  bucket,
  client,
}: TestBucket): Promise<readonly { readonly key: string; readonly body: Buffer }[]> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
  return Promise.all(
    Contents.map(async ({ Key: key = '' }) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      return { key, body: Buffer.from((await Body?.transformToByteArray()) ?? []) };
    }),
  );
}
