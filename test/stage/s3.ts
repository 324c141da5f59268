import { describe, inject } from 'vitest';
import { type S3Server, type S3ServerName, serverTitle } from '../../infra/local/servers/s3-server.ts';
import { firstOrAll } from '../runner/thorough.ts';

export { createTestBucket, type TestBucket } from '../../infra/local/servers/fresh-bucket.ts';
export type { S3Server, S3ServerName } from '../../infra/local/servers/s3-server.ts';

/** MinIO, and with `TEST_THOROUGH=1` VersityGW besides; the contract of the object store runs on both in every run. */
export const S3_SERVERS: readonly S3ServerName[] = firstOrAll(['minio', 'versitygw']);

/** Finds the server of that name; undefined when this run has none. */
export function findS3Server(name: S3ServerName): S3Server | undefined {
  return inject('s3Servers').find((server) => server.name === name);
}

/** Answers the server of that name; throws when this run has none, so use it in hooks and tests only. */
function s3Server(name: S3ServerName): S3Server {
  const server = findS3Server(name);
  if (!server) throw new Error(`${serverTitle(name)} is not there`);
  return server;
}

/**
 * Declares a suite once per named server. Without the server its tests are collected and counted as
 * skipped; the closing line of the run says why. `body` gets a function for use in hooks and tests.
 */
export function describeOnS3(
  title: string,
  names: readonly S3ServerName[],
  body: (server: () => S3Server, name: S3ServerName) => void,
): void {
  for (const name of names) {
    describe.skipIf(!findS3Server(name))(`${title} on ${serverTitle(name)}`, () =>
      body(() => s3Server(name), name),
    );
  }
}

/** Makes the environment of a program from the address of a server and the credentials that ask it. */
export function s3Environment({
  endpoint,
  region,
  credentials,
}: {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string | undefined;
  };
}): Readonly<Record<string, string>> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  return {
    SEALED_MEMORY_S3_ENDPOINT: endpoint,
    SEALED_MEMORY_S3_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
  };
}
