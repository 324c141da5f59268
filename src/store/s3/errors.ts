import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { FULL, readSdkFailure, redactedCause, type SdkFailure } from '../failures.ts';

const SERVICE = 'The object store';

type CodedMessage = readonly [MemoryErrorCode, string];

const BAD_CREDENTIALS: CodedMessage = [
  'access_denied',
  'The object store refused the credentials: check the access key, its secret and whether they have expired.',
];
const DENIED: CodedMessage = [
  'access_denied',
  'The object store denied access: check the permissions of the credentials on bucket and prefix.',
];
const WRONG_REGION: CodedMessage = [
  'misconfigured',
  'The bucket lies in another region: set the region or endpoint it belongs to.',
];
const OVERLOADED: CodedMessage = [
  'unavailable',
  'The object store asks for fewer requests: try again later.',
];
const BAD_KEY: CodedMessage = [
  'misconfigured',
  'The object store does not accept the object key: shorten or correct the prefix.',
];

const NO_ROOM: CodedMessage = [
  'unavailable',
  'The bucket is full: the object store has no space left, or a quota is used up. Give it room; nothing that was stored is lost.',
];
/** The names that MinIO, its quota, VersityGW and Ceph give. Each refuses before anything is stored. */
const NO_ROOM_NAMES: ReadonlySet<string> = new Set([
  ...['XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'InsufficientStorage', 'QuotaExceeded'],
]);

const COLLIDED: CodedMessage = ['unavailable', 'Concurrent writes kept colliding in the object store.'];
/**
 * The names that a server gives a write which met a concurrent one; it executed nothing of it. VersityGW says the
 * second where a delete removes a folder that the write has just made.
 */
const COLLISION_NAMES: ReadonlySet<string> = new Set([
  'ConditionalRequestConflict',
  'ExistingObjectIsDirectory',
]);

/** The code and the words for each error code of S3 and each name of an error of the SDK. */
const BY_NAME: Readonly<Record<string, CodedMessage>> = {
  InvalidAccessKeyId: BAD_CREDENTIALS,
  SignatureDoesNotMatch: BAD_CREDENTIALS,
  ExpiredToken: BAD_CREDENTIALS,
  ExpiredTokenException: BAD_CREDENTIALS,
  InvalidToken: BAD_CREDENTIALS,
  InvalidClientTokenId: BAD_CREDENTIALS,
  TokenRefreshRequired: BAD_CREDENTIALS,
  XAdminUserNotFound: BAD_CREDENTIALS,
  AccessDenied: DENIED,
  CredentialsProviderError: [
    'access_denied',
    'No credentials for the object store were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
  ],
  TokenProviderError: BAD_CREDENTIALS,
  RequestTimeTooSkewed: [
    'misconfigured',
    'The clock of this machine differs too much from the object store’s: set it right.',
  ],
  NoSuchBucket: [
    'misconfigured',
    'The bucket does not exist: create it, or correct its name or the endpoint.',
  ],
  InvalidBucketName: ['misconfigured', 'The bucket name is not a valid one: correct it.'],
  PermanentRedirect: WRONG_REGION,
  TemporaryRedirect: WRONG_REGION,
  AuthorizationHeaderMalformed: WRONG_REGION,
  IllegalLocationConstraintException: WRONG_REGION,
  KeyTooLongError: BAD_KEY,
  KeyTooLong: BAD_KEY,
  XMinioInvalidObjectName: BAD_KEY,
  EntityTooLarge: ['limit_exceeded', 'The object is larger than the object store takes.'],
  ...Object.fromEntries([...NO_ROOM_NAMES].map((name) => [name, NO_ROOM])),
  SlowDown: OVERLOADED,
  Throttling: OVERLOADED,
  ThrottlingException: OVERLOADED,
  TooManyRequests: OVERLOADED,
  RequestLimitExceeded: OVERLOADED,
  OperationAborted: ['unavailable', 'The object store is busy with a conflicting operation.'],
  ...Object.fromEntries([...COLLISION_NAMES].map((name) => [name, COLLIDED])),
  RequestTimeout: ['timeout', 'The object store stopped waiting for the request.'],
};

/** An error of the SDK in the operator's words: no bucket, key, region or endpoint is named. */
export function s3Failure(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const failure = classify(readSdkFailure(error));
  return told(failure, redactedCause(error, SERVICE));
}

function told(failure: CodedMessage, cause?: Error): MemoryError {
  const [code, message] = failure;
  return new MemoryError(code, message, { cause, ...(failure === NO_ROOM && { details: { reason: FULL } }) });
}

/** Tells the answer of a server that has no room: whatever its status, nothing of the request was executed. */
export function isNoRoom(error: unknown): boolean {
  return NO_ROOM_NAMES.has(readSdkFailure(error).name);
}

/** Tells the answer to a write that met a concurrent one: nothing of it was executed, and it may be sent again. */
export function isCollision(error: unknown): boolean {
  return COLLISION_NAMES.has(readSdkFailure(error).name);
}

/** The failure of one key inside an answered batch, by its error code. */
export function s3KeyFailure(code: string): MemoryError {
  const known = byName(code);
  if (known !== undefined) return told(known);
  return new MemoryError('outcome_unknown', 'The object store failed to delete one object of a batch.');
}

/** A write without a clear answer that may have been executed. */
export function s3OutcomeUnknown(cause: unknown): MemoryError {
  return new MemoryError('outcome_unknown', 'The object store did not confirm a write.', {
    cause: redactedCause(cause, SERVICE),
  });
}

/** The HTTP status of the answer behind an error. */
export function statusOf(error: unknown): number | undefined {
  return readSdkFailure(error).status;
}

/** S3's error code, or the name of the SDK's error. */
export function s3CodeOf(error: unknown): string {
  return readSdkFailure(error).name;
}

/** Tells whether an attempt failed before any byte of the request can have reached the server. */
export function wasNeverSent(error: unknown): boolean {
  if (error instanceof MemoryError) return true;
  const { code, network, message } = readSdkFailure(error);
  if (code !== undefined) return network === 'unreached' || network === 'untrusted';
  return message.includes('did not establish a connection');
}

function classify(error: SdkFailure): CodedMessage {
  const known = byName(error.name) ?? byName(error.code ?? '');
  if (known !== undefined) return known;
  if (error.name === 'AbortError') return ['aborted', 'The caller cancelled the call.'];
  return error.status === undefined ? byNetwork(error) : byStatus(error.status);
}

function byName(name: string): CodedMessage | undefined {
  return Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
}

function byStatus(status: number): CodedMessage {
  if (status === 401 || status === 403) return DENIED;
  if (status === 408) return ['timeout', 'The object store stopped waiting for the request.'];
  if (status === 429) return OVERLOADED;
  if (status === 301 || status === 307 || status === 308) return WRONG_REGION;
  if (status >= 500 && status !== 501) return ['unavailable', 'The object store failed: try again later.'];
  return [
    'misconfigured',
    'The endpoint did not answer as S3 does: check the endpoint and what lies before it.',
  ];
}

function byNetwork(error: SdkFailure): CodedMessage {
  const code = error.code ?? '';
  if (error.network === 'unreached')
    return ['unavailable', 'The object store cannot be reached: check the endpoint and the network.'];
  if (error.network === 'broken_off')
    return [
      'unavailable',
      'The connection to the object store broke: check the endpoint and the network, then try again.',
    ];
  if (error.network === 'untrusted') {
    return [
      'misconfigured',
      'The certificate of the object store is not trusted, or it does not speak TLS: check the scheme of the endpoint and the certificate.',
    ];
  }
  if (error.name === 'TimeoutError' || code === 'ETIMEDOUT') {
    return [
      'timeout',
      'The object store did not answer in time: check the endpoint and the network, then try again.',
    ];
  }
  if (/checksum|aborted/i.test(error.message)) {
    return ['unavailable', 'An answer of the object store arrived damaged.'];
  }
  return ['misconfigured', 'No request could be made to the object store: check its endpoint and region.'];
}
