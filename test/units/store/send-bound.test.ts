import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import { isTooLate, type ObjectStore, type SendBound } from '../../../src/store/port.ts';
import type { S3StoreOptions } from '../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../src/store/s3/s3-store.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { S3_CLIENTS } from '../../stage/s3-clients.ts';

const KEY = 'data/file' as ObjectKey;
const BODY = new TextEncoder().encode('sealed bytes');
const MIB = 1024 * 1024;
/** The most connections that the store opens. */
const CONNECTIONS = 64;

/** A bound that passes when it is told to. */
function bound(): SendBound & { pass(): void } {
  let past = false;
  return {
    isPast: () => past,
    pass: () => {
      past = true;
    },
  };
}

const tooLate = (put: Promise<unknown>): Promise<boolean> => put.then(() => false, isTooLate);

describe.each(S3_CLIENTS)('a PUT to S3 whose bound passes, through the client %s', (client) => {
  type Answer = (request: IncomingMessage, response: ServerResponse) => void;
  const opened: ObjectStore[] = [];
  let answer: Answer;
  let seen: string[];
  let bodies: Buffer[];
  let stop: () => Promise<void>;
  let endpoint: string;

  const ok: Answer = ({ url = '' }, response) => {
    response.setHeader('etag', '"5d41402abc4b2a76b9719d911017c592"');
    const isStart = url.includes('?uploads');
    response.end(
      isStart
        ? '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>'
        : undefined,
    );
  };
  const open = (options: Partial<S3StoreOptions> = {}): ObjectStore => {
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
    const store = openS3ObjectStore({
      client,
      bucket: 'b',
      endpoint,
      region: 'us-east-1',
      credentials,
      ...options,
    });
    opened.push(store);
    return store;
  };

  beforeEach(async () => {
    answer = ok;
    seen = [];
    bodies = [];
    const server = createServer((request, response) => {
      const { method = '', url = '' } = request;
      seen.push(`${method}${/[?&](uploads|partNumber=\d|uploadId)/.exec(url)?.[1] ?? ''}`);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks));
        answer(request, response);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    stop = async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    };
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
    await stop();
  });

  it('arrives as ever while it may be sent', async () => {
    expect(await open().put(KEY, BODY, { mode: 'create', sendBy: bound() })).toHaveProperty('etag');
    expect(seen).toEqual(['PUT']);
    expect(new Uint8Array(bodies[0] ?? [])).toEqual(BODY);
  });

  it('is not sent once it has passed', async () => {
    const sendBy = bound();
    sendBy.pass();
    expect(await tooLate(open().put(KEY, BODY, { mode: 'create', sendBy }))).toBe(true);
    expect(seen).toEqual([]);
  });

  it('is not sent when it passes while credentials are fetched', async () => {
    const sendBy = bound();
    const credentials = async () => {
      sendBy.pass();
      return { accessKeyId: 'id', secretAccessKey: 'secret' };
    };
    expect(await tooLate(open({ credentials }).put(KEY, BODY, { mode: 'create', sendBy }))).toBe(true);
    expect(seen).toEqual([]);
  });

  it('is not sent when it passes in the queue for a connection', async () => {
    const held: ServerResponse[] = [];
    answer = (_, response) => {
      held.push(response);
    };
    const store = open();
    const others = Array.from({ length: CONNECTIONS }, (_, at) =>
      store.put(`${KEY}${at}` as ObjectKey, BODY, { mode: 'create' }),
    );
    await expect.poll(() => held.length).toBe(CONNECTIONS);
    const sendBy = bound();
    const late = tooLate(store.put(KEY, BODY, { mode: 'create', sendBy }));
    // Long enough for it to reach the queue.
    await new Promise((resolve) => setTimeout(resolve, 100));
    sendBy.pass();
    answer = ok;
    for (const response of held) response.setHeader('etag', '"5d41402abc4b2a76b9719d911017c592"').end();
    await Promise.all(others);
    expect(await late).toBe(true);
    expect(seen).toHaveLength(CONNECTIONS);
    expect(await store.put(KEY, BODY, { mode: 'create', sendBy: bound() })).toHaveProperty('etag');
  });

  it('is not sent again behind a failure, and may have been executed', async () => {
    const sendBy = bound();
    answer = (_, response) => {
      sendBy.pass();
      response.writeHead(500).end();
    };
    await expect(open().put(KEY, BODY, { mode: 'create', sendBy })).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    expect(seen).toEqual(['PUT']);
  });

  it('is not sent again where the first attempt was certainly not executed', async () => {
    const sendBy = bound();
    answer = (_, response) => {
      sendBy.pass();
      const conflict = '<Error><Code>ConditionalRequestConflict</Code><Message>m</Message></Error>';
      response.writeHead(409, { 'content-type': 'application/xml' }).end(conflict);
    };
    expect(await tooLate(open().put(KEY, BODY, { mode: 'create', sendBy }))).toBe(true);
    expect(seen).toEqual(['PUT']);
  });

  it('stops between its parts, and removes those that were sent', async () => {
    const sendBy = bound();
    answer = (request, response) => {
      if (request.url?.includes('partNumber')) sendBy.pass();
      ok(request, response);
    };
    const large = new Uint8Array(26 * MIB);
    expect(await tooLate(open().put(KEY, large, { mode: 'create', sendBy }))).toBe(true);
    const parts = seen.filter((request) => request.startsWith('PUT'));
    expect(parts.length).toBeLessThanOrEqual(3);
    expect(seen).not.toContain('POSTuploadId');
    expect(seen.at(-1)).toBe('DELETEuploadId');
  });

  it('does not complete an upload whose parts took too long', async () => {
    const sendBy = bound();
    answer = (request, response) => {
      if (request.url?.includes('partNumber=2')) sendBy.pass();
      ok(request, response);
    };
    const large = new Uint8Array(6 * MIB);
    expect(await tooLate(open().put(KEY, large, { mode: 'create', sendBy }))).toBe(true);
    expect(seen).not.toContain('POSTuploadId');
  });
});

