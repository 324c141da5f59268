import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLayout, type ObjectKey, parseTenantId } from '../../../src/format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../../../src/format/sizes.ts';
import {
  type ConfiguredStore,
  openBaseStore,
  parseStoreLocation,
  placeOf,
  type S3Options,
} from '../../../src/store/open-store.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';

const HOUR = 3_600_000;
const LAYOUT = createLayout({ prefix: '', tenant: parseTenantId('acme') });
const KEY = `${LAYOUT.data}file` as ObjectKey;
const BODY = new Uint8Array(1);
const CREDENTIALS = { accessKeyId: 'ID', secretAccessKey: 'secret' };

/** Answers one request; undefined leaves it to a 200 with an ETag. */
type Answer = (request: IncomingMessage, response: ServerResponse) => string | undefined;

/** A server in the place of S3, and what it was asked. */
async function openServer(answer: Answer = () => undefined) {
  const asked: string[] = [];
  const keys = new Set<string | undefined>();
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    keys.add(/Credential=(\w+)/.exec(request.headers.authorization ?? '')?.[1]);
    response.setHeader('etag', '"1"');
    response.end(answer(request, response));
  });
  // It closes no connection by itself.
  server.keepAliveTimeout = 0;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    asked,
    keys,
    server,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function openBucket(s3: S3Options, prefix = '') {
  return openBaseStore({
    store: { kind: 's3', bucket: 'bucket', prefix },
    s3: { region: 'us-east-1', ...s3 },
    credentials: CREDENTIALS,
  });
}

