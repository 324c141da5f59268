import { randomBytes } from 'node:crypto';
import { ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { guardDeletes } from '../../src/store/guarded-delete.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openS3ObjectStore } from '../../src/store/s3/s3-store.ts';
import { describeHistoryLife } from '../contracts/history-life.ts';
import { rawBucket } from '../stage/raw-stores.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../stage/s3.ts';
import { describeEachClient } from '../stage/s3-clients.ts';
import { type ProxiedRequest, s3ErrorAnswer, startS3Proxy } from '../stage/s3-proxy.ts';
import { laterStore } from '../stage/store-wrappers.ts';
import { createVersionedBucket } from '../stage/versioned-bucket.ts';

describeOnS3('history', ['minio', 'versitygw'], (server, name) => {
  let bucket: TestBucket;
  let plain: ObjectStore;
  const rootKey = randomBytes(32);
  beforeAll(async () => {
    bucket = await (name === 'minio' ? createVersionedBucket(server()) : createTestBucket(server()));
    plain = openS3ObjectStore(bucket.storeOptions);
  });
  afterAll(async () => {
    await plain?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });

  async function kept(key: string): Promise<readonly Uint8Array[]> {
    const { Versions = [] } = await bucket.client.send(
      new ListObjectVersionsCommand({ Bucket: bucket.bucket, Prefix: key }),
    );
    const versions = openS3ObjectStore(bucket.storeOptions).versions;
    const older = Versions.filter(({ Key, IsLatest }) => Key === key && !IsLatest);
    const bodies = await Promise.all(
      older.map(({ VersionId = '' }) => versions.get(key as ObjectKey, VersionId)),
    );
    return bodies.filter((body) => body !== undefined);
  }

  describeHistoryLife(name === 'minio' ? 'a bucket that keeps versions' : 'a bucket', () => {
    const { bucket: name, credentials, ...s3 } = bucket.storeOptions;
    const site = {
      options: (laterMs = 0) =>
        laterMs === 0
          ? { store: `s3://${name}`, s3, credentials, rootKey }
          : { store: guardDeletes(laterStore(plain, laterMs)), rootKey },
      raw: rawBucket(bucket),
    };
    return server().name === 'minio' ? { ...site, kept } : site;
  });
});

describeEachClient('history, where the bucket takes no records of it,', ['minio'], ({ server, client }) => {
  it('leaves each file as it was: what cannot be saved is not replaced', async () => {
    await using bucket = await createTestBucket(server());
    await using proxy = await startS3Proxy(bucket.storeOptions.endpoint);
    const { bucket: name, credentials, endpoint: _, ...s3 } = bucket.storeOptions;
    await using memory = await openMemory({
      store: `s3://${name}`,
      s3: { ...s3, endpoint: proxy.endpoint, client },
      credentials,
      tenant: 'acme',
      rootKey: randomBytes(32),
      history: { days: 30 },
    });
    const { files, history } = memory;
    for (const path of ['/memories/a', '/memories/d/b']) await files.write(path, 'one');
    const isOfHistory = ({ method, url }: ProxiedRequest): boolean =>
      method === 'PUT' && url.includes('/history/');
    proxy.react((request) => (isOfHistory(request) ? s3ErrorAnswer(403, 'AccessDenied') : 'forward'));
    const deeds = [
      () => files.append('/memories/a', ' two'),
      () => files.write('/memories/a', 'two'),
      () => files.remove('/memories/a'),
      () => files.remove('/memories/d'),
    ];
    for (const deed of deeds) await expect(deed()).rejects.toMatchObject({ code: 'access_denied' });
    expect((await files.read('/memories/a'))?.text()).toBe('one');
    expect((await files.read('/memories/d/b'))?.text()).toBe('one');

    proxy.react(() => 'forward');
    proxy.requests.length = 0;
    await files.append('/memories/a', ' two');
    const puts = proxy.requests.filter(({ method }) => method === 'PUT').map(isOfHistory);
    expect(puts).toEqual([true, false]);
    expect((await history.list('/memories/a')).map(({ version }) => version)).toHaveLength(2);
  });
});
