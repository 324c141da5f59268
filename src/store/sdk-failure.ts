import { MemoryError } from '../errors.ts';

/** What an error of the AWS SDK says about itself. */
export interface SdkFailure {
  /** The service's code, or the name of the SDK's error; empty when there is neither. */
  readonly name: string;
  readonly message: string;
  /** Of Node, for a connection that failed. */
  readonly code: string | undefined;
  readonly status: number | undefined;
  /** For whoever asks the provider about it. */
  readonly requestId: string | undefined;
  readonly attempts: number | undefined;
}

export function readSdkFailure(error: unknown): SdkFailure {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly name?: unknown;
    readonly message?: unknown;
    readonly code?: unknown;
    readonly Code?: unknown;
    readonly $metadata?: {
      readonly httpStatusCode?: number;
      readonly requestId?: string;
      readonly attempts?: number;
    };
    readonly $response?: { readonly statusCode?: number };
  };
  const name = typeof fields.Code === 'string' ? fields.Code : fields.name;
  return {
    name: typeof name === 'string' ? name : '',
    message: typeof fields.message === 'string' ? fields.message : '',
    code: typeof fields.code === 'string' ? fields.code : undefined,
    status: fields.$metadata?.httpStatusCode ?? fields.$response?.statusCode,
    requestId: fields.$metadata?.requestId,
    attempts: fields.$metadata?.attempts,
  };
}

/**
 * An error of the SDK without the words and fields of the server, which name bucket, key, ARN, tenant and credentials:
 * whoever prints a cause prints all of it. What the SDK itself says of a request that it could not make is kept; what
 * Node says of a connection names the host, and with it the bucket.
 */
export function tellableCause(error: unknown, service: string): Error {
  if (error instanceof MemoryError) return error;
  const failure = readSdkFailure(error);
  const { name, code, status, requestId, attempts } = failure;
  const told = new Error(whatWasSaid(failure, service));
  if (name !== '') told.name = name;
  return Object.assign(told, { code, status, requestId, attempts });
}

/** Errors that the SDK makes itself; any other name is the service's. */
const OF_THE_SDK: ReadonlySet<string> = new Set([
  ...['Error', 'TypeError', 'AbortError', 'TimeoutError', 'CredentialsProviderError', 'TokenProviderError'],
]);

function whatWasSaid({ name, message, code, status }: SdkFailure, service: string): string {
  if (status !== undefined) return `${service} answered ${status}.`;
  if (code !== undefined) return `${service} gave no answer (${code}).`;
  return OF_THE_SDK.has(name) ? message : `${service} refused the request.`;
}