describe('a bucket', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('elsewhere than at AWS is written to once it was seen to honour a condition', async () => {
    await using site = await openServer();
    await using base = await openBucket({ endpoint: site.endpoint });
    const written = base.forTenant(LAYOUT).put(KEY, BODY, { mode: 'create' });
    await expect(written).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('ignores If-None-Match'),
    });
    // A key that no other process tries decides, and goes again.
    const alone = site.asked[2]?.replace('PUT ', '') ?? '';
    expect(alone).toMatch(new RegExp(`^/bucket/${LAYOUT.probe}-[\\w-]{12}$`));
    const probe = `/bucket/${LAYOUT.probe}`;
    expect(site.asked).toEqual([
      ...[`PUT ${probe}`, `PUT ${probe}`],
      ...[`PUT ${alone}`, `PUT ${alone}`, `DELETE ${alone}`],
    ]);
  });

  it('at AWS is used as it is, and so are its deletes', async () => {
    await using base = await openBucket({});
    expect(base.forTenant(LAYOUT)).toBe(base.plain);
    expect(await base.buryTombstones('')).toBe(0);
    expect(base.versions).toHaveProperty('below');
  });

  it.each<[string, S3Options, boolean]>([
    ['on a server elsewhere', {}, true],
    ['on a server elsewhere that honours conditions on deletes', { guarded: true }, false],
    ['on a server elsewhere of which it is said that it does not', { guarded: false }, true],
  ])('deletes by a tombstone where the server does not honour a condition: %s', async (_, s3, isPlaced) => {
    let tries = 0;
    await using site = await openServer(({ method, url = '' }, response) => {
      // The probe is refused once, which proves that conditions are honoured.
      if (method === 'PUT' && url.includes('probe') && ++tries === 1) response.statusCode = 412;
      if (method === 'DELETE') response.statusCode = 204;
      return undefined;
    });
    await using base = await openBucket({ endpoint: site.endpoint, ...s3 });
    const store = base.forTenant(LAYOUT);
    const written = await store.put(KEY, BODY, { mode: 'create' });
    if (!('etag' in written)) throw new Error('it was not written');
    site.asked.length = 0;
    expect(await store.delete([{ key: KEY, ifMatch: written.etag }])).toEqual([]);
    const path = `/bucket/${KEY}`;
    expect(site.asked).toEqual(isPlaced ? [`PUT ${path}`, `DELETE ${path}`] : [`DELETE ${path}`]);
  });

  it('is asked for what deletes left there more than an hour ago, and loses it', async () => {
    const now = Date.parse('2026-05-05T12:00:00Z');
    const row = (name: string, ms: number): string =>
      `<Contents><Key>${LAYOUT.data}${name}</Key><ETag>"1"</ETag><Size>${TOMBSTONE_BYTES}</Size>` +
      `<LastModified>${new Date(now - ms).toISOString()}</LastModified></Contents>`;
    const rows = row('old', HOUR + 1_000) + row('young', HOUR);
    let prefix: string | null = '';
    await using site = await openServer(({ method, url = '' }, response) => {
      response.setHeader('date', new Date(now).toUTCString());
      if (method === 'DELETE') response.statusCode = 204;
      if (method !== 'GET') return undefined;
      prefix = new URL(url, 'http://host').searchParams.get('prefix');
      return `<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>${rows}</ListBucketResult>`;
    });
    await using base = await openBucket({ endpoint: site.endpoint });
    expect(await base.buryTombstones('tenants/')).toBe(1);
    expect(prefix).toBe('tenants/');
    const old = `/bucket/${LAYOUT.data}old`;
    expect(site.asked).toEqual(['GET /bucket/', `PUT ${old}`, `DELETE ${old}`]);
    const aborted = AbortSignal.abort();
    await expect(base.buryTombstones('', { signal: aborted })).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each([
    ['the clock of this process', performance],
    ['the wall clock', Date],
  ])(
    'keeps what a delete left where half a minute has passed since it was taken over, by %s',
    async (_, clock) => {
      const now = clock.now.bind(clock);
      let frozenMs = 0;
      vi.spyOn(clock, 'now').mockImplementation(() => now() + frozenMs);
      const row = `<Contents><Key>${KEY}</Key><ETag>"1"</ETag><Size>${TOMBSTONE_BYTES}</Size><LastModified>2026-05-05T12:00:00Z</LastModified></Contents>`;
      await using site = await openServer(({ method }, response) => {
        response.setHeader('date', 'Wed, 06 May 2026 12:00:00 GMT');
        if (method === 'PUT') frozenMs = 30_000;
        if (method !== 'GET') return undefined;
        return `<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>${row}</ListBucketResult>`;
      });
      await using base = await openBucket({ endpoint: site.endpoint });
      expect(await base.buryTombstones('')).toBe(0);
      expect(site.asked).toEqual(['GET /bucket/', `PUT /bucket/${KEY}`]);
    },
  );

  it('is not asked for what deletes left there where they leave nothing', async () => {
    await using site = await openServer();
    await using base = await openBucket({ endpoint: site.endpoint, guarded: true });
    expect(await base.buryTombstones('')).toBe(0);
    expect(site.asked).toEqual([]);
  });

  it('is reached with other credentials over the same connections, as the same place', async () => {
    const closing: Promise<unknown>[] = [];
    await using site = await openServer();
    site.server.on('connection', (socket) => closing.push(once(socket, 'close')));
    const base = await openBucket({ endpoint: site.endpoint });
    await base.plain.head(KEY);
    const other = base.withCredentials({ accessKeyId: 'OTHER', secretAccessKey: 'secret' });
    await other.plain.head(KEY);
    expect([...site.keys]).toEqual(['ID', 'OTHER']);
    expect(other.place).toBe(base.place);
    expect(other.stamps).toBe(base.stamps);
    // To close either closes the connections of both.
    await other[Symbol.asyncDispose]();
    await Promise.all(closing);
  });

  it('tells the time of its server', async () => {
    const ahead = 12 * HOUR;
    await using site = await openServer((_, response) => {
      response.setHeader('date', new Date(Date.now() + ahead).toUTCString());
      return undefined;
    });
    await using base = await openBucket({ endpoint: site.endpoint });
    expect(base.stamps.skew()).toBe(0);
    await base.plain.head(KEY);
    expect(Math.round(base.stamps.skew() / HOUR)).toBe(-12);
  });

  it('lets its connections go when it is closed', async () => {
    await using site = await openServer();
    const base = await openBucket({ endpoint: site.endpoint });
    const connected = once(site.server, 'connection');
    await base.plain.head(KEY);
    const [socket] = await connected;
    const gone = once(socket, 'close');
    await base[Symbol.asyncDispose]();
    await gone;
  });

  it('is told apart from another by its server, its name and its prefix', async () => {
    const places = await Promise.all(
      [
        openBucket({}),
        openBucket({}, 'a'),
        openBucket({ endpoint: 'http://127.0.0.1:1' }),
        openBucket({ endpoint: 'http://127.0.0.1:2' }),
      ].map(async (opening) => (await opening).place),
    );
    expect(places).toEqual([
      ' s3://bucket/',
      ' s3://bucket/a',
      'http://127.0.0.1:1 s3://bucket/',
      'http://127.0.0.1:2 s3://bucket/',
    ]);
  });
});

