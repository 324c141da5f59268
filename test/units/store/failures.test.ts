import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import {
  fileCodeOf,
  nameFileCode,
  readSdkFailure,
  redactedCause,
  redactedFileCause,
} from '../../../src/store/failures.ts';

const PATH = '/home/someone/acme/notes.md';

it('the cause of a file system’s failure names the call and its code, and no path', () => {
  const refused = { syscall: 'open', errno: -13, code: 'EACCES', path: PATH, dest: PATH };
  const error = Object.assign(new Error(`EACCES: permission denied, open '${PATH}'`), refused);
  const told = redactedFileCause(error);
  expect(told.message).toBe('The file system refused open (EACCES).');
  expect({ ...told }).toEqual({ code: 'EACCES', syscall: 'open', errno: -13 });
});

it('the cause of a failure without a code, or of what is no error, holds nothing of it', () => {
  for (const thrown of [new Error(PATH), { message: PATH, path: PATH }, PATH, undefined]) {
    const told = redactedFileCause(thrown);
    expect(told.message).toBe('The file system refused a call (unknown error).');
    expect(JSON.stringify({ ...told })).toBe('{}');
  }
});

it.each([
  ['an error of the file system', Object.assign(new Error(PATH), { code: 'EIO' }), 'EIO'],
  ['an error whose code is a number', Object.assign(new Error(PATH), { code: 13 }), undefined],
  ['an error without a code', new Error(PATH), undefined],
  ['what is no error', { code: 'EIO' }, undefined],
  ['nothing', undefined, undefined],
])('the code of %s, and its name in a message', (_, error, code) => {
  expect(fileCodeOf(error)).toBe(code);
  expect(nameFileCode(error)).toBe(code ?? 'unknown error');
});

it('a field of a file system’s failure that is no text is not taken for the name of a call', () => {
  const told = redactedFileCause(Object.assign(new Error(PATH), { code: 'EIO', syscall: 5, errno: -5 }));
  expect(told.message).toBe('The file system refused a call (EIO).');
  expect({ ...told }).toEqual({ code: 'EIO', syscall: undefined, errno: -5 });
});

describe('what an error of the AWS SDK tells about itself', () => {
  const NOTHING = {
    name: '',
    message: '',
    code: undefined,
    network: undefined,
    status: undefined,
    requestId: undefined,
    attempts: undefined,
  };

  it.each([
    ['nothing', undefined, {}],
    ['null', null, {}],
    ['a text', 'failed', {}],
    ['an object without fields', {}, {}],
    ['fields of the wrong kind', { name: 1, message: {}, code: 2, Code: 3 }, {}],
    ['a name', { name: 'SlowDown', message: 'words' }, { name: 'SlowDown', message: 'words' }],
    ['the service’s code before the name', { name: 'Error', Code: 'NoSuchKey' }, { name: 'NoSuchKey' }],
    ['a service’s code that is no text', { name: 'SlowDown', Code: 3 }, { name: 'SlowDown' }],
    [
      'what is known of the request',
      { $metadata: { httpStatusCode: 503, requestId: 'r', attempts: 3 } },
      { status: 503, requestId: 'r', attempts: 3 },
    ],
    ['the status of an answer that it could not read', { $response: { statusCode: 502 } }, { status: 502 }],
    [
      'the status that the SDK names before that of the answer',
      { $metadata: { httpStatusCode: 500 }, $response: { statusCode: 502 } },
      { status: 500 },
    ],
    ['an unknown code of a connection', { code: 'ESOMETHING' }, { code: 'ESOMETHING' }],
  ])('%s', (_, error, told) => {
    expect(readSdkFailure(error)).toEqual({ ...NOTHING, ...told });
  });

  it.each<[string, string | undefined]>([
    ['ECONNREFUSED', 'unreached'],
    ['ENOTFOUND', 'unreached'],
    ['EAI_AGAIN', 'unreached'],
    ['EHOSTUNREACH', 'unreached'],
    ['ENETUNREACH', 'unreached'],
    ['EADDRNOTAVAIL', 'unreached'],
    ['ECONNRESET', 'broken_off'],
    ['EPIPE', 'broken_off'],
    ['ERR_STREAM_PREMATURE_CLOSE', 'broken_off'],
    ['ECONNABORTED', 'broken_off'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'untrusted'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'untrusted'],
    ['CERT_HAS_EXPIRED', 'untrusted'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'untrusted'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'untrusted'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'untrusted'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'untrusted'],
    ['NO_CERT_HERE', undefined],
    ['UNABLE_TO_DECRYPT', undefined],
  ])('the fault behind the code %s is %s', (code, network) => {
    expect(readSdkFailure({ code })).toMatchObject({ code, network });
  });
});

describe('the cause that is kept of an error of the AWS SDK', () => {
  const SECRET = 'arn:aws:s3:::acme-bucket';

  it.each([
    ['an answer', { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } }, 'S3 answered 403.'],
    [
      'an answer behind a broken connection',
      { code: 'EPIPE', $response: { statusCode: 500 } },
      'S3 answered 500.',
    ],
    ['a connection that failed', { name: 'Error', code: 'ENOTFOUND' }, 'S3 gave no answer (ENOTFOUND).'],
    ['an error of the service without a status', { name: 'AccessDenied' }, 'S3 refused the request.'],
    ['an error without a name', {}, 'S3 refused the request.'],
  ])('says of %s nothing in the words of the server', (_, facts, message) => {
    const told = redactedCause({ ...facts, message: SECRET, Bucket: SECRET, $fault: SECRET }, 'S3');
    expect(told).toBeInstanceOf(Error);
    expect(told.message).toBe(message);
    expect(told.name).toBe('name' in facts ? facts.name : 'Error');
    expect(JSON.stringify({ ...told })).not.toContain(SECRET);
  });

  it.each([
    ...['Error', 'TypeError', 'AbortError', 'TimeoutError', 'CredentialsProviderError', 'TokenProviderError'],
  ])('keeps what the SDK itself says of a request that it could not make: %s', (name) => {
    expect(redactedCause({ name, message: 'its own words' }, 'S3')).toMatchObject({
      name,
      message: 'its own words',
    });
  });

  it('keeps what names the request, and no other field', () => {
    const metadata = { httpStatusCode: 503, requestId: 'r', attempts: 3, cfId: SECRET };
    const told = redactedCause({ name: 'SlowDown', $metadata: metadata, host: SECRET, code: 'EPIPE' }, 'S3');
    const { code, status, requestId, attempts, ...others } = { ...told } as Record<string, unknown>;
    expect({ code, status, requestId, attempts }).toEqual({
      code: 'EPIPE',
      status: 503,
      requestId: 'r',
      attempts: 3,
    });
    expect(Object.keys(others).filter((name) => name !== 'name')).toEqual([]);
  });

  it('leaves an error of this library as it is', () => {
    const error = new MemoryError('unavailable', 'no');
    expect(redactedCause(error, 'S3')).toBe(error);
  });
});
