import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { readSdkFailure, redactedCause, type SdkFailure } from '../../store/failures.ts';
import { BY_ASKER, WRAP_REFUSED } from '../root-key.ts';

type KmsFailure = readonly [MemoryErrorCode, string];

const REFUSED: KmsFailure = ['integrity', WRAP_REFUSED];
const BAD_CREDENTIALS: KmsFailure = [
  'access_denied',
  'KMS refused the credentials: check the access key, its secret and whether they have expired.',
];
const DENIED: KmsFailure = [
  'access_denied',
  'KMS denied access: check the key policy and the permissions kms:GenerateDataKey and kms:Decrypt for this tenant.',
];
const NO_CREDENTIALS: KmsFailure = [
  'access_denied',
  'No credentials for KMS were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
];
const OVERLOADED: KmsFailure = ['unavailable', 'KMS asks for fewer requests: try again later.'];
const FAILED: KmsFailure = ['unavailable', 'KMS failed: try again later.'];
const LATE: KmsFailure = [
  'timeout',
  'KMS did not answer in time: check the endpoint and the network, then try again.',
];
/** Failures that those who ask have caused. The quota is that of the asking account, also for a key in another one. */
const BY_ASKERS: ReadonlySet<KmsFailure> = new Set([BAD_CREDENTIALS, NO_CREDENTIALS, OVERLOADED]);
/** Makes the error of a KMS that let a caller leave without an answer. */
export function kmsLate(): MemoryError {
  return new MemoryError(...LATE);
}

const WRONG_KEY: KmsFailure = [
  'misconfigured',
  'The KMS key cannot be a root key: it must be a symmetric key for encryption and decryption.',
];
const NOT_KMS: KmsFailure = [
  'misconfigured',
  'The endpoint did not answer as KMS does: check AWS_ENDPOINT_URL_KMS and AWS_ENDPOINT_URL, which hold for KMS too.',
];

/** Failures by the name of the error. */
const BY_NAME: Readonly<Record<string, KmsFailure>> = {
  InvalidCiphertextException: REFUSED,
  IncorrectKeyException: REFUSED,
  DisabledException: ['key_unavailable', 'The KMS key is disabled: enable it, or ask whoever holds it.'],
  KMSInvalidStateException: [
    'key_unavailable',
    'The KMS key is in a state that allows no use, such as pending deletion: cancel the deletion and enable it, or ask whoever holds it.',
  ],
  NotFoundException: [
    'key_unavailable',
    'The KMS key does not exist in the region and account of its ARN: correct the ARN.',
  ],
  AccessDeniedException: DENIED,
  InvalidGrantTokenException: DENIED,
  UnrecognizedClientException: BAD_CREDENTIALS,
  InvalidClientTokenId: BAD_CREDENTIALS,
  InvalidAccessKeyId: BAD_CREDENTIALS,
  ExpiredTokenException: BAD_CREDENTIALS,
  ExpiredToken: BAD_CREDENTIALS,
  InvalidSignatureException: BAD_CREDENTIALS,
  SignatureDoesNotMatch: BAD_CREDENTIALS,
  IncompleteSignature: BAD_CREDENTIALS,
  MissingAuthenticationToken: BAD_CREDENTIALS,
  MissingAuthenticationTokenException: BAD_CREDENTIALS,
  TokenProviderError: BAD_CREDENTIALS,
  CredentialsProviderError: NO_CREDENTIALS,
  ThrottlingException: OVERLOADED,
  Throttling: OVERLOADED,
  LimitExceededException: OVERLOADED,
  TooManyRequestsException: OVERLOADED,
  RequestLimitExceeded: OVERLOADED,
  KeyUnavailableException: ['unavailable', 'The KMS key is not available at the moment: try again later.'],
  DependencyTimeoutException: FAILED,
  KMSInternalException: FAILED,
  InvalidKeyUsageException: WRONG_KEY,
  UnsupportedOperationException: WRONG_KEY,
  InvalidArnException: ['misconfigured', 'KMS does not accept the ARN of the root key: correct it.'],
  ValidationException: ['misconfigured', 'KMS does not accept the request: check the ARN of the root key.'],
  AbortError: ['aborted', 'The caller cancelled the call.'],
};

/** Puts an error of the SDK into the operator's words, without ARN, region, account or endpoint. */
export function kmsFailure(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const failure = readSdkFailure(error);
  const kind = classify(failure);
  const [code, message] = kind;
  // Refusals are uniform, and an error that quotes an unreadable answer may quote the key in it.
  const isTold = code !== 'integrity' && !quotesAnswer(error, failure);
  return new MemoryError(code, message, {
    ...(isTold && { cause: redactedCause(error, 'KMS') }),
    ...(BY_ASKERS.has(kind) && { details: { reason: BY_ASKER } }),
  });
}

/** Puts a failure to come by credentials into the operator's words. */
export function credentialsFailure(error: unknown): MemoryError {
  const { code, message, retry, cause, details } = kmsFailure(error);
  return new MemoryError(code, message, { retry, cause, details: { ...details, reason: BY_ASKER } });
}

function quotesAnswer(error: unknown, { status }: SdkFailure): boolean {
  return error instanceof SyntaxError || (status ?? 300) < 300;
}

function classify(failure: SdkFailure): KmsFailure {
  const { name, status } = failure;
  const known = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  if (known !== undefined) return known;
  return status === undefined ? byNetwork(failure) : byStatus(status);
}

function byStatus(status: number): KmsFailure {
  if (status === 401 || status === 403) return DENIED;
  if (status === 408) return LATE;
  if (status === 429) return OVERLOADED;
  return status >= 500 && status !== 501 ? FAILED : NOT_KMS;
}

function byNetwork({ name, code, network }: SdkFailure): KmsFailure {
  if (network === 'unreached')
    return ['unavailable', 'KMS cannot be reached: check the endpoint and the network.'];
  if (network === 'broken_off')
    return [
      'unavailable',
      'The connection to KMS broke: check the endpoint and the network, then try again.',
    ];
  // The SDK calls a connection that broke a TimeoutError too.
  if (name === 'TimeoutError' || code === 'ETIMEDOUT') return LATE;
  if (network === 'untrusted') {
    return [
      'misconfigured',
      'The certificate of KMS is not trusted, or its endpoint does not speak TLS: check the scheme of the endpoint and the certificate.',
    ];
  }
  return ['misconfigured', 'No request could be made to KMS: check its endpoint and region.'];
}
