import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { guardDeletes } from '../../../../src/store/guarded-delete.ts';
import { type ETag, isTooLate, type ObjectStore, type SendBound } from '../../../../src/store/port.ts';
import type { S3StoreOptions } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { pause } from '../../../../src/time.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';

const KEY = 'data/file' as ObjectKey;
const CREDENTIALS = { accessKeyId: 'id', secretAccessKey: 'secret' };
/** As many as the client keeps open at once. */
const CONNECTIONS = 64;

interface Met {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

describe.each(S3_CLIENTS)('a delete that has to be sent in time through the client %s', (client) => {
  let met: Met[];
  let answer: (met: Met) => void;
  let endpoint: string;
  let close: () => Promise<void>;
  const opened: ObjectStore[] = [];

  beforeEach(async () => {
    met = [];
    answer = ({ response }) => response.writeHead(204).end();
    const server = createServer((request, response) => {
      met.push({ request, response });
      answer({ request, response });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
    await close();
  });

  const open = (options: Partial<S3StoreOptions> = {}): ObjectStore => {
    const store = openS3ObjectStore({ client, bucket: 'b', endpoint, credentials: CREDENTIALS, ...options });
    opened.push(store);
    return store;
  };
  const remove = (store: ObjectStore, sendBy: SendBound, keys = [KEY]): Promise<unknown> =>
    store.delete(
      keys.map((key) => ({ key })),
      { sendBy },
    );
  const seen = (): readonly (string | undefined)[] => met.map(({ request }) => request.method);

  it('goes its way, alone and in a batch', async () => {
    expect(await remove(open(), bound())).toEqual([]);
    answer = ({ response }) => response.writeHead(200).end('<DeleteResult></DeleteResult>');
    expect(await remove(open(), bound(), [KEY, 'data/a' as ObjectKey])).toEqual([]);
    expect(met.map(({ request }) => `${request.method} ${request.url}`)).toEqual([
      'DELETE /b/data/file?x-id=DeleteObject',
      'POST /b/?delete=',
    ]);
  });

  it('is not sent when credentials come too late', async () => {
    const sendBy = bound();
    const credentials = async (): Promise<typeof CREDENTIALS> => {
      sendBy.pass();
      return CREDENTIALS;
    };
    await expect(remove(open({ credentials }), sendBy)).rejects.toSatisfy(isTooLate);
    expect(seen()).toEqual([]);
  });

  it('is not sent when a connection comes free too late', async () => {
    answer = () => {};
    const store = open();
    const controller = new AbortController();
    const hanging = Array.from({ length: CONNECTIONS }, (_, at) =>
      store.get(`data/${at}` as ObjectKey, { signal: controller.signal }).catch(() => {}),
    );
    while (met.length < CONNECTIONS) await soon();
    const sendBy = bound();
    const removing = remove(store, sendBy);
    removing.catch(() => {});
    // It has passed every step up to the queue for a connection.
    while (sendBy.looks < 1) await soon();
    sendBy.pass();
    answer = ({ response }) => response.writeHead(204).end();
    controller.abort();
    await expect(removing).rejects.toSatisfy(isTooLate);
    await Promise.all(hanging);
    expect(seen()).not.toContain('DELETE');
  });

  it('is not sent when the connection was made too late', async () => {
    // One look comes before the connection, behind the signing.
    await expect(remove(open(), bound(1))).rejects.toSatisfy(isTooLate);
    expect(seen()).toEqual([]);
  });

  it('ends with its connection when a tombstone is not removed in time', async () => {
    answer = ({ request, response }) => {
      if (request.method === 'PUT') response.setHeader('etag', '"a"').end();
    };
    const impatient = guardDeletes(open(), {
      pause: (ms, signal) => pause(ms === 15_000 ? 200 : ms, signal),
    });
    const removing = impatient.delete([{ key: KEY, ifMatch: '"b"' as ETag }]);
    while (met.length < 2) await soon();
    const ended = new Promise((resolve) => met[1]?.request.socket.once('close', resolve));
    expect(await removing).toEqual([]);
    await ended;
    expect(seen()).toEqual(['PUT', 'DELETE']);
  });
});

/** A bound that passes when the test says so, or after a number of looks at it. */
function bound(mostLooks = Number.POSITIVE_INFINITY): SendBound & { looks: number; pass(): void } {
  let past = false;
  return {
    looks: 0,
    isPast() {
      this.looks += 1;
      return past || this.looks > mostLooks;
    },
    pass: () => {
      past = true;
    },
  };
}

function soon(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
