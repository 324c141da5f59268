import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import {
  isCollision,
  isNoRoom,
  s3Failure,
  s3KeyFailure,
  s3OutcomeUnknown,
  wasNeverSent,
} from '../../../../src/store/s3/errors.ts';
import { parseETag } from '../../../../src/store/s3/reading.ts';

describe('s3Failure', () => {
  it.each([
    [{ name: 'TimeoutError', code: 'ECONNRESET' }, 'unavailable'],
    [{ name: 'TimeoutError', code: 'EPIPE' }, 'unavailable'],
    [{ name: 'TimeoutError', code: 'ETIMEDOUT' }, 'timeout'],
    [{ name: 'TimeoutError' }, 'timeout'],
    [{ code: 'ENOTFOUND' }, 'unavailable'],
    [{ code: 'EAI_AGAIN' }, 'unavailable'],
    [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'misconfigured'],
    [{ code: 'CERT_HAS_EXPIRED' }, 'misconfigured'],
    [{ name: 'AbortError' }, 'aborted'],
    [{ name: 'CredentialsProviderError' }, 'access_denied'],
    [{ name: 'Error', message: 'Region is missing' }, 'misconfigured'],
    [{ name: 'Error', message: 'Checksum mismatch: expected "a" but received "b"' }, 'unavailable'],
    [{ name: 'SlowDown', status: 503 }, 'unavailable'],
    [{ name: 'Unknown', status: 429 }, 'unavailable'],
    [{ name: 'Unknown', status: 500 }, 'unavailable'],
    [{ name: 'NotImplemented', status: 501 }, 'misconfigured'],
    [{ name: 'Unknown', status: 301 }, 'misconfigured'],
    [{ name: 'Unknown', status: 307 }, 'misconfigured'],
    [{ name: 'Unknown', status: 308 }, 'misconfigured'],
    [{ name: 'Unknown', status: 400 }, 'misconfigured'],
    [{ name: 'Unknown', status: 401 }, 'access_denied'],
    [{ name: 'Unknown', status: 403 }, 'access_denied'],
    [{ name: 'Unknown', status: 408 }, 'timeout'],
    [{ name: 'Unknown', status: 499 }, 'misconfigured'],
    [{ name: 'Unknown', status: 502 }, 'unavailable'],
    [{ name: 'AbortError', status: 500 }, 'aborted'],
    [{ name: 'Error', message: 'aborted' }, 'unavailable'],
    [{ name: 'Error', code: 'ETIMEDOUT' }, 'timeout'],
  ])('turns %o into %s', (fields, code) => {
    expect(s3Failure(sdkError(fields))).toMatchObject({ code });
  });

  it.each([
    [301, 'another region'],
    [307, 'another region'],
    [308, 'another region'],
    [400, 'did not answer as S3 does'],
    [501, 'did not answer as S3 does'],
    [408, 'stopped waiting'],
    [429, 'fewer requests'],
    [503, 'failed'],
  ])('says of an answer of status %i: %s', (status, words) => {
    expect(s3Failure(sdkError({ name: 'Unknown', status })).message).toContain(words);
  });

  it('tells of the error of the SDK what it was, and none of the words and fields of the server', () => {
    const secret = 'secret-bucket/tenants/acme/data/plan.md';
    const answer = Object.assign(sdkError({ name: 'NoSuchBucket', message: `no bucket ${secret}` }), {
      $metadata: { httpStatusCode: 404, requestId: 'request-1', attempts: 2 },
      Resource: secret,
      $response: { body: secret },
    });
    for (const failure of [s3Failure(answer), s3OutcomeUnknown(answer)]) {
      expect(failure.cause).toMatchObject({
        name: 'NoSuchBucket',
        status: 404,
        requestId: 'request-1',
        attempts: 2,
      });
      expect(inspect(failure, { depth: null, showHidden: true })).not.toContain(secret);
    }
  });

  it('keeps what the SDK itself says about a request that was not answered', () => {
    const failure = s3Failure(sdkError({ name: 'Error', message: 'Region is missing' }));
    expect(failure.cause).toMatchObject({ message: 'Region is missing' });
  });

  it('leaves the host out of what it keeps about a connection that failed, because it names the bucket', () => {
    const host = 'secret-bucket.s3.amazonaws.com';
    const refused = sdkError({ name: 'Error', code: 'ENOTFOUND', message: `getaddrinfo ENOTFOUND ${host}` });
    const failure = s3Failure(Object.assign(refused, { hostname: host }));
    expect(failure.cause).toMatchObject({ code: 'ENOTFOUND' });
    expect(inspect(failure, { depth: null, showHidden: true })).not.toContain('secret-bucket');
  });

  it('keeps no words of a service whose status is not known', () => {
    const failure = s3Failure(sdkError({ name: 'AccessDenied', message: 'arn:aws:s3:::secret-bucket' }));
    expect(inspect(failure, { depth: null, showHidden: true })).not.toContain('secret-bucket');
  });

  it('passes its own errors on', () => {
    const own = new MemoryError('aborted', 'cancelled');
    expect(s3Failure(own)).toBe(own);
  });
});

