import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { credentialsFailure, kmsFailure } from '../../../../src/keys/kms/kms-errors.ts';

/** The failures by name, each with its code and a word of its message. */
const NAMED: readonly (readonly [code: string, said: RegExp, ...names: readonly string[]])[] = [
  ['integrity', /refused by its root key/, 'InvalidCiphertextException', 'IncorrectKeyException'],
  ['key_unavailable', /disabled/, 'DisabledException'],
  ['key_unavailable', /pending deletion/, 'KMSInvalidStateException'],
  ['key_unavailable', /correct the ARN/, 'NotFoundException'],
  ['access_denied', /permissions/, 'AccessDeniedException', 'InvalidGrantTokenException'],
  [
    'access_denied',
    /expired/,
    ...['UnrecognizedClientException', 'InvalidClientTokenId', 'InvalidAccessKeyId', 'ExpiredTokenException'],
    ...['ExpiredToken', 'InvalidSignatureException', 'SignatureDoesNotMatch', 'IncompleteSignature'],
    ...['MissingAuthenticationToken', 'MissingAuthenticationTokenException', 'TokenProviderError'],
  ],
  ['access_denied', /AWS_PROFILE/, 'CredentialsProviderError'],
  [
    'unavailable',
    /fewer requests/,
    ...['ThrottlingException', 'Throttling', 'LimitExceededException', 'TooManyRequestsException'],
    'RequestLimitExceeded',
  ],
  ['unavailable', /not available at the moment/, 'KeyUnavailableException'],
  ['unavailable', /KMS failed/, 'DependencyTimeoutException', 'KMSInternalException'],
  ['misconfigured', /symmetric/, 'InvalidKeyUsageException', 'UnsupportedOperationException'],
  ['misconfigured', /accept the ARN/, 'InvalidArnException'],
  ['misconfigured', /accept the request/, 'ValidationException'],
  ['aborted', /cancelled/, 'AbortError'],
];

const failing = (fields: object): MemoryError => kmsFailure(Object.assign(new Error('words'), fields));

describe('a failure of KMS', () => {
  it.each(NAMED.flatMap(([code, said, ...names]) => names.map((name) => [name, code, said] as const)))(
    'of the name %s is %s, whatever its status',
    (name, code, said) => {
      for (const httpStatusCode of [undefined, 400, 500]) {
        const error = failing({ name, $metadata: { httpStatusCode } });
        expect(error).toMatchObject({ code, message: expect.stringMatching(said) });
      }
    },
  );

  it('is the fault of those who ask where it lies in their credentials or their quota', () => {
    const isByAsker = (said: RegExp): boolean =>
      [/expired/, /AWS_PROFILE/, /fewer requests/].some(({ source }) => source === said.source);
    for (const [, said, ...names] of NAMED) {
      const details = isByAsker(said) ? { reason: 'asker' } : {};
      for (const name of names) expect(failing({ name }).details).toEqual(details);
    }
    for (const name of ['AccessDenied', 'TimeoutError', 'CredentialsProviderError']) {
      expect(credentialsFailure(Object.assign(new Error('words'), { name })).details).toEqual({
        reason: 'asker',
      });
    }
  });

  it.each([
    [199, 'misconfigured', /AWS_ENDPOINT_URL_KMS/],
    [400, 'misconfigured', /AWS_ENDPOINT_URL_KMS/],
    [401, 'access_denied', /permissions/],
    [402, 'misconfigured', /AWS_ENDPOINT_URL_KMS/],
    [403, 'access_denied', /permissions/],
    [404, 'misconfigured', /AWS_ENDPOINT_URL_KMS/],
    [408, 'timeout', /in time/],
    [429, 'unavailable', /fewer requests/],
    [499, 'misconfigured', /AWS_ENDPOINT_URL_KMS/],
    [500, 'unavailable', /KMS failed/],
    [501, 'misconfigured', /AWS_ENDPOINT_URL_KMS/],
    [502, 'unavailable', /KMS failed/],
  ])('of the status %i and no known name is %s', (httpStatusCode, code, said) => {
    const error = failing({ name: 'Unheard', $metadata: { httpStatusCode } });
    expect(error).toMatchObject({ code, message: expect.stringMatching(said) });
  });

  it.each([
    [{ code: 'ECONNREFUSED' }, 'unavailable', /cannot be reached/],
    [{ code: 'ECONNRESET' }, 'unavailable', /connection to KMS broke/],
    [{ code: 'ECONNRESET', name: 'TimeoutError' }, 'unavailable', /connection to KMS broke/],
    [{ name: 'TimeoutError' }, 'timeout', /in time/],
    [{ code: 'ETIMEDOUT' }, 'timeout', /in time/],
    [{ code: 'CERT_HAS_EXPIRED' }, 'misconfigured', /certificate/],
    [{ code: 'EUNHEARD' }, 'misconfigured', /endpoint and region/],
    [{}, 'misconfigured', /endpoint and region/],
  ])('without an answer is told by what the network says: %o', (fields, code, said) => {
    expect(failing(fields)).toMatchObject({ code, message: expect.stringMatching(said) });
  });

  it('has a cause that tells the status, the name and the service, and passes on no words', () => {
    const { cause } = failing({ name: 'KMSInternalException', $metadata: { httpStatusCode: 503 } });
    expect(cause).toMatchObject({ message: 'KMS answered 503.', name: 'KMSInternalException', status: 503 });
    expect(failing({ code: 'ECONNREFUSED' }).cause).toMatchObject({
      message: 'KMS gave no answer (ECONNREFUSED).',
    });
  });

  it('that is told in words of the library already stays as it is', () => {
    const told = new MemoryError('aborted', 'left');
    expect(kmsFailure(told)).toBe(told);
  });
});
