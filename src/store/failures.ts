import { MemoryError } from '../errors.ts';

/** `details.reason` of what was refused because the disk or the bucket has no room. */
export const FULL = 'disk_full';

/** The facts that an error of the AWS SDK gives about itself. */
export interface SdkFailure {
  /** The service's code, or the name of the SDK's error; empty when there is neither. */
  readonly name: string;
  readonly message: string;
  /** Node's code for a connection that failed. */
  readonly code: string | undefined;
  /** The fault behind that code; undefined for codes that tell of something else. */
  readonly network: NetworkFault | undefined;
  readonly status: number | undefined;
  /** The provider's own name for the request. */
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
  const code = typeof fields.code === 'string' ? fields.code : undefined;
  return {
    name: typeof name === 'string' ? name : '',
    message: typeof fields.message === 'string' ? fields.message : '',
    code,
    network: code === undefined ? undefined : networkFaultOf(code),
    status: fields.$metadata?.httpStatusCode ?? fields.$response?.statusCode,
    requestId: fields.$metadata?.requestId,
    attempts: fields.$metadata?.attempts,
  };
}

/**
 * An error of the SDK without the words and fields of the server, which name bucket, key, ARN, tenant and credentials:
 * a logger prints all of a cause. What the SDK itself says of a request that it could not make is kept; what
 * Node says of a connection names the host, and with it the bucket.
 */
export function redactedCause(error: unknown, service: string): Error {
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

/** The code of Node for what the file system said, such as ENOSPC; undefined for an error of another kind. */
export function fileCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The code as a message names it: `unknown error` where there is none, as where Deno does not allow a file to be read. */
export function nameFileCode(error: unknown): string {
  return fileCodeOf(error) ?? 'unknown error';
}

/**
 * An error of the file system without the paths in its message and fields: they name files of the tenant, and folders
 * of the machine. A logger prints all of a cause.
 */
export function redactedFileCause(error: unknown): Error {
  const { syscall, errno } = (error ?? {}) as { readonly syscall?: unknown; readonly errno?: unknown };
  const code = fileCodeOf(error);
  const call = typeof syscall === 'string' ? syscall : 'a call';
  const told = new Error(`The file system refused ${call} (${nameFileCode(error)}).`);
  return Object.assign(told, { code, syscall: typeof syscall === 'string' ? syscall : undefined, errno });
}

/** Codes of `node:net`, `node:dns` and `node:tls` for a request that reached no server. */
const UNREACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
]);
const BROKEN_OFF = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNABORTED']);
const UNTRUSTED = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(VERIFY|GET_ISSUER))/;

/** The fault of a connection: no server was reached, it broke, or the other side could not be trusted. */
type NetworkFault = 'unreached' | 'broken_off' | 'untrusted';

function networkFaultOf(code: string): NetworkFault | undefined {
  if (UNREACHED.has(code)) return 'unreached';
  if (BROKEN_OFF.has(code)) return 'broken_off';
  return UNTRUSTED.test(code) ? 'untrusted' : undefined;
}
