import { Readable } from 'node:stream';
import { HttpResponse } from '@smithy/core/protocols';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import type { S3Connections } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { type LongWait, onLongWait } from '../../../../src/waits.ts';

const NOW = Date.UTC(2026, 10, 22, 4, 5, 6);
const MINUTE_MS = 60_000;
const KEY = 'data/file' as ObjectKey;
const ETAG = '"5d41402abc4b2a76b9719d911017c592"';

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The start of a body that does not end. */
  readonly start?: string;
}

describe('the lean client', () => {
  let answer: () => Answer;
  let signedAt: (string | undefined)[];
  let bodies: Readable[];
  let connections: S3Connections;
  let store: ObjectStore;

  beforeEach(() => {
    // No pause between two attempts ever ends by itself.
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout'], now: NOW });
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent/config');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent/credentials');
    [signedAt, bodies] = [[], []];
    const handle = async ({ headers }: { readonly headers: Record<string, string> }): Promise<object> => {
      signedAt.push(headers['x-amz-date']);
      const { status, headers: told = {}, start } = answer();
      const stream = new Readable({ read: () => {} });
      stream.on('error', () => {});
      stream.push(start ?? null);
      bodies.push(stream);
      return { response: new HttpResponse({ statusCode: status, headers: { ...told }, body: stream }) };
    };
    connections = { metadata: {}, handle, destroy: () => {} } as unknown as S3Connections;
    store = openS3ObjectStore({
      connections,
      bucket: 'b',
      region: 'us-east-1',
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });

  it('ends with its caller in the pause before another attempt', async () => {
    const controller = new AbortController();
    answer = () => {
      queueMicrotask(() => setImmediate(() => controller.abort()));
      return { status: 503, headers: { 'retry-after': '60' } };
    };
    const told: LongWait[] = [];
    const ceaseListening = onLongWait((wait) => told.push(wait));
    await expect(store.get(KEY, { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' });
    ceaseListening();
    expect(signedAt).toHaveLength(1);
    expect(told).toEqual([{ for: 'busy store', leftMs: expect.any(Number) }]);
    expect(Math.abs(Number(told[0]?.leftMs) - 60_000)).toBeLessThan(5_000);
  });

  it('asks neither for credentials nor the server for a caller who has cancelled', async () => {
    let asked = 0;
    const credentials = async () => {
      asked += 1;
      return { accessKeyId: 'id', secretAccessKey: 'secret' };
    };
    const cancelled = openS3ObjectStore({ connections, bucket: 'b', region: 'us-east-1', credentials });
    await expect(cancelled.get(KEY, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect([asked, signedAt]).toEqual([0, []]);
  });

  it('reads nothing of a body whose headers it cannot read, and lets its connection go', async () => {
    answer = () => ({ status: 200, headers: { etag: ETAG, 'last-modified': 'never' }, start: 'x' });
    await expect(store.get(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(bodies.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  it('does not set its clock by an exchange that took more than a quarter of an hour', async () => {
    const found = { status: 200, headers: { etag: ETAG } };
    for (const [minutes, offset] of [
      [16, 0],
      [15, 60],
    ] as const) {
      vi.setSystemTime(NOW);
      signedAt.length = 0;
      answer = () => {
        vi.setSystemTime(NOW + minutes * MINUTE_MS);
        const date = new Date(NOW + (minutes + 60) * MINUTE_MS).toUTCString();
        return { ...found, headers: { etag: ETAG, date } };
      };
      await store.head(KEY);
      answer = () => found;
      await store.head(KEY);
      const signed = new Date(NOW + (minutes + offset) * MINUTE_MS).toISOString();
      expect(signedAt[1]).toBe(signed.replace(/[-:]|\.\d+/g, ''));
    }
  });

  it('sends a refused request again, by the clock of the server, when that is four minutes away or further', async () => {
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: ['Date'], now: NOW });
    for (const [seconds, requests] of [
      [239, 1],
      [-239, 1],
      [240, 2],
      [-240, 2],
    ] as const) {
      signedAt.length = 0;
      const date = new Date(NOW + seconds * 1_000);
      answer = () =>
        signedAt.length === 1
          ? { status: 403, headers: { date: date.toUTCString() } }
          : { status: 200, headers: { etag: ETAG, date: new Date(NOW).toUTCString() } };
      await store.head(KEY).catch(() => {});
      expect({ seconds, requests: signedAt.length }).toEqual({ seconds, requests });
      if (requests === 2) expect(signedAt[1]).toBe(date.toISOString().replace(/[-:]|\.\d+/g, ''));
    }
  });
});
