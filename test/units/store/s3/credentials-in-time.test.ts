import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { credentialsInTime, type S3Connections } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-in-time-'));
  for (const name of Object.keys(process.env)) if (/^AWS_/.test(name)) vi.stubEnv(name, undefined);
  writeFileSync(join(folder, 'token'), 'a.web.token');
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'));
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(folder, 'token'));
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/memory');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

it.each(S3_CLIENTS)('credentials that never come are missing after five seconds: %s', async (client) => {
  const failure = await failureWithin(4_999, { client, endpoint: 'http://127.0.0.1:9' });
  expect(failure()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(failure()).toMatchObject({
    code: 'access_denied',
    message: expect.stringMatching('^No credentials for the object store were found'),
  });
});

it('credentials that came, or did not, leave no timer behind', async () => {
  await credentialsInTime(async () => 'came')();
  const failing = async (): Promise<never> => expect.unreachable('by the test');
  await expect(credentialsInTime(failing)()).rejects.toThrow('by the test');
  expect(vi.getTimerCount()).toBe(0);
});

it.each(S3_CLIENTS)('credentials for AWS are waited for as long as the AWS SDK does: %s', async (client) => {
  const failure = await failureWithin(60_000, { client });
  expect(failure()).toBeUndefined();
});

type Place = Pick<Parameters<typeof openS3ObjectStore>[0], 'client' | 'endpoint'>;

/** Reads where nobody answers for credentials, and lets time pass. @returns what gives the failure of the read by then. */
async function failureWithin(ms: number, place: Place): Promise<() => unknown> {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const handle = (): Promise<never> => {
    ask();
    return new Promise(() => {});
  };
  const connections = { metadata: {}, handle, destroy: () => {} } as unknown as S3Connections;
  await using store = openS3ObjectStore({ connections, bucket: 'b', region: 'us-east-1', ...place });
  let failure: unknown;
  store.get('data/file' as ObjectKey).catch((error: unknown) => {
    failure = error;
  });
  await asked;
  await vi.advanceTimersByTimeAsync(ms);
  return () => failure;
}