describe('the names of failures', () => {
  const CODES: Readonly<Record<string, readonly string[]>> = {
    access_denied: [
      ...['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'ExpiredTokenException'],
      ...['InvalidToken', 'InvalidClientTokenId', 'TokenRefreshRequired', 'XAdminUserNotFound'],
      ...['AccessDenied', 'CredentialsProviderError', 'TokenProviderError'],
    ],
    misconfigured: [
      ...['RequestTimeTooSkewed', 'NoSuchBucket', 'InvalidBucketName', 'PermanentRedirect'],
      ...['TemporaryRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'],
      ...['KeyTooLongError', 'KeyTooLong', 'XMinioInvalidObjectName'],
    ],
    limit_exceeded: ['EntityTooLarge'],
    unavailable: [
      ...['SlowDown', 'Throttling', 'ThrottlingException', 'TooManyRequests', 'RequestLimitExceeded'],
      ...['OperationAborted', 'ConditionalRequestConflict', 'ExistingObjectIsDirectory'],
      ...['XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'InsufficientStorage', 'QuotaExceeded'],
    ],
    timeout: ['RequestTimeout'],
  };
  const rows = Object.entries(CODES).flatMap(([code, names]) => names.map((name) => [name, code] as const));
  const NO_ROOM = CODES['unavailable']?.slice(8) ?? [];
  const COLLIDED = CODES['unavailable']?.slice(6, 8) ?? [];

  it.each(rows)('%s is %s, whatever the status, also in a batch', (name, code) => {
    expect(s3Failure(sdkError({ name, status: 501 }))).toMatchObject({ code });
    expect(s3Failure(sdkError({ name: 'Unknown', code: name }))).toMatchObject({ code });
    expect(s3KeyFailure(name)).toMatchObject({ code });
    const full = NO_ROOM.includes(name);
    expect(s3Failure(sdkError({ name })).details).toEqual(full ? { reason: 'disk_full' } : {});
    expect(s3KeyFailure(name).details).toEqual(full ? { reason: 'disk_full' } : {});
    expect(isNoRoom(sdkError({ name }))).toBe(full);
    expect(isCollision(sdkError({ name }))).toBe(COLLIDED.includes(name));
  });

  it.each(['toString', 'constructor', '__proto__'])('%s is no name of a failure', (name) => {
    expect(s3KeyFailure(name)).toMatchObject({ code: 'outcome_unknown' });
    expect(s3Failure(sdkError({ name, status: 500 }))).toMatchObject({ code: 'unavailable' });
  });

  it.each([
    [300, 'misconfigured'],
    [301, 'misconfigured'],
    [307, 'misconfigured'],
    [308, 'misconfigured'],
    [400, 'misconfigured'],
    [401, 'access_denied'],
    [403, 'access_denied'],
    [404, 'misconfigured'],
    [408, 'timeout'],
    [429, 'unavailable'],
    [499, 'misconfigured'],
    [500, 'unavailable'],
    [501, 'misconfigured'],
    [502, 'unavailable'],
  ])('an answer of %d without a name that is known is %s', (status, code) => {
    expect(s3Failure(sdkError({ name: 'Unknown', status }))).toMatchObject({ code });
  });

  it.each([301, 307, 308])('an answer of %d tells of another region', (status) => {
    const redirected = s3Failure(sdkError({ name: 'PermanentRedirect' }));
    expect(s3Failure(sdkError({ name: 'Unknown', status })).message).toBe(redirected.message);
    expect(s3Failure(sdkError({ name: 'Unknown', status: 302 })).message).not.toBe(redirected.message);
  });

  it('a call that was cancelled is cancelled, also where an answer came', () => {
    expect(s3Failure(sdkError({ name: 'AbortError', status: 500 }))).toMatchObject({ code: 'aborted' });
  });

  it.each([
    ['Error', 'ETIMEDOUT', '', 'timeout'],
    ['TimeoutError', undefined, '', 'timeout'],
    ['Error', undefined, 'CHECKSUM', 'unavailable'],
    ['Error', undefined, 'aborted', 'unavailable'],
    ['Error', undefined, 'something else', 'misconfigured'],
  ])('what failed without an answer as %s, %s, %j is %s', (name, code, message, expected) => {
    const fields = { name, message, ...(code !== undefined && { code }) };
    expect(s3Failure(sdkError(fields))).toMatchObject({ code: expected });
  });

  it('a connection that was not made, one that broke and one that is not trusted are told apart', () => {
    const words = ['ECONNREFUSED', 'ECONNRESET', 'CERT_HAS_EXPIRED', 'EOTHER'].map(
      (code) => s3Failure(sdkError({ name: 'Error', code })).message,
    );
    expect(new Set(words).size).toBe(4);
  });
});

describe('s3KeyFailure', () => {
  it('names known refusals and leaves the rest unknown', () => {
    expect(s3KeyFailure('AccessDenied')).toMatchObject({ code: 'access_denied' });
    expect(s3KeyFailure('InternalError')).toMatchObject({ code: 'outcome_unknown' });
  });
});

describe('wasNeverSent', () => {
  it.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'CERT_HAS_EXPIRED'])(
    'is sure about %s',
    (code) => {
      expect(wasNeverSent(sdkError({ code }))).toBe(true);
    },
  );

  it.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ERR_UNHEARD_OF'])('is not sure about %s', (code) => {
    expect(wasNeverSent(sdkError({ code }))).toBe(false);
  });

  it('is sure about a failure of this library, and of a connection that was not made', () => {
    expect(wasNeverSent(new MemoryError('unavailable', 'no'))).toBe(true);
    const message = 'The socket did not establish a connection with the server within 10 s.';
    expect(wasNeverSent(sdkError({ message }))).toBe(true);
    expect(wasNeverSent(sdkError({ message, code: 'ECONNRESET' }))).toBe(false);
  });

  it('is not sure about an error it does not know', () => {
    expect(wasNeverSent(new Error('what'))).toBe(false);
    expect(wasNeverSent(undefined)).toBe(false);
  });
});

describe('parseETag', () => {
  it('writes an ETag in one form, quoted', () => {
    expect(parseETag('"abc-2"')).toBe('"abc-2"');
    expect(parseETag('abc-2')).toBe('"abc-2"');
  });

  it.each([undefined, '', '""', '"', 'W/"abc"', 'W/abc', '"a"b"'])('refuses %s', (text) => {
    expect(() => parseETag(text)).toThrow(expect.objectContaining({ code: 'misconfigured' }));
  });
});

interface Fields {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly status?: number;
}

function sdkError({ message = '', status, ...fields }: Fields): Error {
  const metadata = status === undefined ? {} : { $metadata: { httpStatusCode: status } };
  return Object.assign(new Error(message), fields, metadata);
}