describe('a store beside the network', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'open-store-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const isClosed = (store: { head(key: ObjectKey): Promise<unknown> }): Promise<boolean> =>
    store.head(KEY).then(
      () => false,
      () => true,
    );
  const open = (store: ConfiguredStore) => openBaseStore({ store, s3: {} });

  it.each([
    ['in memory', (): ConfiguredStore => ({ kind: 'memory' })],
    ['in a file', (): ConfiguredStore => ({ kind: 'sqlite', path: join(folder, 'a.db') })],
  ])('%s is used as it is, and closed', async (_, configured) => {
    const base = await open(configured());
    expect(base.forTenant(LAYOUT)).toBe(base.plain);
    expect(base.withCredentials(CREDENTIALS)).toBe(base);
    expect(base.versions).toBeUndefined();
    expect(base.stamps.skew()).toBe(0);
    expect(await base.buryTombstones('')).toBe(0);
    expect(await base.plain.put(KEY, BODY, { mode: 'create' })).toHaveProperty('etag');
    expect(await isClosed(base.plain)).toBe(false);
    await base[Symbol.asyncDispose]();
    expect(await isClosed(base.plain)).toBe(true);
  });

  it('in a file keeps its objects there', async () => {
    const path = join(folder, 'a.db');
    await using base = await open({ kind: 'sqlite', path });
    await base.plain.put(KEY, BODY, { mode: 'create' });
    await using other = await open({ kind: 'sqlite', path });
    expect(await other.plain.get(KEY)).toMatchObject({ body: BODY });
    expect(other.place).toBe(base.place);
  });

  it('in memory is a place of its own each time', async () => {
    await using one = await open({ kind: 'memory' });
    await using other = await open({ kind: 'memory' });
    expect(one.place).toBe(one.plain);
    expect(other.place).not.toBe(one.place);
    await one.plain.put(KEY, BODY, { mode: 'create' });
    expect(await other.plain.head(KEY)).toBeUndefined();
  });

  it('that the caller opened stays open', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const base = await open({ kind: 'opened', store });
    expect(base.place).toBe(store);
    await base.plain.put('a' as ObjectKey, new Uint8Array(1), { mode: 'create' });
    expect(await store.head('a' as ObjectKey)).toMatchObject({ size: 1 });
    await base[Symbol.asyncDispose]();
    expect(await isClosed(store)).toBe(false);
  });
});

