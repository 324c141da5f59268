import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openS3Connections, type S3Connections } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';
import {
  CREDENTIAL_SOURCES,
  type CredentialSite,
  credentialsOfAsk,
  openCredentialSite,
} from './credential-sources.ts';

const KEY = 'data/file' as ObjectKey;
const HOUR_MS = 3_600_000;
const AT_ONCE = 8;

/** Leads the AWS SDK to a site's source and to nothing else on this machine. */
async function useSource(site: CredentialSite, source: string): Promise<void> {
  vi.stubEnv('AWS_CONFIG_FILE', join(site.folder, 'config'));
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(site.folder, 'credentials'));
  const environment = (await CREDENTIAL_SOURCES[source]?.(site)) ?? {};
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
}

/** Connections that reach the loopback alone. */
function loopbackConnections(): S3Connections {
  const connections = openS3Connections();
  const handle = connections.handle.bind(connections);
  connections.handle = (request, options) => {
    if (request.hostname !== '127.0.0.1') throw new Error(`a request to ${request.hostname}`);
    return handle(request, options);
  };
  return connections;
}

const readTogether = (store: ObjectStore): Promise<unknown> =>
  Promise.all(Array.from({ length: AT_ONCE }, () => store.get(KEY)));

beforeEach(() => {
  for (const name of Object.keys(process.env)) if (/^AWS_/.test(name)) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describe.each(Object.keys(CREDENTIAL_SOURCES))('credentials from %s', (source) => {
  describe.each(S3_CLIENTS)('through the client %s', (client) => {
    const open = (site: CredentialSite): ObjectStore =>
      openS3ObjectStore({ client, bucket: 'bucket', region: 'eu-central-1', endpoint: site.endpoint });

    it('are found once for requests that begin together, and kept for those that follow', async () => {
      await using site = await openCredentialSite();
      await useSource(site, source);
      await using store = open(site);
      await readTogether(store);
      await store.get(KEY);
      expect(site.signed).toEqual(Array.from({ length: AT_ONCE + 1 }, () => credentialsOfAsk(1)));
      expect(site.asks).toBe(1);
      expect(site.complaints).toEqual([]);
    });

    it('are asked for again before they end, while requests go on with them', async () => {
      await using site = await openCredentialSite();
      await useSource(site, source);
      await using store = open(site);
      site.livesMs = 200_000;
      await store.get(KEY);
      expect(site.signed).toEqual([credentialsOfAsk(1)]);
      site.livesMs = HOUR_MS;
      await vi.waitFor(
        async () => {
          await store.get(KEY);
          expect(site.signed.at(-1)).not.toEqual(credentialsOfAsk(1));
        },
        { timeout: 15_000 },
      );
      expect(site.complaints).toEqual([]);
    });

    it('are not used once they have ended, and are asked for once', async () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
      await using site = await openCredentialSite();
      await useSource(site, source);
      await using store = open(site);
      await store.get(KEY);
      vi.setSystemTime(Date.now() + 2 * HOUR_MS);
      await readTogether(store);
      expect(site.signed).toEqual([
        credentialsOfAsk(1),
        ...Array.from({ length: AT_ONCE }, () => credentialsOfAsk(2)),
      ]);
      expect(site.asks).toBe(2);
    });
  });

  // The SDK asks a container four times, a second apart.
  const faults = source === 'a container' ? (['denied'] as const) : (['denied', 'malformed'] as const);
  it.each(faults)('that are %s are told as the SDK tells it', async (fault) => {
    await using site = await openCredentialSite();
    site.fault = fault;
    await useSource(site, source);
    const [lean, sdk] = await Promise.all(
      S3_CLIENTS.map((client) => {
        const connections = loopbackConnections();
        return failureOf(
          openS3ObjectStore({ client, bucket: 'bucket', region: 'eu-central-1', connections }),
        );
      }),
    );
    expect(lean).toEqual(sdk);
    expect(lean).toMatchObject({ code: expect.stringMatching(/^(access_denied|misconfigured)$/) });
    expect(site.signed).toEqual([]);
  });
});

/** Answers the failure that the operator reads. */
async function failureOf(store: ObjectStore): Promise<unknown> {
  const failure = await store.get(KEY).catch((error: unknown) => error);
  if (!(failure instanceof Error)) return { answer: failure };
  const { code, message, cause } = failure as Error & { readonly code?: unknown };
  return {
    code,
    message,
    cause: cause instanceof Error ? { ...cause, name: cause.name, message: cause.message } : cause,
  };
}
