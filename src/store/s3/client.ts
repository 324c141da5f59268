import type { Readable } from 'node:stream';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { MemoryError } from '../../errors.ts';

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
  readonly credentials?: NonNullable<S3ClientConfig['credentials']> | undefined;
  /** Shared with other stores; a pool of its own when absent. */
  readonly connections?: S3Connections | undefined;
  /** Called once per HTTP request, every attempt of a retried one included. */
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
}

export interface S3Clients {
  /** Retries what failed in passing, three attempts in all. */
  readonly retrying: S3Client;
  /** Sends a request once, whatever becomes of it. */
  readonly once: S3Client;
  destroy(): void;
}

const MAX_SOCKETS = 64;
const CREDENTIALS_TIMEOUT_MS = 5000;

/** A pool of kept-alive connections that stores can share; its opener destroys it. */
type S3Connections = NodeHttpHandler;

export function openS3Connections(): S3Connections {
  return new NodeHttpHandler({
    connectionTimeout: 10_000,
    socketTimeout: 20_000,
    requestTimeout: 60_000,
    throwOnRequestTimeout: true,
    socketAcquisitionWarningTimeout: 60_000,
    httpAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
    httpsAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
  });
}

/** Two clients over one pool of kept-alive connections and one source of credentials. */
export function createS3Clients(options: S3ConnectionOptions): S3Clients {
  const custom = options.endpoint !== undefined;
  const requestHandler = options.connections ?? openS3Connections();
  const checksums = options.checksums === 'when_required' ? 'WHEN_REQUIRED' : 'WHEN_SUPPORTED';
  const ambient = new S3Client({ requestHandler }).config;
  const config: S3ClientConfig = {
    requestHandler,
    forcePathStyle: options.forcePathStyle ?? custom,
    requestChecksumCalculation: checksums,
    responseChecksumValidation: checksums,
    // Waiting for "100 Continue" costs a connection of its own for each large body.
    expectContinueHeader: false,
    region: options.region ?? (custom ? () => ambient.region().catch(() => 'us-east-1') : ambient.region),
    credentials:
      options.credentials ??
      (custom ? inTime(ambient.credentials) : (identity) => ambient.credentials(identity)),
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
  };
  const clients = [
    new S3Client({ ...config, maxAttempts: 3 }),
    new S3Client({ ...config, maxAttempts: 1 }),
  ] as const;
  for (const client of clients) {
    watchRequests(client, {
      onRequest: options.onRequest,
      acceptsHost: custom ? () => true : isAmazonHost,
    });
  }
  const [retrying, once] = clients;
  return {
    retrying,
    once,
    destroy: () => {
      if (options.connections === undefined) requestHandler.destroy();
    },
  };
}

type CredentialsProvider = Extract<S3ClientConfig['credentials'], (...args: never[]) => unknown>;

/** The default chain ends in a lookup on the network; away from AWS nothing answers there. */
function inTime(provider: CredentialsProvider): CredentialsProvider {
  return async (identity) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(noCredentials()), CREDENTIALS_TIMEOUT_MS);
    });
    try {
      return await Promise.race([provider(identity), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}

function noCredentials(): MemoryError {
  return new MemoryError(
    'access_denied',
    'No credentials for the object store were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
  );
}

interface RequestWatch {
  readonly onRequest: ((request: { readonly operation: string }) => void) | undefined;
  readonly acceptsHost: (host: string) => boolean;
}

/** The parts of an HTTP answer that are looked at before the SDK reads its body. */
export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** Runs on every HTTP request of a client, closest to the wire. */
export function watchRequests(client: S3Client, watch: RequestWatch): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const host = (args.request as { readonly hostname: string }).hostname;
      if (!watch.acceptsHost(host)) {
        throw new MemoryError(
          'misconfigured',
          'An endpoint that is not AWS is set for the AWS SDK (AWS_ENDPOINT_URL or a profile): name it in the settings of this program instead.',
        );
      }
      watch.onRequest?.({ operation: operationOf(context['commandName']) });
      const result = await next(args);
      closeAfterRefusal(result.response as HttpAnswer);
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'watchRequests' },
  );
}

function isAmazonHost(host: string): boolean {
  return /(^|\.)amazonaws\.(com|com\.cn|eu)$/.test(host);
}

/** MinIO closes the connection after a PUT that met a conflict, and after a GET that was denied. */
const CLOSING: ReadonlySet<number> = new Set([403, 409, 412]);

/**
 * MinIO does not announce that it closes a connection, and the next request on it would die. So the socket goes when
 * the body has been read, before the agent can hand it to another request.
 */
function closeAfterRefusal({ statusCode, body }: HttpAnswer): void {
  if (!CLOSING.has(statusCode)) return;
  const socket = 'socket' in body ? (body.socket as { destroy(): void } | null) : null;
  body.prependOnceListener('end', () => socket?.destroy());
}

function operationOf(commandName: unknown): string {
  return String(commandName).replace(/Command$/, '');
}
