import { Readable } from 'node:stream';
import { HttpResponse } from '@smithy/core/protocols';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { guardDeletes } from '../../../../src/store/guarded-delete.ts';
import type { ETag, ObjectStore } from '../../../../src/store/port.ts';
import type { S3Connections } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';

const KEY = 'data/file' as ObjectKey;
const BASE = '"base"' as ETag;
const BODY = new Uint8Array(10);
const LARGE = new Uint8Array(5 * 1024 * 1024 + 1);

type Answer = readonly [status: number, code: string];

/** As MinIO, its quota, VersityGW and Ceph tell of it, and with statuses that alone say nothing. */
const FULL: readonly Answer[] = [
  [507, 'XMinioStorageFull'],
  [400, 'XMinioAdminBucketQuotaExceeded'],
  [507, 'InsufficientStorage'],
  [403, 'QuotaExceeded'],
  [500, 'QuotaExceeded'],
  [503, 'XMinioStorageFull'],
];
const MODES = ['create', 'overwrite', { ifMatch: BASE }] as const;
const full = {
  name: 'MemoryError',
  code: 'unavailable',
  message: expect.stringContaining('The bucket is full'),
  details: { reason: 'disk_full' },
};

describe.each(S3_CLIENTS)('a full bucket, through the client %s,', (client) => {
  beforeEach(() => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent/config');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent/credentials');
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  /** The last answer stands for all that follow. */
  const open = (answers: readonly Answer[], guarded = true): { store: ObjectStore; asked: string[] } => {
    const left = [...answers];
    const asked: string[] = [];
    const handle = async ({ method }: { readonly method: string }): Promise<object> => {
      asked.push(method);
      const [status, code] = (left.length > 1 ? left.shift() : left[0]) ?? [500, ''];
      const body = Readable.from([Buffer.from(`<Error><Code>${code}</Code><Message>no</Message></Error>`)]);
      return { response: new HttpResponse({ statusCode: status, headers: {}, body }) };
    };
    const connections = { metadata: {}, handle, destroy: () => {} } as unknown as S3Connections;
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
    const place = { bucket: 'b', region: 'us-east-1', guarded };
    return { store: openS3ObjectStore({ client, connections, credentials, ...place }), asked };
  };

  it.each(FULL)('that says %i %s, has refused a write for certain', async (...answer) => {
    for (const mode of MODES) {
      for (const body of [BODY, LARGE]) {
        await expect(open([answer]).store.put(KEY, body, { mode })).rejects.toMatchObject(full);
      }
    }
  });

  it.each(FULL)('that says %i %s, has refused a delete for certain', async (...answer) => {
    await expect(open([answer]).store.delete([{ key: KEY }])).rejects.toMatchObject(full);
    const both = [{ key: KEY }, { key: 'data/other' as ObjectKey }];
    await expect(open([answer]).store.delete(both)).rejects.toMatchObject(full);
  });

  it('tells of no certainty where an attempt before it may have been executed', async () => {
    for (const mode of MODES) {
      const { store } = open([[500, 'InternalError'], ...FULL]);
      await expect(store.put(KEY, BODY, { mode })).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
  });

  it.each(FULL)(
    'that says %i %s, keeps what was to be deleted and has no room for a tombstone',
    async (...answer) => {
      const { store, asked } = open([answer], false);
      const deleting = guardDeletes(store).delete([{ key: KEY, ifMatch: BASE }]);
      await expect(deleting).rejects.toMatchObject({
        ...full,
        message: expect.stringMatching(
          /The bucket is full.*a delete there first needs room.*Nothing was deleted/,
        ),
      });
      expect(asked).not.toContain('DELETE');
    },
  );
});
