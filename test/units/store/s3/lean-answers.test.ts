import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { HttpResponse } from '@smithy/core/protocols';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ETag, ObjectStore } from '../../../../src/store/port.ts';
import type { S3Connections } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { amount } from '../../../runner/thorough.ts';

const NOW = Date.UTC(2026, 10, 22, 4, 5, 6);
const HOUR_MS = 3_600_000;
const TEXT = 'sealed bytes';
const KEY = 'data/file' as ObjectKey;
const ETAG = '"5d41402abc4b2a76b9719d911017c592"' as ETag;

/** One answer of a server, or the failure of the connection instead of it. */
type Answer =
  | { readonly fault: Readonly<Record<string, string>> }
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      /** The connection breaks behind so many bytes. */
      readonly cutAt?: number | undefined;
    };

const codes = fc.constantFrom(
  ...['NoSuchKey', 'NoSuchBucket', 'NotFound', 'AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch'],
  ...['ExpiredToken', 'InvalidToken', 'TokenRefreshRequired', 'RequestTimeTooSkewed', 'RequestExpired'],
  ...['PermanentRedirect', 'TemporaryRedirect', 'AuthorizationHeaderMalformed', 'SlowDown', 'InternalError'],
  ...['ServiceUnavailable', 'Throttling', 'ThrottlingException', 'RequestLimitExceeded', 'TooManyRequests'],
  ...[
    'PreconditionFailed',
    'ConditionalRequestConflict',
    'OperationAborted',
    'KeyTooLongError',
    'EntityTooLarge',
  ],
  ...[
    'RequestTimeout',
    'BadDigest',
    'NotImplemented',
    'MethodNotAllowed',
    'InvalidObjectState',
    'Weird#Code',
    '',
  ],
  ...[
    'XMinioStorageFull',
    'NoSuchUpload',
    'IdempotencyParameterMismatch',
    'constructor',
    '__proto__',
    'TimeoutError',
  ],
);
const statuses = fc.constantFrom(
  ...[200, 204, 206, 300, 301, 304, 307, 308, 400, 401, 403, 404, 405, 408, 409, 411, 412, 413, 416, 429],
  ...[500, 501, 502, 503, 504, 505],
);
const dates = fc.constantFrom(
  undefined,
  new Date(NOW).toUTCString(),
  new Date(NOW + HOUR_MS).toUTCString(),
  new Date(NOW - HOUR_MS).toUTCString(),
  'no date',
);

const errorBodies = codes.chain((code) =>
  fc.constantFrom(
    `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>m</Message><Key>k</Key></Error>`,
    `<Error><Code>${code}</Code><ServerTime>${new Date(NOW + HOUR_MS).toISOString()}</ServerTime></Error>`,
    `<ErrorResponse><Error><Code>${code}</Code><Message>m</Message></Error></ErrorResponse>`,
    `<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>${code}</Code></Error>`,
    `<Error><Code><![CDATA[${code}]]></Code><!-- comment --></Error>`,
    `<Error><Code>${code}</Code>`,
    '<Error/>',
    '<Error><Message>nothing else</Message></Error>',
    '<html><head><title>404</title></head><body><br>no</body></html>',
    '<html>no</html>',
    '{"code":"NoSuchKey"}',
    'Bad Gateway',
    '\uFEFF<Error><Code>NoSuchKey</Code></Error>',
    ' \n',
    '',
  ),
);
const entry = (key: string, more = ''): string =>
  `<Contents><Key>${key}</Key><LastModified>2026-11-22T01:02:03.456Z</LastModified><ETag>&quot;e&quot;</ETag><Size>12</Size>${more}</Contents>`;
const pages = fc.constantFrom(
  `<ListBucketResult><Name>b</Name><EncodingType>url</EncodingType>${entry('a%2Fb+c')}${entry('%C3%A9')}<IsTruncated>false</IsTruncated></ListBucketResult>`,
  `<ListBucketResult xmlns="x"><Name>b</Name><IsTruncated>TRUE</IsTruncated><NextContinuationToken>t</NextContinuationToken>${entry('a')}</ListBucketResult>`,
  `<ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated></ListBucketResult>`,
  `<ListBucketResult><Name>b</Name>${entry('a&amp;b&#x41;&#66;', '<StorageClass>STANDARD</StorageClass>')}<Contents/></ListBucketResult>`,
  `<ListBucketResult><Name>b</Name><Contents><Key>k</Key><ETag>"e"</ETag></Contents></ListBucketResult>`,
  `<ListBucketResult><Name>b</Name><Contents><Key>k</Key><ETag>"e"</ETag><LastModified>yesterday</LastModified></Contents></ListBucketResult>`,
  `<ListBucketResult><Name>b</Name><Contents><Key>k</Key><Key>l</Key><ETag>"e"</ETag></Contents></ListBucketResult>`,
  `<ListBucketResult><Name>b</Name><Contents><Key a="b">k</Key><ETag>"e"</ETag></Contents></ListBucketResult>`,
  '<ListBucketResult><Name/></ListBucketResult>',
  '<ListBucketResult/>',
);
const refusals = codes.map(
  (code) =>
    `<DeleteResult><Error><Key>data/file</Key><Code>${code}</Code></Error><Error><Key>unasked</Key><Code>x</Code></Error></DeleteResult>`,
);
const deletions = fc.oneof(
  refusals,
  codes.map(
    (code) =>
      `<DeleteResult><Deleted><Key>a</Key></Deleted><Error><Code>${code}</Code><Key>data/b&amp;c</Key></Error></DeleteResult>`,
  ),
  fc.constantFrom(
    '<DeleteResult/>',
    '<DeleteResult></DeleteResult>',
    '<DeleteResult><Error/></DeleteResult>',
  ),
);

