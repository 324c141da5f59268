import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { guardDeletes } from '../../../../src/store/guarded-delete.ts';
import type { ObjectStore, StoredObject } from '../../../../src/store/port.ts';
import type { S3StoreOptions } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { describeObjectStore } from '../../../contracts/object-store.ts';
import { amount, THOROUGH } from '../../../runner/thorough.ts';
import { createTestBucket, type TestBucket } from '../../../stage/s3.ts';
import { describeEachClient, S3_CLIENTS } from '../../../stage/s3-clients.ts';
import { restrictedCredentials } from '../../../stage/session-credentials.ts';

const MIB = 1024 * 1024;
const BODY = new TextEncoder().encode('sealed bytes');

describeEachClient('the contract', ['minio', 'versitygw'], ({ server, name, client }) => {
  const [isSdk, isGateway] = [client === 'sdk', name === 'versitygw'];
  let bucket: TestBucket;
  afterAll(() => bucket?.remove());

  describeObjectStore(
    `S3 with guarded deletes (${name})`,
    async () => {
      bucket = await createTestBucket(server());
      return guardDeletes(openS3ObjectStore({ ...bucket.storeOptions, client }));
    },
    // Each client and each server has its thousand objects once; a usual run has them through the lean client on MinIO.
    { lacks: (THOROUGH ? isSdk && isGateway : isSdk || isGateway) ? ['speed'] : [] },
  );
});

describeEachClient(
  'the S3 store with credentials that do not cover a key',
  ['minio'],
  ({ server, client }) => {
    it('is denied it at the first attempt, however often it asks', async () => {
      await using bucket = await createTestBucket(server());
      const statement = {
        Effect: 'Allow',
        Action: ['s3:GetObject'],
        Resource: [`arn:aws:s3:::${bucket.bucket}/mine/*`],
      } as const;
      const credentials = await restrictedCredentials(server(), [statement]);
      let requests = 0;
      await using store = openS3ObjectStore({
        client,
        ...bucket.storeOptions,
        credentials,
        onRequest: () => requests++,
      });
      const reads = Array.from({ length: 200 }, () => store.get('theirs/object' as ObjectKey));
      for (const read of await Promise.allSettled(reads)) {
        expect(read).toMatchObject({ status: 'rejected', reason: { code: 'access_denied' } });
      }
      expect(requests).toBe(200);
    });
  },
);

describeEachClient('the S3 store', ['minio', 'versitygw'], ({ server, client }) => {
  it('stores each object beside deletes that empty its folder', async () => {
    await using bucket = await createTestBucket(server());
    await using store = openS3ObjectStore({ ...bucket.storeOptions, client });
    const writer = async (name: string): Promise<void> => {
      const key = `a/folder/of/theirs/${name}` as ObjectKey;
      for (let round = 0; round < amount({ usual: 50, thorough: 200 }); round++) {
        expect(await store.put(key, BODY, { mode: 'create' })).toHaveProperty('etag');
        expect(await store.delete([{ key }])).toEqual([]);
      }
    };
    await Promise.all(['x', 'y', 'z'].map(writer));
  });
});

