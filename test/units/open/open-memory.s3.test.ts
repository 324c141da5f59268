import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../stage/s3.ts';

const [, README_EXAMPLE = ''] =
  /```ts\n(import Anthropic[\s\S]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? [];

describeOnS3('openMemory', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());

  const options = () => {
    const { bucket: name, credentials, ...s3 } = bucket.storeOptions;
    return { store: `s3://${name}`, credentials, s3, tenant: 'acme', rootKey: new Uint8Array(32) };
  };

  it('opens a memory in a bucket that exists', async () => {
    await using memory = await openMemory(options());
    expect(await memory.execute({ command: 'view', path: '/memories' })).toMatchObject({ isError: false });
  });

  it.each([
    [
      'a bucket that does not exist',
      { store: 's3://no-such-bucket-4711' },
      'misconfigured',
      'The bucket does not exist: create it, or correct its name or the endpoint.',
    ],
    [
      'a wrong secret',
      { credentials: { accessKeyId: 'minioadmin', secretAccessKey: 'wrong-secret' } },
      'access_denied',
      'The object store refused the credentials: check the access key, its secret and whether they have expired.',
    ],
    [
      'an access key that does not exist',
      { credentials: { accessKeyId: 'nobody', secretAccessKey: 'wrong-secret' } },
      'access_denied',
      'The object store refused the credentials: check the access key, its secret and whether they have expired.',
    ],
  ])('rejects for %s, with what to do', async (_, wrong, code, message) => {
    await expect(openMemory({ ...options(), ...wrong })).rejects.toMatchObject({ code, message });
  });

  it('ends the ten lines of the README with an exit code and a remedy, not with a Claude that has no memory', async () => {
    const { endpoint, region, credentials } = bucket.storeOptions;
    const script = README_EXAMPLE.replace("from 'sealed-memory'", "from './src/index.ts'");
    expect(script).toContain("from './src/index.ts'");
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], {
      env: {
        SEALED_MEMORY_STORE: 's3://no-such-bucket-4711/agents',
        SEALED_MEMORY_TENANT: 'acme',
        SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 1).toString('base64'),
        SEALED_MEMORY_S3_ENDPOINT: endpoint,
        SEALED_MEMORY_S3_REGION: region,
        ANTHROPIC_API_KEY: 'none',
        AWS_ACCESS_KEY_ID: credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      },
    });
    const [stdout, stderr, status] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise((resolve) => child.once('close', resolve)),
    ]);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(
      'MemoryError: The bucket does not exist: create it, or correct its name or the endpoint.',
    );
  });
});
