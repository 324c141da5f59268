import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../../src/errors.ts';
import type { ObjectKey } from '../../../../../src/format/object-keys.ts';
import { type ETag, isResentConflict, type ObjectStore } from '../../../../../src/store/port.ts';
import type { S3StoreOptions } from '../../../../../src/store/s3/connection.ts';
import { readDocument } from '../../../../../src/store/s3/lean/answers.ts';
import { openS3ObjectStore } from '../../../../../src/store/s3/s3-store.ts';

const KEY = 'data/file' as ObjectKey;
const OTHER = 'data/other' as ObjectKey;
const BASE = '"base"' as ETag;
const BODY = new Uint8Array(100);
const CREDENTIALS = { accessKeyId: 'id', secretAccessKey: 'secret' };

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

let script: Answer[];
let urls: string[];
let endpoint: string;
let close: () => Promise<void>;
const opened: ObjectStore[] = [];

beforeEach(async () => {
  script = [];
  urls = [];
  const server = createServer((request, response) => {
    urls.push(request.url ?? '');
    request.resume();
    request.on('end', () => {
      // The last answer stands for all that follow.
      const [answer] = script.length > 1 ? script.splice(0, 1) : script;
      answer?.(response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
  await close();
});

const open = (options: Partial<S3StoreOptions> = {}): ObjectStore => {
  const connection = { bucket: 'b', endpoint, region: 'us-east-1', credentials: CREDENTIALS };
  const store = openS3ObjectStore({ ...connection, guarded: true, ...options });
  opened.push(store);
  return store;
};

/** An error of S3, or of what stands before it when it has no code. */
const refusal =
  (status: number, code = ''): Answer =>
  (response) => {
    const body = code === '' ? '' : `<Error><Code>${code}</Code><Message>no</Message></Error>`;
    response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
  };
const xml =
  (body: string): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
  };

describe('a delete', () => {
  it('of a key that is missing is done, and with a condition it met nothing', async () => {
    script = [refusal(404, 'NoSuchKey')];
    const store = open();
    expect(await store.delete([{ key: KEY }])).toEqual([]);
    expect(await store.delete([{ key: KEY, ifMatch: BASE }])).toEqual([{ key: KEY, conflict: 'missing' }]);
  });

  it('of another version than the one there was not executed, by the status alone', async () => {
    script = [refusal(412)];
    const store = open();
    expect(await store.delete([{ key: KEY, ifMatch: BASE }])).toEqual([{ key: KEY, conflict: 'changed' }]);
    await expect(store.delete([{ key: KEY }])).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('of a batch is done for each key that is missing, and with a condition it met nothing', async () => {
    const failed = (key: string): string => `<Error><Key>${key}</Key><Code>NoSuchKey</Code></Error>`;
    script = [xml(`<DeleteResult>${failed(KEY)}${failed(OTHER)}</DeleteResult>`)];
    expect(await open().delete([{ key: KEY }, { key: OTHER, ifMatch: BASE }])).toEqual([
      { key: OTHER, conflict: 'missing' },
    ]);
  });
});

describe('a conditional PUT', () => {
  it('was not executed by a server that does not know how', async () => {
    script = [refusal(501, 'NotImplemented')];
    await expect(open().put(KEY, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('may have met its own first attempt, also where one in between was refused', async () => {
    for (const mode of ['create', { ifMatch: BASE }] as const) {
      script = [refusal(500), refusal(429, 'TooManyRequests'), refusal(412, 'PreconditionFailed')];
      const putting = open().put(KEY, BODY, { mode });
      expect(isResentConflict(await putting.catch((error: unknown) => error))).toBe(true);
    }
    expect(urls).toHaveLength(6);
  });

  it('is repeated eight times while it collides with others', async () => {
    // The pauses in between are drawn.
    const drawn = vi.spyOn(Math, 'random').mockReturnValue(0);
    const collision = refusal(409, 'ConditionalRequestConflict');
    const written: Answer = (response) => response.writeHead(200, { etag: BASE }).end();
    script = [...Array.from({ length: 8 }, () => collision), written];
    expect(await open().put(KEY, BODY, { mode: 'create' })).toEqual({ etag: BASE });
    script = [...Array.from({ length: 9 }, () => collision), written];
    await expect(open().put(KEY, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'unavailable' });
    drawn.mockRestore();
  });

  it('met a conflict where each attempt before was refused', async () => {
    script = [refusal(429, 'TooManyRequests'), refusal(412, 'PreconditionFailed')];
    expect(await open().put(KEY, BODY, { mode: 'create' })).toEqual({ conflict: 'exists' });
  });

  it('met nothing where the version that it names is gone, and no bucket where it names none', async () => {
    script = [refusal(404, 'NoSuchKey')];
    expect(await open().put(KEY, BODY, { mode: { ifMatch: BASE } })).toEqual({ conflict: 'missing' });
    await expect(open().put(KEY, BODY, { mode: 'create' })).rejects.toBeInstanceOf(MemoryError);
  });

  it('met a conflict by the status alone, where no code came with it', async () => {
    script = [refusal(412)];
    expect(await open().put(KEY, BODY, { mode: 'create' })).toEqual({ conflict: 'exists' });
    expect(await open().put(KEY, BODY, { mode: { ifMatch: BASE } })).toEqual({ conflict: 'changed' });
  });
});

describe('a GET', () => {
  it('of an object above the limit is refused by its length, before any of its body', async () => {
    script = [
      (response) => {
        response.writeHead(200, { 'content-length': '1000', etag: BASE });
        response.flushHeaders();
      },
    ];
    await expect(open().get(KEY, { maxBytes: 999 })).rejects.toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 'object_bytes', value: 1_000, max: 999 },
    });
  });

  it('ends with its caller in the middle of the body, as one that was cancelled', async () => {
    const cancelling = new AbortController();
    script = [
      (response) => {
        response.writeHead(200, { 'content-length': '1000', etag: BASE });
        response.write(new Uint8Array(10));
        setTimeout(() => cancelling.abort(), 20);
      },
    ];
    await expect(open().get(KEY, { signal: cancelling.signal })).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('a listing', () => {
  const page = (token: string): string =>
    `<ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken></ListBucketResult>`;
  const listAll = async (): Promise<void> => {
    for await (const { objects } of open().list({ prefix: '' })) expect(objects).toEqual([]);
  };

  it('that does not get on is misconfigured, and ends', async () => {
    script = [xml(page('one')), xml(page('two'))];
    await expect(listAll()).rejects.toMatchObject({ code: 'misconfigured' });
    expect(urls).toHaveLength(3);
  });

  it('of versions that does not get on is misconfigured, and ends', async () => {
    const versions = (marker: string): string =>
      `<ListVersionsResult><Name>b</Name><IsTruncated>true</IsTruncated><NextKeyMarker>${KEY}</NextKeyMarker><NextVersionIdMarker>${marker}</NextVersionIdMarker><Version><Key>${KEY}</Key><VersionId>v</VersionId><IsLatest>true</IsLatest></Version></ListVersionsResult>`;
    script = [xml(versions('one')), xml(versions('two'))];
    const kept = openS3ObjectStore({
      bucket: 'b',
      endpoint,
      region: 'us-east-1',
      credentials: CREDENTIALS,
    }).versions;
    const listing = async (): Promise<void> => {
      for await (const entries of kept.list(KEY)) expect(entries).toHaveLength(1);
    };
    await expect(listing()).rejects.toMatchObject({ code: 'misconfigured' });
    expect(urls).toHaveLength(3);
  });
});

describe('a document', () => {
  const documentOf = (statusCode: number, body: Readable) =>
    readDocument({ statusCode, headers: {}, body }, ({ text }) => text);

  it.each([
    [200, 'a text'],
    [299, 'a text'],
    [300, undefined],
    [301, undefined],
  ])('behind status %i is %s', async (statusCode, text) => {
    const read = documentOf(statusCode, Readable.from([Buffer.from('a text')])).catch(() => undefined);
    expect(await read).toBe(text);
  });

  it('whose body fails with something else than an error fails with that', async () => {
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      throw 'a word';
    };
    await expect(documentOf(404, Readable.from(failing()))).rejects.toBe('a word');
  });
});

it('a store of AWS sends nothing to a host that merely ends like one of AWS', async () => {
  for (const host of ['notamazonaws.com.example', 'notamazonaws.com', 'amazonaws.com.attacker.example']) {
    vi.stubEnv('AWS_ENDPOINT_URL_S3', `http://${host}`);
    const operations: string[] = [];
    const store = open({ endpoint: undefined, onRequest: ({ operation }) => operations.push(operation) });
    await expect(store.head(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(operations).toEqual([]);
    vi.unstubAllEnvs();
  }
});