function base64(sum: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum);
  return bytes.toString('base64');
}

const checksums = fc.constantFrom<Readonly<Record<string, string>>>(
  {},
  {},
  { 'x-amz-checksum-crc32': base64(crc32(TEXT)) },
  { 'x-amz-checksum-crc32': base64(crc32('other')) },
  { 'x-amz-checksum-crc32': `${base64(crc32('other'))}-3` },
  { 'x-amz-checksum-sha256': createHash('sha256').update(TEXT).digest('base64') },
  { 'x-amz-checksum-sha256': 'AAAA', 'x-amz-checksum-crc32': base64(crc32(TEXT)) },
  { 'x-amz-checksum-sha1': createHash('sha1').update(TEXT).digest('base64') },
  { 'x-amz-checksum-crc32c': 'AAAAAA==' },
  { 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' },
);
const headersOfAnswers = fc
  .record({
    date: dates,
    etag: fc.constantFrom(ETAG, ETAG, ETAG, 'W/"weak"', 'unquoted', '', undefined),
    'last-modified': fc.constantFrom(
      new Date(NOW).toUTCString(),
      new Date(NOW).toUTCString(),
      undefined,
      'never',
    ),
    'content-length': fc.constantFrom(undefined, String(TEXT.length), '99999', 'x'),
    'x-amz-request-id': fc.constantFrom('request-1', undefined),
    'retry-after': fc.constantFrom(undefined, undefined, '0'),
    age: fc.constantFrom(undefined, undefined, '5'),
    sums: checksums,
  })
  .map(({ sums, ...headers }) => {
    const given = Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined);
    // If the SDK cannot read the headers, it leaves behind the stream that checks the sum, and the stream's error would
    // be lost.
    return { ...Object.fromEntries(given), ...(headers['last-modified'] !== 'never' && sums) };
  });

const faults = fc.constantFrom<Readonly<Record<string, string>>>(
  { name: 'TimeoutError', code: 'ECONNRESET', message: 'socket hang up' },
  { name: 'TimeoutError', code: 'ECONNREFUSED' },
  { name: 'TimeoutError', code: 'EPIPE' },
  { name: 'TimeoutError', code: 'ETIMEDOUT' },
  { name: 'TimeoutError', message: 'the request socket did not establish a connection with the server' },
  { code: 'ENOTFOUND' },
  { code: 'EAI_AGAIN' },
  { code: 'CERT_HAS_EXPIRED' },
  { message: 'what' },
);

const answers: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 1, arbitrary: faults.map((fault) => ({ fault })) },
  {
    weight: 4,
    arbitrary: fc.record({ status: statuses, headers: headersOfAnswers, body: errorBodies, cutAt: cuts() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      status: fc.constantFrom(200, 200, 200, 204),
      headers: headersOfAnswers,
      body: fc.oneof(fc.constantFrom(TEXT, ''), pages, deletions, errorBodies),
      cutAt: cuts(),
    }),
  },
);

async function listed(store: ObjectStore): Promise<unknown> {
  const found: unknown[] = [];
  for await (const page of store.list({ prefix: 'data/' })) found.push(page);
  return found;
}

function cuts(): fc.Arbitrary<number | undefined> {
  return fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined, freq: 6 });
}

type Operation = (store: ObjectStore) => Promise<unknown>;

const modes = fc.constantFrom('create' as const, 'overwrite' as const, { ifMatch: ETAG });
const repeatable: fc.Arbitrary<readonly [string, Operation]> = fc.oneof(
  fc
    .record({
      ifNoneMatch: fc.option(fc.constant(ETAG), { nil: undefined }),
      maxBytes: fc.constantFrom(undefined, 5, TEXT.length),
    })
    .map((options) => ['get', (store: ObjectStore) => store.get(KEY, options)] as const),
  fc.constant(['head', (store: ObjectStore) => store.head(KEY)] as const),
  modes.map((mode) => ['put', (store: ObjectStore) => store.put(KEY, new Uint8Array(3), { mode })] as const),
  fc.constant(['list', listed] as const),
);