describeEachClient('the S3 store', ['minio', 'versitygw'], ({ server, client }) => {
  let bucket: TestBucket;
  const requests: string[] = [];
  const opened: ObjectStore[] = [];

  const open = (options: Partial<S3StoreOptions> = {}): ObjectStore => {
    const store = openS3ObjectStore({
      client,
      ...bucket.storeOptions,
      onRequest: ({ operation }) => requests.push(operation),
      ...options,
    });
    opened.push(store);
    requests.length = 0;
    return store;
  };
  const freshKey = (): ObjectKey => `objects/${randomBytes(8).toString('hex')}` as ObjectKey;

  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(async () => {
    for (const each of opened) await each[Symbol.asyncDispose]();
    await bucket?.remove();
  });

  it('needs no second attempt after many refusals on kept-alive connections', async () => {
    const store = open();
    const key = freshKey();
    await store.put(key, BODY, { mode: 'create' });
    requests.length = 0;
    for (let round = 0; round < 30; round++) {
      expect(await store.put(key, BODY, { mode: 'create' })).toEqual({ conflict: 'exists' });
      expect(await store.get(key)).toMatchObject({ body: BODY });
    }
    expect(requests).toHaveLength(60);
  });

  it('needs no second attempt when refusals and reads share all connections', async () => {
    const store = open();
    const key = freshKey();
    await store.put(key, BODY, { mode: 'create' });
    requests.length = 0;
    const calls = Array.from({ length: 400 }, (_, i) =>
      i % 2 === 0 ? store.put(key, BODY, { mode: 'create' }) : store.get(key),
    );
    await Promise.all(calls);
    expect(requests).toHaveLength(400);
  });

  it('reports each HTTP request', async () => {
    const store = open();
    const [one, two] = [freshKey(), freshKey()];
    await store.put(one, BODY, { mode: 'create' });
    await store.put(two, new Uint8Array(6 * MIB), { mode: 'create' });
    await store.get(one);
    await store.head(one);
    for await (const _ of store.list({ prefix: one }));
    await store.delete([{ key: one }]);
    await store.delete([{ key: one }, { key: two }]);
    expect(requests).toEqual([
      'PutObject',
      'CreateMultipartUpload',
      'UploadPart',
      'UploadPart',
      'CompleteMultipartUpload',
      'GetObject',
      'HeadObject',
      'ListObjectsV2',
      'DeleteObject',
      'DeleteObjects',
    ]);
  });

  it('sends 5 MiB in one request and one byte more in two parts, under the same conditions', async () => {
    const store = open();
    const key = freshKey();
    const [least, more] = [randomBytes(5 * MIB), randomBytes(5 * MIB + 1)];
    const whole = await store.put(key, least, { mode: 'create' });
    if (!('etag' in whole)) throw new Error('the object is already there');
    expect(requests).toEqual(['PutObject']);
    expect(Buffer.from(((await store.get(key)) as StoredObject).body).equals(least)).toBe(true);
    requests.length = 0;
    const inParts = await store.put(key, more, { mode: { ifMatch: whole.etag } });
    expect(requests.slice(1, -1)).toEqual(['UploadPart', 'UploadPart']);
    expect(await store.get(key)).toMatchObject({ ...inParts, size: 5 * MIB + 1 });
    expect(await store.put(key, more, { mode: { ifMatch: whole.etag } })).toEqual({ conflict: 'changed' });
    expect(await store.put(key, more, { mode: 'create' })).toEqual({ conflict: 'exists' });
  });

  it('lets exactly one of many racing creates of 12 MiB win and leaves no parts', async () => {
    const store = open();
    const key = freshKey();
    const content = new Uint8Array(12 * MIB + 20).fill(5);
    const sizes = Array.from({ length: 20 }, (_, i) => 12 * MIB + i);
    const results = await Promise.all(
      sizes.map((size) => store.put(key, content.subarray(0, size), { mode: 'create' })),
    );
    expect(results.filter((result) => 'etag' in result)).toHaveLength(1);
    expect(results.filter((result) => 'conflict' in result && result.conflict === 'exists')).toHaveLength(19);
    const winner = results.findIndex((result) => 'etag' in result);
    expect(await store.head(key)).toMatchObject({ ...results[winner], size: sizes[winner] });
    const parts = await bucket.client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket.bucket, Prefix: key }),
    );
    expect(parts.Uploads ?? []).toEqual([]);
  });

  it('reads on after refusing an object that is too large', async () => {
    const store = open();
    const key = freshKey();
    await store.put(key, new Uint8Array(20 * MIB), { mode: 'create' });
    const reads = Array.from({ length: 100 }, () => store.get(key, { maxBytes: 1000 }));
    for (const read of await Promise.allSettled(reads)) {
      expect(read).toMatchObject({ status: 'rejected', reason: { code: 'limit_exceeded' } });
    }
    expect(await store.head(key)).toMatchObject({ size: 20 * MIB });
  });

  describe('tells the operator, without naming the bucket,', () => {
    const failureOf = async (options: Partial<S3StoreOptions>): Promise<unknown> => {
      const failure = await open(options)
        .get(freshKey())
        .catch((error: unknown) => error);
      expect(String(failure)).not.toContain(options.bucket ?? bucket.bucket);
      return failure;
    };

    it('that the bucket does not exist', async () => {
      const missing = { bucket: `sealed-memory-absent-${randomBytes(4).toString('hex')}` };
      expect(await failureOf(missing)).toMatchObject({
        code: 'misconfigured',
        message: expect.stringContaining('bucket does not exist'),
      });
      await expect(open(missing).put(freshKey(), BODY, { mode: 'create' })).rejects.toMatchObject({
        code: 'misconfigured',
      });
    });

    it('that the secret is wrong', async () => {
      const { accessKeyId } = bucket.storeOptions.credentials;
      const credentials = { accessKeyId, secretAccessKey: 'not-the-secret' };
      expect(await failureOf({ credentials })).toMatchObject({ code: 'access_denied' });
    });

    it('that the access key is unknown', async () => {
      const credentials = { accessKeyId: 'nobody', secretAccessKey: 'not-the-secret' };
      expect(await failureOf({ credentials })).toMatchObject({ code: 'access_denied' });
    });
  });
});

describe.each(S3_CLIENTS)('openS3ObjectStore with the client %s', (client) => {
  let server: Server | undefined;
  afterEach(async () => {
    vi.unstubAllEnvs();
    server?.closeAllConnections();
    server?.close();
    server = undefined;
  });

  /** A server that takes connections and never answers. */
  const startSilentServer = async (): Promise<string> => {
    server = createServer(() => {});
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  const forgetCredentials = (): void => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_PROFILE']) {
      vi.stubEnv(name, undefined);
    }
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent/credentials');
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent/config');
  };

  it('says in seconds that there are no credentials, though nothing answers for them', async () => {
    forgetCredentials();
    vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', await startSilentServer());
    await using store = openS3ObjectStore({ client, bucket: 'any-bucket', endpoint: 'http://127.0.0.1:1' });
    const start = performance.now();
    await expect(store.put('key' as ObjectKey, BODY, { mode: 'create' })).rejects.toMatchObject({
      code: 'access_denied',
      message: expect.stringContaining('AWS_ACCESS_KEY_ID'),
    });
    expect(performance.now() - start).toBeLessThan(8000);
  });

  it('refuses an endpoint that only the AWS SDK knows of', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_S3', 'http://127.0.0.1:1');
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
    await using store = openS3ObjectStore({ client, bucket: 'any-bucket', region: 'us-east-1', credentials });
    await expect(store.get('key' as ObjectKey)).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('AWS_ENDPOINT_URL'),
    });
  });

  it('ends for a name that does not resolve and for a port where nothing listens', async () => {
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
    for (const endpoint of ['http://s3.invalid', 'http://127.0.0.1:1']) {
      await using store = openS3ObjectStore({ client, bucket: 'any-bucket', endpoint, credentials });
      await expect(store.get('key' as ObjectKey)).rejects.toMatchObject({ code: 'unavailable' });
      const putting = store.put('key' as ObjectKey, BODY, { mode: 'create' });
      await expect(putting).rejects.toMatchObject({ code: 'unavailable' });
    }
  });
});
