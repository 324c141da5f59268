import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListPage, ObjectStore } from '../../../../src/store/port.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';

const ENCODED = '<EncodingType>url</EncodingType>';

describe.each(S3_CLIENTS)('a listing of S3 through the client %s', (client) => {
  let asked: string[];
  let answer: string;
  let store: ObjectStore;
  let close: () => Promise<void>;

  beforeEach(async () => {
    asked = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.setHeader('content-type', 'application/xml').end(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    store = openS3ObjectStore({
      client,
      bucket: 'b',
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    });
    close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await close();
  });

  /** Answers what the store makes of a page that says the texts as they stand. */
  async function listed(encoding: string, keys: readonly string[]): Promise<ListPage> {
    const contents = keys
      .map((key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"e"</ETag></Contents>`)
      .join('');
    answer = `<ListBucketResult><Name>b</Name>${encoding}${contents}</ListBucketResult>`;
    const pages: ListPage[] = [];
    for await (const page of store.list({ prefix: 'data/' })) pages.push(page);
    expect(pages).toHaveLength(1);
    return pages[0] as ListPage;
  }

  it('is asked for with keys in the encoding of URLs', async () => {
    await listed(ENCODED, []);
    expect(asked).toEqual([expect.stringContaining('encoding-type=url')]);
  });

  it('takes + for a space and %2B for a plus', async () => {
    const page = await listed(ENCODED, ['a+b', 'a%20b', 'a%2Bb', 'a%2bb', 'a%252Bb', 'caf%C3%A9+%2B']);
    expect(page.objects.map(({ key }) => key)).toEqual(['a b', 'a b', 'a+b', 'a+b', 'a%2Bb', 'café +']);
  });

  it('decodes nothing where the server says that it encoded nothing', async () => {
    const page = await listed('', ['a+b', 'a%2Bb']);
    expect(page.objects.map(({ key }) => key)).toEqual(['a+b', 'a%2Bb']);
  });

  it('is refused as misconfigured where the answer names no bucket, and is no listing', async () => {
    for (const page of ['<html><body>Welcome</body></html>', '<ListBucketResult></ListBucketResult>']) {
      answer = page;
      const pages = store.list({ prefix: 'data/' })[Symbol.asyncIterator]();
      await expect(pages.next()).rejects.toMatchObject({ code: 'misconfigured' });
    }
  });

  it('is refused as misconfigured where a key decodes to no text', async () => {
    await expect(listed(ENCODED, ['a%ff'])).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('unknown encoding'),
    });
  });
});
