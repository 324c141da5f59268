import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { MemoryError } from '../../errors.ts';
import { inTime } from '../../time.ts';
import type { ObjectStore, ObjectVersions } from '../port.ts';

export interface S3StoreOptions {
  readonly bucket: string;
  /** URL of an S3-compatible server; AWS itself when absent. */
  readonly endpoint?: string | undefined;
  /** The region; absent: from the SDK's own sources, or `us-east-1` on a custom endpoint when those name none. */
  readonly region?: string | undefined;
  /** `https://endpoint/bucket/key`; unless given, true on a custom endpoint. */
  readonly forcePathStyle?: boolean | undefined;
  /**
   * True where the server honours conditions on deletes atomically; unless given, true for AWS and false for others.
   */
  readonly guarded?: boolean | undefined;
  /** `when_required` for servers that choke on the SDK's default checksums. */
  readonly checksums?: 'when_supported' | 'when_required' | undefined;
  /** `lean` (default): the lean store, as far as it goes. `sdk`: the SDK's store for everything. */
  readonly client?: 'lean' | 'sdk' | undefined;
  /** Objects above this many bytes go in parts of this size; 5 MiB, the least S3 takes, unless given. */
  readonly partBytes?: number | undefined;
  /** Versions per page of their listing; 1,000 unless given. */
  readonly versionsPerPage?: number | undefined;
  /** The SDK's default chain when absent. */
  readonly credentials?: S3Credentials | undefined;
  /** Shared with other stores; a pool of its own when absent. */
  readonly connections?: S3Connections | undefined;
  readonly clock?: (() => number) | undefined;
  /** Called once per HTTP request, every attempt of a retried one included. */
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
  /** Called with the `Date` of each answer that has one, milliseconds since the epoch in whole seconds. */
  readonly onDate?: ((date: number) => void) | undefined;
}

/** The options of a store whose opener destroys the connections. */
export interface OpenS3Options extends S3StoreOptions {
  readonly connections: S3Connections;
}

/** A bucket as an object store, with the versions that the bucket keeps. */
export interface S3Store extends ObjectStore {
  /** Needs `s3:ListBucketVersions`, `s3:DeleteObjectVersion`, and to read them `s3:GetObjectVersion`. */
  readonly versions: ObjectVersions;
}

/** The largest body of one PUT, and the size of a part of a larger one, unless the options say another. */
export const PART_BYTES: number = 5 * 1024 * 1024;

/** Static credentials, or a provider of the AWS SDK. */
export type S3Credentials = NonNullable<S3ClientConfig['credentials']>;

/** A pool of kept-alive connections that stores can share; its opener destroys it. */
export type S3Connections = NodeHttpHandler;

const MAX_SOCKETS = 64;
/** The longest wait for an answer, in milliseconds: after it the request has failed, and it may be sent again. */
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

const CREDENTIALS_TIMEOUT_MS = 5000;

/**
 * Ends the search for credentials after 5 s: it comes to a lookup on the network, which away from AWS nothing answers.
 */
export function credentialsInTime<A extends readonly unknown[], R>(
  provider: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  return (...args) => inTime(() => provider(...args), { late: noCredentials, ms: CREDENTIALS_TIMEOUT_MS });
}

function noCredentials(): MemoryError {
  return new MemoryError(
    'access_denied',
    'No credentials for the object store were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
  );
}