describe('a PUT to SQLite whose bound passes', () => {
  let store: ObjectStore;
  beforeEach(() => {
    store = openSqliteObjectStore({ path: ':memory:' });
  });
  afterEach(() => store[Symbol.asyncDispose]());

  it.each(['create', 'overwrite'] as const)('writes nothing: %s', async (mode) => {
    const sendBy = bound();
    expect(await store.put(KEY, BODY, { mode: 'create', sendBy })).toHaveProperty('etag');
    sendBy.pass();
    const key = mode === 'create' ? (`${KEY}2` as ObjectKey) : KEY;
    expect(await tooLate(store.put(key, Uint8Array.of(1), { mode, sendBy }))).toBe(true);
    expect(await store.get(KEY)).toMatchObject({ body: BODY });
    expect(await store.get(`${KEY}2` as ObjectKey)).toBeUndefined();
  });

  it('tells a conflict rather than the lateness', async () => {
    await store.put(KEY, BODY, { mode: 'create' });
    const sendBy = bound();
    sendBy.pass();
    expect(await store.put(KEY, BODY, { mode: 'create', sendBy })).toEqual({
      conflict: 'exists',
    });
  });

  it('writes nothing when it passes while another process holds the lock', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'send-bound-'));
    const path = join(folder, 'memory.db');
    const sendBy = bound();
    const other = openSqliteObjectStore({ path });
    await other.put(`${KEY}2` as ObjectKey, BODY, { mode: 'create' });
    const holder = new DatabaseSync(path);
    holder.exec('BEGIN IMMEDIATE');
    const pause = async (): Promise<void> => {
      if (sendBy.isPast()) return;
      sendBy.pass();
      holder.exec('ROLLBACK');
    };
    const waiting = openSqliteObjectStore({ path, pause });
    expect(await tooLate(waiting.put(KEY, BODY, { mode: 'create', sendBy }))).toBe(true);
    expect(await other.get(KEY)).toBeUndefined();
    holder.close();
    for (const each of [waiting, other]) await each[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
});

describe('a create that waits for a tombstone to go', () => {
  it('is not sent again once its bound has passed', async () => {
    const plain = openSqliteObjectStore({ path: ':memory:' });
    const sendBy = bound();
    const store = guardDeletes(plain, {
      pause: async () => {
        sendBy.pass();
        await plain.delete([{ key: KEY }]);
      },
    });
    const tombstone = Uint8Array.of(0x89, 0x53, 0x4d, 0x54, 0x0d, 0x0a, 0x1a, 0x0a, ...new Uint8Array(32));
    await plain.put(KEY, tombstone, { mode: 'create' });
    expect(await tooLate(store.put(KEY, BODY, { mode: 'create', sendBy }))).toBe(true);
    expect(await plain.get(KEY)).toBeUndefined();
    await plain[Symbol.asyncDispose]();
  });
});
