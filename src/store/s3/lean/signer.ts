import { doesIdentityRequireRefresh, isIdentityExpired, memoizeIdentityProvider } from '@smithy/core';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentialIdentity, AwsCredentialIdentityProvider, HttpRequest } from '@smithy/types';
import { once } from '../../../time.ts';
import { credentialsInTime, type S3Connections, type S3Credentials } from '../connection.ts';
import type { HttpAnswer } from '../wire.ts';
import type { Endpoint } from './endpoint.ts';
import type { LeanRequest } from './requests.ts';
import type { LeanSettings } from './settings.ts';
import { createSha256 } from './sha256.ts';

interface SignerOptions {
  readonly settings: LeanSettings;
  readonly connections: S3Connections;
  readonly credentials: S3Credentials | undefined;
  /** True where the server is another than AWS. */
  readonly custom: boolean;
}

interface Signature {
  readonly request: HttpRequest;
  /** Takes the server's clock from an answer, so that the next request is signed by it. */
  learnClock(answer: HttpAnswer): void;
  /**
   * Takes the server's clock from a failure, and marks a failure that a wrong clock caused: its request can be sent
   * again.
   */
  learnClockFrom(failure: unknown): void;
}

export interface Signer {
  /** Finds credentials. @throws what their provider throws. */
  prepare(): Promise<void>;
  sign(request: LeanRequest): Promise<Signature>;
}

/** The difference, in milliseconds, from which on S3 refuses a signature because of its time. */
const SKEW_MS = 240_000;
/** The longest exchange, in milliseconds, whose answer tells the time. */
const LONGEST_EXCHANGE_MS = 900_000;

/** Makes a signer that signs by the clock of the server, as far as its answers tell that. */
export function createSigner({ settings, connections, credentials, custom }: SignerOptions): Signer {
  const provider = credentialsProvider({ settings, connections, credentials, custom });
  let clockOffset = 0;
  const signatures = once(async () => {
    const { signingRegion } = await settings.endpoint();
    return new SignatureV4({
      credentials: provider,
      region: signingRegion,
      service: 's3',
      sha256: createSha256(),
      uriEscapePath: false,
    });
  });

  function learn(date: unknown, { headers }: Pick<HttpAnswer, 'headers'>, sentAt: number): void {
    const serverTime = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    const now = Date.now();
    // An answer out of a cache tells a time of the past.
    if (headers['age'] !== undefined || Number.isNaN(serverTime) || now - sentAt > LONGEST_EXCHANGE_MS)
      return;
    clockOffset = serverTime - now;
  }

  return {
    prepare: async () => {
      await provider();
    },
    async sign(request) {
      const endpoint = await settings.endpoint();
      const corrects = await settings.correctsClock();
      const signer = await signatures();
      const sentAt = Date.now();
      const offset = clockOffset;
      const signingDate = new Date(corrects ? sentAt + offset : sentAt);
      return {
        request: await signer.sign(placed(request, endpoint), { signingDate }),
        learnClock(answer) {
          if (corrects) learn(answer.headers['date'], answer, sentAt);
        },
        learnClockFrom(failure) {
          const { ServerTime, $response, $metadata } = (failure ?? {}) as AnsweredError;
          const date = ServerTime ?? $response?.headers['date'];
          if (!corrects || !date) return;
          learn(date, $response ?? { headers: {} }, sentAt);
          const wasSkewed = Math.abs(clockOffset) >= SKEW_MS && clockOffset !== offset;
          if (wasSkewed && $metadata !== undefined) $metadata.clockSkewCorrected = true;
        },
      };
    },
  };
}

interface AnsweredError {
  readonly ServerTime?: unknown;
  readonly $response?: HttpAnswer;
  readonly $metadata?: { clockSkewCorrected?: boolean };
}

function placed(request: LeanRequest, { basePath, host, protocol, hostname, port }: Endpoint): HttpRequest {
  return {
    protocol,
    hostname,
    ...(port !== undefined && { port }),
    method: request.method,
    path: basePath + request.path,
    query: request.query,
    headers: { ...request.headers, host, 'user-agent': 'sealed-memory' },
    body: request.body,
  };
}

type Provider = () => Promise<AwsCredentialIdentity>;

/** Makes the provider that keeps credentials while they are valid, and asks again in time. */
function credentialsProvider({ settings, connections, credentials, custom }: SignerOptions): Provider {
  // The services that hand out credentials are asked in the same region, over the same connections.
  const config = { region: settings.region, requestHandler: connections };
  const chain = once(async () => (await import('@aws-sdk/credential-provider-node')).defaultProvider());
  const ambient: AwsCredentialIdentityProvider = async (properties) => (await chain())(properties);
  const source = credentials ?? (custom ? credentialsInTime(ambient) : ambient);
  const isMemoized = typeof source === 'function' && 'memoized' in source && source.memoized === true;
  const provider = isMemoized
    ? source
    : memoizeIdentityProvider<AwsCredentialIdentity>(source, isIdentityExpired, doesIdentityRequireRefresh);
  return () => (provider as AwsCredentialIdentityProvider)({ callerClientConfig: config });
}
