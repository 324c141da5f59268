import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { s3Failure, s3KeyFailure, s3OutcomeUnknown, wasNeverSent } from '../../../../src/store/s3/errors.ts';
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
    [{ name: 'Unknown', status: 401 }, 'access_denied'],
  ])('turns %o into %s', (fields, code) => {
    expect(s3Failure(sdkError(fields))).toMatchObject({ code });
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
