import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { redactedCause } from '../../../../src/store/failures.ts';
import type { ETag } from '../../../../src/store/port.ts';
import { newTrace } from '../../../../src/store/s3/attempts.ts';
import type { S3Connections, S3StoreOptions } from '../../../../src/store/s3/connection.ts';
import { s3Failure } from '../../../../src/store/s3/errors.ts';
import { openLeanWire } from '../../../../src/store/s3/lean/lean-store.ts';
import { openSdkWire } from '../../../../src/store/s3/sdk/sdk-store.ts';
import type { S3Wire } from '../../../../src/store/s3/wire.ts';
import { amount, THOROUGH } from '../../../runner/thorough.ts';

interface Sent {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

interface Place {
  readonly options: S3StoreOptions;
  readonly credentials: { readonly secretAccessKey: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The headers that name the client and number its calls; the SDK signs some of them. */
const OF_THE_CLIENT = ['user-agent', 'x-amz-user-agent', 'amz-sdk-invocation-id', 'amz-sdk-request'];
const NOW = Date.UTC(2026, 10, 22, 4, 5, 6);

const REGIONS = [
  ...['us-east-1', 'eu-central-1', 'ap-southeast-5', 'cn-north-1', 'cn-northwest-1', 'us-gov-west-1'],
  ...['us-iso-east-1', 'us-isob-east-1', 'eu-isoe-west-1', 'us-isof-south-1', 'eusc-de-east-1'],
  ...['aws-global', 'aws-cn-global', 'fips-us-east-1', 'us-gov-west-1-fips', 'fips-aws-global'],
  ...['xx-nowhere-9', 'localhost', 'a.b', '-x'],
];
const regions = fc.oneof(fc.constantFrom(...REGIONS), fc.stringMatching(/^[a-z]{2}-[a-z]{3,6}-[0-9]$/));
const ENDPOINTS = [
  ...['http://127.0.0.1:9000', 'https://10.1.2.3', 'http://[::1]:9000', 'https://s3.example.com'],
  ...['http://minio.local:9000/base/path', 'https://gw.example.org:8443/', 'https://gw.example.org/a/'],
  ...['https://example.com:443', 'http://example.com:80/x y', 'http://h.example?x=1', 'HTTP://Upper.Example'],
  ...['ftp://example.com', 'not a url', 'https://s3.eu-west-1.amazonaws.com', 'http://user:word@h.example'],
];
const endpoints = fc.constantFrom(...ENDPOINTS);
const BUCKETS = [
  ...['bucket', 'my.dotted.bucket', 'one.two.three', '192.168.5.4', 'x100.200.300.400', 'a..b', 'xn--abc'],
  ...['abc', 'a'.repeat(63), 'Upper', 'under_score', 'ab', 'bucket.', '-b-', 'b--c', 'with space'],
];
const buckets = fc.oneof(
  fc.constantFrom(...BUCKETS),
  fc.stringMatching(/^[a-z0-9][a-z0-9.-]{1,20}[a-z0-9]$/),
);
const keys = fc
  .oneof(
    fc.constantFrom(
      'a b',
      'a+b',
      '//',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      'a/../b',
      './a',
      '%',
      '%2F',
      'é',
      '€/😀',
    ),
    fc.constantFrom(
      "!'()*~-_.",
      '&<>"=;:@,$?#[]{}|\\^`',
      'a\tb\nc\rd',
      '\u0001\u0085\u2028',
      'sealed/x.sealed',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    fc
      .array(fc.string({ unit: 'binary', minLength: 0, maxLength: 6 }), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('/')),
  )
  .filter((key) => key !== '' && key.isWellFormed()) as fc.Arbitrary<ObjectKey>;
const etags = fc.constantFrom('"5d41402abc4b2a76b9719d911017c592"', '"a b"', '"x-2"') as fc.Arbitrary<ETag>;
const bodies = fc.uint8Array({ maxLength: 64 });
const flags = fc.constantFrom('true', 'false', undefined, undefined, undefined);

const places: fc.Arbitrary<Place> = fc
  .record({
    bucket: buckets,
    region: regions,
    endpoint: fc.option(endpoints, { nil: undefined }),
    forcePathStyle: fc.constantFrom(true, false, undefined, undefined),
    checksums: fc.constantFrom('when_supported' as const, 'when_required' as const, undefined),
    sessionToken: fc.option(fc.constantFrom('token', 'a/+=b c'), { nil: undefined }),
    secretAccessKey: fc.constantFrom('secret', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCY='),
    dualstack: flags,
    fips: flags,
    named: fc.constantFrom(undefined, undefined, undefined, 'https://vpce-1.s3.eu-west-1.vpce.amazonaws.com'),
  })
  .map(({ sessionToken, secretAccessKey, dualstack, fips, named, ...options }) => {
    const credentials = {
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
    };
    const environment = {
      AWS_USE_DUALSTACK_ENDPOINT: dualstack,
      AWS_USE_FIPS_ENDPOINT: fips,
      AWS_ENDPOINT_URL_S3: named,
    };
    return { options: { ...options, credentials }, credentials, environment };
  });

type Operation = (wire: S3Wire) => Promise<unknown>;

const operations: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ key: keys, ifNoneMatch: fc.option(etags, { nil: undefined }) }).map(
    ({ key, ifNoneMatch }): Operation =>
      (wire) =>
        wire.get(key, { trace: newTrace(), ifNoneMatch }),
  ),
  keys.map(
    (key): Operation =>
      (wire) =>
        wire.head(key, { trace: newTrace() }),
  ),
  fc
    .record({
      key: keys,
      body: bodies,
      mode: fc.oneof(
        fc.constantFrom('create' as const, 'overwrite' as const),
        etags.map((ifMatch) => ({ ifMatch })),
      ),
    })
    .map(
      ({ key, body, mode }): Operation =>
        (wire) =>
          wire.put(key, body, { trace: newTrace(), mode }),
    ),
  fc.record({ key: keys, ifMatch: fc.option(etags, { nil: undefined }) }).map(
    (target): Operation =>
      (wire) =>
        wire.remove(target, { trace: newTrace() }),
  ),
  fc
    .array(fc.record({ key: keys, ifMatch: fc.option(etags, { nil: undefined }) }), {
      minLength: 1,
      maxLength: 5,
    })
    .map(
      (targets): Operation =>
        (wire) =>
          wire.removeAll(targets, { trace: newTrace() }),
    ),
  fc
    .record({
      prefix: fc.oneof(fc.constant(''), keys as fc.Arbitrary<string>),
      startAfter: fc.option(keys as fc.Arbitrary<string>, { nil: undefined }),
      maxKeys: fc.integer({ min: 1, max: 1000 }),
      token: fc.option(fc.constantFrom('a+b/==', 'x y'), { nil: undefined }),
    })
    .map(
      (page): Operation =>
        (wire) =>
          wire.list(page, { trace: newTrace() }),
    ),
);

describe('a request of the lean client', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW });
    // The SDK prints here every URL that it cannot parse.
    vi.spyOn(console, 'error').mockReturnValue();
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent/config');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent/credentials');
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  it.each(['http://[::1]:9000', 'http://127.0.0.1:9000'])(
    'is refused as by the AWS SDK for a bucket with dots in front of %s, unless in path style',
    async (endpoint) => {
      for (const [forcePathStyle, expected] of [
        [false, 0],
        [true, 2],
      ] as const) {
        const captured: Sent[] = [];
        const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
        const place = { bucket: 'one.two.three', region: 'us-east-1', endpoint, forcePathStyle, credentials };
        const options = { ...place, connections: capturing(captured) };
        for (const wire of [openLeanWire(options), openSdkWire(options)]) {
          await expect(wire.get('key' as ObjectKey, { trace: newTrace() })).rejects.toThrow(Error);
        }
        expect(captured).toHaveLength(expected);
      }
    },
  );

  it.each(BUCKETS)(
    'goes where the one of the AWS SDK goes, for the same region, in and out of path style: %s',
    async (bucket) => {
      const captured: Sent[] = [];
      const connections = capturing(captured);
      const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
      for (const [at, endpoint] of [undefined, ...ENDPOINTS].entries()) {
        for (const region of regionsFor(endpoint, BUCKETS.indexOf(bucket) + at)) {
          for (const forcePathStyle of [true, false]) {
            const options = { bucket, region, endpoint, forcePathStyle, credentials, connections };
            const [ours, theirs] = [openLeanWire(options), openSdkWire(options)];
            const get = (wire: S3Wire) =>
              outcome(captured, () => wire.get('key' as ObjectKey, { trace: newTrace() }));
            expect(comparable(await get(ours)), JSON.stringify(options)).toEqual(
              comparable(await get(theirs)),
            );
          }
        }
      }
    },
  );

  it('meets each region at each endpoint, though not with every bucket in a usual run', () => {
    for (const at of ENDPOINTS.keys()) {
      const met = BUCKETS.flatMap((_, bucket) => regionsFor(ENDPOINTS[at], bucket + at + 1));
      expect(new Set(met)).toEqual(new Set(REGIONS));
    }
  });

  it('is byte for byte the one that the AWS SDK sends, but for what names the client and numbers its calls', async () => {
    let sent = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        places,
        fc.array(operations, { minLength: 10, maxLength: 10 }),
        async (place, calls) => {
          for (const [name, value] of Object.entries(place.environment)) vi.stubEnv(name, value);
          const captured: Sent[] = [];
          const connections = capturing(captured);
          const lean = openLeanWire({ ...place.options, connections });
          const sdk = openSdkWire({ ...place.options, connections });
          for (const call of calls) {
            const ours = await outcome(captured, () => call(lean));
            const theirs = await outcome(captured, () => call(sdk));
            expect(comparable(ours)).toEqual(comparable(theirs));
            for (const each of [ours, theirs]) {
              if ('sent' in each) expect(signatureOf(each.sent)).toBe(expectedSignature(each.sent, place));
            }
            if ('sent' in ours) sent += 1;
            else refused += 1;
          }
        },
      ),
      { numRuns: amount({ usual: 60, thorough: 1_000 }) },
    );
    // Neither of the two kinds is the exception that hides the other.
    expect(Math.min(sent, refused)).toBeGreaterThan((sent + refused) / 4);
  }, 900_000);
});