describe('the place of a store', () => {
  it.each<[ConfiguredStore, string]>([
    [{ kind: 'memory' }, 'memory:'],
    [{ kind: 'sqlite', path: '/a/../b.db' }, 'sqlite:/b.db'],
    [{ kind: 'sqlite', path: 'b.db' }, `sqlite:${resolve('b.db')}`],
    [{ kind: 's3', bucket: 'bucket', prefix: '' }, 's3://bucket/'],
    [{ kind: 's3', bucket: 'bucket', prefix: 'a/b' }, 's3://bucket/a/b'],
  ])('%j is %s', (store, place) => {
    expect(placeOf(store)).toBe(place);
  });

  it('that the caller opened is the store itself', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    expect(placeOf({ kind: 'opened', store })).toBe(store);
  });
});

describe('the text of a location', () => {
  const bucket = (name: string, prefix = '') => ({ kind: 's3', bucket: name, prefix });

  it.each([
    ['memory:', { kind: 'memory' }],
    ['sqlite:memory.db', { kind: 'sqlite', path: 'memory.db' }],
    ['sqlite:/var/a.db', { kind: 'sqlite', path: '/var/a.db' }],
    ['sqlite:a:', { kind: 'sqlite', path: 'a:' }],
    ['sqlite:a:b', { kind: 'sqlite', path: 'a:b' }],
    ['sqlite:a/file:b//c', { kind: 'sqlite', path: 'a/file:b//c' }],
    ['s3://bucket', bucket('bucket')],
    ['s3://bucket/', bucket('bucket')],
    ['s3://bucket/a', bucket('bucket', 'a')],
    ['s3://bucket/a/b/', bucket('bucket', 'a/b')],
    ['s3://bucket/a//', bucket('bucket', 'a/')],
    ['s3://bucket/a/.b./..c', bucket('bucket', 'a/.b./..c')],
    ['s3://a-b.9', bucket('a-b.9')],
    ['s3://abc', bucket('abc')],
    [`s3://${'a'.repeat(63)}`, bucket('a'.repeat(63))],
  ])('%s names a place', (text, location) => {
    expect(parseStoreLocation(text, 'store')).toEqual(location);
  });

  it.each([
    ['', 'must be memory:'],
    ['memory', 'must be memory:'],
    ['memory:x', 'must be memory:'],
    ['amemory:', 'must be memory:'],
    ['a sqlite:b', 'must be memory:'],
    ['http://bucket', 'must be memory:'],
    ['s3:/bucket', 'must be memory:'],
    ['sqlite:', 'needs the path of a file'],
    ['sqlite::memory:', 'needs the path of a file'],
    ['sqlite::x', 'needs the path of a file'],
    ['sqlite:file:a.db', 'needs the path of a file'],
    ['sqlite:a\0b', 'needs the path of a file'],
    ['sqlite://a.db', 'without "//"'],
    ['s3://', 'must name a bucket'],
    ['s3:///a', 'must name a bucket'],
    ['s3://ab', 'must name a bucket'],
    [`s3://${'a'.repeat(64)}`, 'must name a bucket'],
    ['s3://-bucket', 'must name a bucket'],
    ['s3://bucket-', 'must name a bucket'],
    ['s3://.bucket', 'must name a bucket'],
    ['s3://bucket.', 'must name a bucket'],
    ['s3://Bucket', 'must name a bucket'],
    ['s3://buc_ket', 'must name a bucket'],
    ['s3://buc..ket', 'must name a bucket'],
    ['s3://bucket?a/b', 'must name a bucket'],
    ['s3://bucket/a?b', 'has a prefix'],
    ['s3://bucket/a#b', 'has a prefix'],
    ['s3://bucket/a\\b', 'has a prefix'],
    ['s3://bucket/.', 'has a prefix'],
    ['s3://bucket/../a', 'has a prefix'],
    ['s3://bucket/a/../b', 'has a prefix'],
    ['s3://bucket/a/.', 'has a prefix'],
  ])('%j is refused in words that name it by its label alone', (text, words) => {
    let error: unknown;
    try {
      parseStoreLocation(text, 'THE STORE');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'misconfigured', message: expect.stringContaining(words) });
    expect((error as Error).message).toMatch(/^THE STORE /);
  });
});
