import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';

export interface S3ConnectionOptions {
  /** URL of an S3-compatible server; AWS itself when absent. */
  readonly endpoint?: string | undefined;
  /** From the SDK's own sources when absent; `us-east-1` on a custom endpoint that names none there either. */
  readonly region?: string | undefined;
  /** `https://endpoint/bucket/key`; unless given, true on a custom endpoint. */
  readonly forcePathStyle?: boolean | undefined;
  /** `when_required` for servers that choke on the SDK's default checksums. */
  readonly checksums?: 'when_supported' | 'when_required' | undefined;
  /** The SDK's default chain when absent. */
  readonly credentials?: S3Credentials | undefined;
  /** Shared with other stores; a pool of its own when absent. */
  readonly connections?: S3Connections | undefined;
  /** Called once per HTTP request, every attempt of a retried one included. */
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
  /** Called with the `Date` of each answer that has one, milliseconds since the epoch in whole seconds. */
  readonly onDate?: ((date: number) => void) | undefined;
}

/** Static credentials, or a provider of the AWS SDK. */
export type S3Credentials = NonNullable<S3ClientConfig['credentials']>;

/** A pool of kept-alive connections that stores can share; its opener destroys it. */
export type S3Connections = NodeHttpHandler;

const MAX_SOCKETS = 64;
/** After that a request that brought no answer has failed; it may be sent again. */
export const LONGEST_REQUEST_MS = 60_000;

export function openS3Connections(): S3Connections {
  return new NodeHttpHandler({
    connectionTimeout: 10_000,
    socketTimeout: 20_000,
    requestTimeout: LONGEST_REQUEST_MS,
    throwOnRequestTimeout: true,
    socketAcquisitionWarningTimeout: 60_000,
    httpAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
    httpsAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
  });
}
