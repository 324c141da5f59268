import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { bySize } from '../../../../src/store/s3/by-size.ts';
import type { S3Store, S3StoreOptions } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';

const MIB = 1024 * 1024;
const KEY = 'objects/one' as ObjectKey;
const ETAG = '"5d41402abc4b2a76b9719d911017c592"';

const sdk = vi.hoisted(() => ({ opened: 0 }));
vi.mock(import('../../../../src/store/s3/sdk/sdk-store.ts'), async (load) => {
  const { openSdkStore, ...others } = await load();
  return {
    ...others,
    openSdkStore: (options) => {
      sdk.opened += 1;
      return openSdkStore(options);
    },
  };
});

let server: Server;
let requests: string[];
let opened: S3Store[];

beforeEach(async () => {
  sdk.opened = 0;
  requests = [];
  opened = [];
  server = createServer((request, response) => {
    const { method, url = '' } = request;
    const answer = (): string => {
      if (url.includes('versions')) return '<ListVersionsResult><Name>b</Name></ListVersionsResult>';
      if (method !== 'POST') return '';
      return url.includes('?uploads')
        ? '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>'
        : `<CompleteMultipartUploadResult><ETag>${ETAG}</ETag></CompleteMultipartUploadResult>`;
    };
    request.resume().on('end', () => response.setHeader('etag', ETAG).end(answer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  for (const store of opened) await store[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

function open(options: Partial<S3StoreOptions> = {}): S3Store {
  const store = openS3ObjectStore({
    bucket: 'b',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    onRequest: ({ operation }) => requests.push(operation),
    ...options,
  });
  opened.push(store);
  return store;
}

it('a body of 5 MiB takes one request and no SDK; one byte more takes two parts, and opens the SDK once', async () => {
  const store = open();
  await store.put(KEY, new Uint8Array(5 * MIB), { mode: 'create' });
  await store.get(KEY);
  await store.head(KEY);
  await store.delete([{ key: KEY }]).catch(() => {});
  expect(sdk.opened).toBe(0);
  expect(requests).toEqual(['PutObject', 'GetObject', 'HeadObject', 'DeleteObject']);
  for (let time = 0; time < 2; time++) {
    requests.length = 0;
    await store.put(KEY, new Uint8Array(5 * MIB + 1), { mode: 'create' });
    const parts = ['UploadPart', 'UploadPart'];
    expect(requests).toEqual(['CreateMultipartUpload', ...parts, 'CompleteMultipartUpload']);
    expect(sdk.opened).toBe(1);
  }
});

it('the versions of a bucket are asked for by the SDK, which is opened then', async () => {
  const { versions } = open();
  const listing = versions.below('objects/');
  expect(sdk.opened).toBe(0);
  for await (const page of listing) expect(page).toEqual([]);
  expect([sdk.opened, requests]).toEqual([1, ['ListObjectVersions']]);
});

it.each([
  ['the option that chooses it', { client: 'sdk' }],
  ['an access point', { bucket: 'arn:aws:s3:us-east-1:123456789012:accesspoint/one' }],
  ['an outpost', { bucket: 'arn:aws:s3-outposts:us-east-1:123456789012:outpost:op-1:accesspoint:one' }],
  ['an access point of an outpost', { bucket: 'one-o0123456789abcdef0123456789abcdef--op-s3' }],
  ['a directory bucket', { bucket: 'one--use1-az4--x-s3' }],
  ['an access point of a directory bucket', { bucket: 'one--use1-az4--xa-s3' }],
] as const)('the SDK serves everything of %s', async (_, options) => {
  const store = open(options);
  expect(sdk.opened).toBe(0);
  const ended = Promise.allSettled([
    store.head(KEY),
    store.get(KEY),
    store.put(KEY, Uint8Array.of(1), { mode: 'create' }),
  ]);
  await vi.waitUntil(() => sdk.opened > 0, 10_000);
  await store[Symbol.asyncDispose]();
  server.closeAllConnections();
  await ended;
  expect(sdk.opened).toBe(1);
});

it('the layer asks the other store for nothing but larger bodies and versions', async () => {
  const calls: string[] = [];
  const named = (name: string): S3Store => {
    const verb = (of: string) => () => {
      calls.push(`${name} ${of}`);
      return Promise.resolve(undefined) as never;
    };
    return {
      get: verb('get'),
      head: verb('head'),
      put: verb('put'),
      delete: verb('delete'),
      list: verb('list'),
      versions: { list: verb('versions'), below: verb('below'), get: verb('get'), remove: verb('remove') },
      [Symbol.asyncDispose]: verb('close'),
    };
  };
  const large = named('large');
  const store = bySize(named('small') satisfies ObjectStore, large, 3);
  await store.get(KEY);
  await store.head(KEY);
  await store.put(KEY, new Uint8Array(3), { mode: 'create' });
  await store.put(KEY, new Uint8Array(4), { mode: 'create' });
  await store.delete([{ key: KEY }]);
  store.list({ prefix: '' });
  expect(calls).toEqual([
    ...['small get', 'small head', 'small put', 'large put', 'small delete', 'small list'],
  ]);
  expect(store.versions).toBe(large.versions);
});
