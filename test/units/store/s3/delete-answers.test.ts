import { Readable } from 'node:stream';
import { HttpResponse } from '@smithy/core/protocols';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { DeleteTarget, ETag, ObjectStore } from '../../../../src/store/port.ts';
import type { S3Connections } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';

const [KEY, OTHER] = ['data/file' as ObjectKey, 'data/b&c' as ObjectKey];
const BASE = '"base"' as ETag;
const HTML = '<html><head><title>Sign in</title></head><body>no</body></html>';
const ERROR = '<Error><Code>AccessDenied</Code><Message>no</Message></Error>';
const failed = (key: string, code = 'AccessDenied'): string =>
  `<Error><Key>${key}</Key><Code>${code}</Code><Message>no</Message></Error>`;

interface Answer {
  readonly status: number;
  readonly body?: string;
}

/** Answers that are a success by their status, and of which S3 gives none to a delete. */
const BODIES: readonly (readonly [name: string, body: string])[] = [
  ['HTML', HTML],
  ['nothing', ''],
  ['white space', ' \r\n'],
  ['text', 'OK'],
  ['JSON', '{}'],
  ['an error', ERROR],
  ['an error behind a line feed', `\n${ERROR}`],
  ['an error before a line feed', `${ERROR}\n`],
  ['a declared error before a line feed', `<?xml version="1.0" encoding="UTF-8"?>\n${ERROR}\n`],
  ['a listing', '<ListBucketResult><Name>b</Name></ListBucketResult>'],
  ['another result', '<DeleteResultOfAnother/>'],
  ['a result that breaks off', `<DeleteResult>${failed(KEY)}`],
];

describe.each(S3_CLIENTS)('a delete through the client %s', (client) => {
  beforeEach(() => {
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent/config');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent/credentials');
  });
  afterEach(() => void vi.unstubAllEnvs());

  const open = (answer: Answer): { readonly store: ObjectStore; readonly sent: () => number } => {
    let sent = 0;
    const handle = async (): Promise<object> => {
      sent++;
      const body = Readable.from([Buffer.from(answer.body ?? '')]);
      return { response: new HttpResponse({ statusCode: answer.status, headers: {}, body }) };
    };
    const connections = { metadata: {}, handle, destroy: () => {} } as unknown as S3Connections;
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
    const place = { bucket: 'b', region: 'us-east-1', guarded: true };
    return {
      store: openS3ObjectStore({ client, connections, credentials, ...place }),
      sent: () => sent,
    };
  };
  const unknown = { name: 'MemoryError', code: 'outcome_unknown' };
  const single: readonly (readonly DeleteTarget[])[] = [[{ key: KEY }], [{ key: KEY, ifMatch: BASE }]];
  const batch = [{ key: KEY }, { key: OTHER, ifMatch: BASE }];

  it('of one object is done by 204', async () => {
    for (const targets of single) expect(await open({ status: 204 }).store.delete(targets)).toEqual([]);
  });

  it.each(BODIES)('of one object is not done by 200 with %s, and is sent once', async (_, body) => {
    for (const targets of single) {
      const { store, sent } = open({ status: 200, body });
      await expect(store.delete(targets)).rejects.toMatchObject(unknown);
      expect(sent()).toBe(1);
    }
  });

  it.each([201, 202, 203, 205, 206])('of one object is not done by %i', async (status) => {
    for (const targets of single) {
      await expect(open({ status }).store.delete(targets)).rejects.toMatchObject(unknown);
    }
  });

  it.each([
    '<DeleteResult/>',
    '<DeleteResult></DeleteResult>',
    '<?xml version="1.0" encoding="UTF-8"?>\n<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>',
    `\n<DeleteResult><Deleted><Key>${KEY}</Key></Deleted></DeleteResult>\n`,
  ])('of a batch is done by %s', async (body) => {
    expect(await open({ status: 200, body }).store.delete(batch)).toEqual([]);
  });

  it.each(BODIES)('of a batch is not done by 200 with %s, and is sent once', async (_, body) => {
    const { store, sent } = open({ status: 200, body });
    await expect(store.delete(batch)).rejects.toMatchObject(unknown);
    expect(sent()).toBe(1);
  });

  it('of a batch is not done by 204, which says nothing of its keys', async () => {
    await expect(open({ status: 204 }).store.delete(batch)).rejects.toMatchObject(unknown);
  });

  it('of a batch is unknown where a key failed that nobody asked for', async () => {
    for (const key of ['data/another', 'data%2Ffile', 'data/file ', '']) {
      const body = `<DeleteResult>${failed(KEY)}${failed(key)}</DeleteResult>`;
      await expect(open({ status: 200, body }).store.delete(batch)).rejects.toMatchObject(unknown);
    }
    const nameless = '<DeleteResult><Error><Code>InternalError</Code></Error></DeleteResult>';
    await expect(open({ status: 200, body: nameless }).store.delete(batch)).rejects.toMatchObject(unknown);
  });

  it.each([
    ['no declaration', ''],
    ['a declaration', '<?xml version="1.0" encoding="UTF-8"?>'],
    ['one in a line of its own', '<?xml version="1.0" encoding="UTF-8"?>\r\n'],
  ])(
    'of a batch tells of each key that failed, and counts the others as done, behind %s',
    async (_, before) => {
      const body = `${before}<DeleteResult>${failed('data/b&amp;c', 'PreconditionFailed')}</DeleteResult>`;
      expect(await open({ status: 200, body }).store.delete(batch)).toEqual([
        { key: OTHER, conflict: 'changed' },
      ]);
    },
  );
});