/** Sent once, by a client of the SDK's that takes the server's clock from answers to these alone. */
const single: fc.Arbitrary<readonly [string, Operation]> = fc.oneof(
  fc
    .option(fc.constant(ETAG), { nil: undefined })
    .map((ifMatch) => ['delete', (store: ObjectStore) => store.delete([{ key: KEY, ifMatch }])] as const),
  fc.option(fc.constant(ETAG), { nil: undefined }).map((ifMatch) => {
    const targets = [KEY, 'data/b&c' as ObjectKey].map((key) => ({ key, ifMatch }));
    return ['delete of two', (store: ObjectStore) => store.delete(targets)] as const;
  }),
);

describe('an answer to the lean client', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW });
    // The pauses before attempts are drawn; without them the attempts stay the same.
    vi.spyOn(Math, 'random').mockReturnValue(0);
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent/config');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent/credentials');
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  it('leads to the outcome that it has through the AWS SDK, after as many attempts, signed at the same times', async () => {
    const script = fc.array(answers, { minLength: 1, maxLength: 3 });
    const twice = (operations: typeof single) =>
      fc.record({ operation: operations, script, again: operations, laterScript: script });
    const work = fc.oneof(
      { weight: 2, arbitrary: twice(repeatable) },
      { weight: 1, arbitrary: twice(single) },
    );
    const kinds = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        work,
        fc.boolean(),
        async ({ operation, script: first, again, laterScript }, verifies) => {
          const steps = [[operation, first] as const, [again, laterScript] as const];
          const lean = await play('lean', steps, verifies);
          const sdk = await play('sdk', steps, verifies);
          expect(lean).toEqual(sdk);
          for (const { outcome } of lean) kinds.set(kindOf(outcome), (kinds.get(kindOf(outcome)) ?? 0) + 1);
        },
      ),
      { numRuns: amount({ usual: 400, thorough: 2_500 }) },
    );
    for (const kind of [
      'result',
      'unavailable',
      'access_denied',
      'misconfigured',
      'outcome_unknown',
      'timeout',
    ]) {
      expect(kinds.get(kind), kind).toBeGreaterThan(0);
    }
  }, 900_000);
});

interface Played {
  readonly outcome: unknown;
  /** When each attempt was signed. */
  readonly signedAt: readonly (string | undefined)[];
}

/** Lets a fresh store do the operations; each attempt of one meets the next answer of its script, or the last again. */
async function play(
  client: 'sdk' | 'lean',
  steps: readonly (readonly [readonly [string, Operation], readonly Answer[]])[],
  verifies: boolean,
): Promise<readonly Played[]> {
  let script: readonly Answer[] = [];
  let signedAt: (string | undefined)[] = [];
  const handle = async ({ headers }: { readonly headers: Record<string, string> }): Promise<object> => {
    const answer = script[Math.min(signedAt.length, script.length - 1)] as Answer;
    signedAt.push(headers['x-amz-date']);
    if (signedAt.length > 30) throw new Error('it does not end');
    return { response: made(answer) };
  };
  const connections = { metadata: {}, handle, destroy: () => {} } as unknown as S3Connections;
  const store = openS3ObjectStore({
    client,
    connections,
    bucket: 'b',
    region: 'us-east-1',
    guarded: true,
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    checksums: verifies ? 'when_supported' : 'when_required',
  });
  const played: Played[] = [];
  for (const [[, operation], answering] of steps) {
    script = answering;
    signedAt = [];
    const outcome = await operation(store).then(
      (result) => ({ result }),
      (error: unknown) => toldOf(error),
    );
    played.push({ outcome, signedAt });
  }
  return played;
}

function made(answer: Answer): HttpResponse {
  if ('fault' in answer) throw Object.assign(new Error(answer.fault['message'] ?? ''), answer.fault);
  const { status, headers, body, cutAt } = answer;
  const bytes = Buffer.from(body);
  const stream = new Readable({ read: () => {} });
  // As a message of Node's HTTP client: an error that no reader waits for is lost.
  stream.on('error', () => {});
  if (cutAt !== undefined && cutAt < bytes.length) {
    stream.push(bytes.subarray(0, cutAt));
    setImmediate(() => stream.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })));
  } else {
    stream.push(bytes);
    stream.push(null);
  }
  return new HttpResponse({ statusCode: status, headers: { ...headers }, body: stream });
}

/** All that a caller and an operator see of an error, but for the words of the parser of XML. */
function toldOf(error: unknown): unknown {
  if (!(error instanceof MemoryError)) return { unexpected: String(error) };
  const { code, message, retry, details } = error;
  const { name, status, attempts, requestId } = (error.cause ?? {}) as Readonly<Record<string, unknown>>;
  return { code, message, retry, details, cause: { name, status, attempts, requestId } };
}

function kindOf(outcome: unknown): string {
  return (outcome as { readonly code?: string }).code ?? 'result';
}