/**
 * The regions that a bucket is asked for in: all of them where they name the host. An endpoint names it by itself, and
 * its region is a word of the signature: there two regions a bucket do, another two for the next bucket.
 */
function regionsFor(endpoint: string | undefined, turn: number): readonly string[] {
  if (endpoint === undefined || THOROUGH) return REGIONS;
  return [0, 1].map((next) => REGIONS[(2 * turn + next) % REGIONS.length] ?? expect.unreachable());
}

/** A handler that keeps what it is to send and answers with a failure. */
function capturing(captured: Sent[]): S3Connections {
  const handler = {
    metadata: { handlerProtocol: 'http/1.1' },
    handle: async (request: Sent) => {
      captured.push(request);
      throw new Error('captured');
    },
    destroy: () => {},
  };
  return handler as unknown as S3Connections;
}

type Outcome = { readonly sent: Sent } | { readonly code: string; readonly cause: string };

async function outcome(captured: Sent[], call: () => Promise<unknown>): Promise<Outcome> {
  captured.length = 0;
  const error = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const [sent] = captured;
  if (sent !== undefined) return { sent };
  const cause = redactedCause(error, 'S3');
  return { code: s3Failure(error).code, cause: `${cause.name}: ${cause.message}` };
}

function comparable(result: Outcome): unknown {
  if (!('sent' in result)) return result;
  const { method, protocol, hostname, port, path, query, headers, body = new Uint8Array() } = result.sent;
  const kept = Object.entries(headers).filter(([name]) => !OF_THE_CLIENT.includes(name.toLowerCase()));
  const { authorization, ...others } = Object.fromEntries(
    kept.map(([name, value]) => [name.toLowerCase(), value]),
  );
  const { credential, signed } = authorizationOf(authorization);
  return {
    method,
    protocol,
    hostname,
    port,
    path,
    query,
    headers: others,
    credential,
    signed: signed.filter((name) => !OF_THE_CLIENT.includes(name)),
    body: Buffer.from(body).toString('hex'),
  };
}

function authorizationOf(header = ''): {
  readonly credential: string;
  readonly signed: readonly string[];
  readonly signature: string;
} {
  const [, credential = '', signed = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(header) ??
    [];
  return { credential, signed: signed.split(';'), signature };
}

function signatureOf({ headers }: Sent): string {
  return authorizationOf(headers['authorization']).signature;
}

/** Signature version 4 as its document tells it, over the headers that a request says it signs. */
function expectedSignature(request: Sent, { credentials }: Place): string {
  const { method, path, query, headers } = request;
  const { credential, signed } = authorizationOf(headers['authorization']);
  const escaped = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const canonical = [
    method,
    path,
    Object.entries(query)
      .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
      .sort()
      .join('&'),
    ...signed.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/\s+/g, ' ')}`),
    '',
    signed.join(';'),
    headers['x-amz-content-sha256'],
  ].join('\n');
  const [, ...scope] = credential.split('/');
  const text = [
    'AWS4-HMAC-SHA256',
    headers['x-amz-date'],
    scope.join('/'),
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  let key: Buffer | string = `AWS4${credentials.secretAccessKey}`;
  for (const part of [...scope, text]) key = createHmac('sha256', key).update(part).digest();
  return (key as Buffer).toString('hex');
}
