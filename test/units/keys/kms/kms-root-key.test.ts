import { inspect } from 'node:util';
import { KMSClient } from '@aws-sdk/client-kms';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { KeyGate } from '../../../../src/keys/key-gate.ts';
import { kmsFailure } from '../../../../src/keys/kms/kms-errors.ts';
import { kmsRootKey, openKmsConnections, openKmsRootKey } from '../../../../src/keys/kms/kms-root-key.ts';
import type { KeyringContext, RootKey } from '../../../../src/keys/root-key.ts';
import { type LongWait, onLongWait } from '../../../../src/waits.ts';
import { CONTEXT, describeRootKey } from '../../../contracts/root-key.ts';
import { added } from '../../../format/format-vectors.ts';
import type { AwsError } from '../../../stage/aws-json.ts';
import { type FakeKms, startFakeKms } from '../../../stage/fake-kms.ts';

const credentials = { accessKeyId: 'AKIDOFTHETESTS', secretAccessKey: 'secret' };
const ID = '1234abcd-12ab-34cd-56ef-1234567890ab';

let kms: FakeKms;
const clients: KMSClient[] = [];

beforeAll(async () => {
  kms = await startFakeKms();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
afterAll(() => kms[Symbol.asyncDispose]());

function rootKey(keyArn: string, options: Partial<Parameters<typeof kmsRootKey>[0]> = {}): RootKey {
  return kmsRootKey({ keyArn, endpoint: kms.endpoint, credentials, ...options });
}

/** One attempt per request. An answer that comes is awaited, however busy the machine is. */
function hasty(keyArn: string, { requestTimeout = 15_000 } = {}): RootKey {
  const client = new KMSClient({
    region: 'eu-central-1',
    endpoint: kms.endpoint,
    credentials,
    maxAttempts: 1,
    requestHandler: { requestTimeout, throwOnRequestTimeout: true },
  });
  clients.push(client);
  return kmsRootKey({ keyArn, client });
}

async function failureOf(action: Promise<unknown>): Promise<MemoryError> {
  const error = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof MemoryError) return error;
  throw new Error('it did not fail with a MemoryError', { cause: error });
}

describeRootKey('A key in KMS', async () => ({
  root: rootKey(kms.createKey()),
  another: rootKey(kms.createKey()),
}));

describe('a failure of KMS', () => {
  it('is told by its status where its name means nothing, be it that of a property of every object', () => {
    for (const name of ['SomethingNew', 'constructor', 'toString', '__proto__']) {
      const error = Object.assign(new Error('words'), { name, $metadata: { httpStatusCode: 503 } });
      expect(kmsFailure(error)).toMatchObject({ code: 'unavailable' });
    }
  });
});

describe('a failure of an answer', () => {
  it.each([
    [200, false],
    [299, false],
    [300, true],
    [503, true],
  ])('of status %d passes on what may quote it: %s', (httpStatusCode, isTold) => {
    const error = Object.assign(new Error('words'), { name: 'SomethingNew', $metadata: { httpStatusCode } });
    expect(kmsFailure(error).cause !== undefined).toBe(isTold);
  });

  it('that is no JSON never passes on what was read, whatever its status', () => {
    const error = Object.assign(new SyntaxError('quoted'), { $metadata: { httpStatusCode: 503 } });
    expect(kmsFailure(error).cause).toBeUndefined();
    expect(kmsFailure(new SyntaxError('quoted')).cause).toBeUndefined();
  });
});

describe('the connections to KMS', () => {
  it('wait five seconds to be made, ten for a silent socket and fifteen for an answer', async () => {
    const connections = await openKmsConnections()();
    try {
      const root = rootKey(kms.createKey(), { connections: async () => connections });
      await root.generate(CONTEXT);
      expect(connections.httpHandlerConfigs()).toMatchObject({
        connectionTimeout: 5_000,
        socketTimeout: 10_000,
        requestTimeout: 15_000,
        throwOnRequestTimeout: true,
      });
    } finally {
      connections.destroy();
    }
  });
});

describe('a KMS that does not answer', () => {
  it('is told of after a second, once, with the time of its last attempt', async () => {
    vi.useFakeTimers({ now: 0 });
    const told: LongWait[] = [];
    const ceaseListening = onLongWait((wait) => told.push(wait));
    try {
      const client = { send: () => new Promise(() => {}) } as unknown as KMSClient;
      const caller = new AbortController();
      const keyArn = `arn:aws:kms:eu-central-1:111122223333:key/${ID}`;
      const waiting = kmsRootKey({ keyArn, client }).generate(CONTEXT, { signal: caller.signal });
      waiting.catch(() => {});
      // The SDK is being loaded.
      await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0));
      await vi.advanceTimersByTimeAsync(5_000);
      expect(told).toEqual([{ for: 'KMS', leftMs: 49_000 }]);
    } finally {
      ceaseListening();
      vi.useRealTimers();
    }
  });
});

describe('the key in an answer of KMS', () => {
  const keyArn = `arn:aws:kms:eu-central-1:111122223333:key/${ID}`;
  afterEach(() => {
    vi.restoreAllMocks();
  });
  /** A root key whose KMS gives that answer. */
  const answered = (answer: object): RootKey =>
    kmsRootKey({ keyArn, client: { send: async () => answer } as unknown as KMSClient });

  it('stays nowhere but in the array that the caller wipes', async () => {
    const Plaintext = new Uint8Array(32).fill(7);
    const root = answered({ KeyId: keyArn, Plaintext, CiphertextBlob: new Uint8Array(100) });
    for (const take of [() => root.unwrap(new Uint8Array(100), CONTEXT), () => root.generate(CONTEXT)]) {
      Plaintext.fill(7);
      const taken = await take();
      expect(taken instanceof Uint8Array ? taken : taken.key).toEqual(new Uint8Array(32).fill(7));
      expect(Plaintext).toEqual(new Uint8Array(32));
    }
  });

  it('is overwritten where the answer is rejected', async () => {
    const copies: Uint8Array[] = [];
    const { from } = Uint8Array;
    vi.spyOn(Uint8Array, 'from').mockImplementation((source: Iterable<unknown>) => {
      const copy = from.call(Uint8Array, source as Iterable<number>);
      copies.push(copy);
      return copy;
    });
    for (const wrong of [{ KeyId: 'another' }, { CiphertextBlob: new Uint8Array(7_000) }]) {
      const Plaintext = new Uint8Array(32).fill(7);
      const right = { KeyId: keyArn, Plaintext, CiphertextBlob: new Uint8Array(100) };
      await expect(answered({ ...right, ...wrong }).generate(CONTEXT)).rejects.toMatchObject({
        code: 'integrity',
      });
      expect(copies.splice(0)).toEqual([new Uint8Array(32)]);
      expect(Plaintext).toEqual(new Uint8Array(32));
    }
  });
});

describe('a request to KMS', () => {
  const keyArn = `arn:aws:kms:eu-central-1:111122223333:key/${ID}`;
  const right = () => ({
    KeyId: keyArn,
    Plaintext: new Uint8Array(32).fill(7),
    CiphertextBlob: new Uint8Array(100).fill(8),
  });
  const clientOf = (fields: object) => fields as unknown as KMSClient;

  it('carries the signal of its caller, and nothing where there is none, also by a client without credentials', async () => {
    const send = vi.fn(async (..._: unknown[]) => right());
    const connections = vi.fn<() => never>();
    const root = kmsRootKey({ keyArn, client: clientOf({ send, config: {} }), connections });
    const { signal } = new AbortController();
    await root.generate(CONTEXT, { signal });
    await root.unwrap(new Uint8Array(100), CONTEXT);
    expect(send.mock.calls.map(([, http]) => http)).toStrictEqual([{ abortSignal: signal }, {}]);
    expect(connections).not.toHaveBeenCalled();
  });

  it('is not begun by a caller that has left, for whom no credentials are looked for', async () => {
    const credentials = vi.fn();
    const client = clientOf({ send: async () => right(), config: { credentials } });
    const signal = AbortSignal.abort();
    await expect(kmsRootKey({ keyArn, client }).generate(CONTEXT, { signal })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(credentials).not.toHaveBeenCalled();
  });

  it('whose caller has left is told so, whatever it fails with', async () => {
    const caller = new AbortController();
    const client = clientOf({
      async send() {
        caller.abort();
        throw Object.assign(new Error('words'), { $metadata: { httpStatusCode: 503 } });
      },
    });
    await expect(
      kmsRootKey({ keyArn, client }).generate(CONTEXT, { signal: caller.signal }),
    ).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each([1, 6_144])('may bring and take a wrapped key of %i bytes', async (length) => {
    const CiphertextBlob = new Uint8Array(length).fill(8);
    const root = kmsRootKey({
      keyArn,
      client: clientOf({ send: async () => ({ ...right(), CiphertextBlob }) }),
    });
    expect((await root.generate(CONTEXT)).wrapped).toEqual(CiphertextBlob);
    expect(await root.unwrap(CiphertextBlob, CONTEXT)).toEqual(new Uint8Array(32).fill(7));
  });

  it('that probes a service in trouble is tried once, without a signal, over one client', async () => {
    const arn = kms.createKey();
    const gate: KeyGate = { ask: ({ probe }) => probe() };
    const root = rootKey(arn, { gate });
    const { signal } = new AbortController();
    expect((await root.generate(CONTEXT, { signal })).key).toHaveLength(32);
    const before = kms.requests.length;
    kms.failNext(1, { type: 'ThrottlingException' });
    expect((await failureOf(root.generate(CONTEXT))).code).toBe('unavailable');
    expect(kms.requests.length - before).toBe(1);
    const send = vi.fn(async (..._: unknown[]) => right());
    await kmsRootKey({ keyArn, client: clientOf({ send }), gate }).generate(CONTEXT, { signal });
    expect(send.mock.calls.map(([, http]) => http)).toStrictEqual([{}]);
  });

  it('that is answered after its caller has left has its key overwritten', async () => {
    const discards: ((answer: unknown) => void)[] = [];
    const gate: KeyGate = {
      ask({ send, discard }) {
        discards.push(discard as (answer: unknown) => void);
        return send();
      },
    };
    const root = kmsRootKey({ keyArn, client: clientOf({ send: async () => right() }), gate });
    await root.generate(CONTEXT);
    const { Plaintext } = right();
    for (const discard of discards) {
      expect(() => discard({})).not.toThrow();
      expect(discard({ Plaintext })).toBeUndefined();
    }
    expect(Plaintext).toEqual(new Uint8Array(32));
  });

  it('for a key whose service hangs is one of 16, and takes no connection of another key', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
    const connections = openKmsConnections();
    const [hanging, other] = [kms.createKey(), kms.createKey()].map((keyArn) =>
      rootKey(keyArn, { connections }),
    );
    const caller = new AbortController();
    const before = kms.requests.length;
    kms.failNext(64, 'silence');
    const tied = [hanging, ...Array.from({ length: 3 }, () => rootKey(kms.createKey(), { connections }))];
    const asking = tied.flatMap((each) =>
      Array.from({ length: 100 }, () => each?.generate(CONTEXT, { signal: caller.signal })),
    );
    const ended = Promise.allSettled(asking);
    await vi.waitFor(() => expect(kms.requests.length - before).toBe(64), { timeout: 10_000 });
    expect((await other?.generate(CONTEXT))?.key).toHaveLength(32);
    expect(kms.requests.length - before).toBe(65);
    caller.abort();
    await ended;
    vi.unstubAllEnvs();
  });

  it('is not sent by one who reaches the key otherwise, while the service is in trouble', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
      const open = openKmsRootKey({ keyArn: kms.createKey() });
      const [one, other] = [open(credentials), open({ ...credentials, accessKeyId: 'AKIDOTHER' })];
      await other.generate(CONTEXT);
      expect(kms.requests.at(-1)?.accessKeyId).toBe('AKIDOTHER');
      kms.failNext(3, { type: 'ThrottlingException' });
      expect((await failureOf(one.generate(CONTEXT))).code).toBe('unavailable');
      const before = kms.requests.length;
      expect((await failureOf(other.generate(CONTEXT))).code).toBe('unavailable');
      expect(kms.requests).toHaveLength(before);
    } finally {
      vi.useRealTimers();
      vi.unstubAllEnvs();
    }
  });
});

describe('kmsRootKey', () => {
  it('names its option in what it says of one that is no ARN, and an alias only where there is one', () => {
    const said = (keyArn: string) => expect(() => kmsRootKey({ keyArn }));
    said('nonsense').toThrow(/^keyArn is not the ARN/);
    said('alias/x').toThrow(/^keyArn names a KMS key by an alias/);
    said('an-alias/x').toThrow(/^keyArn is not the ARN/);
    said('arn:aws/x:alias/x').toThrow(/^keyArn is not the ARN/);
  });

  it('has the key’s ARN as its id', () => {
    const arn = `arn:aws:kms:eu-central-1:111122223333:key/${ID}`;
    expect(kmsRootKey({ keyArn: arn }).id).toBe(`aws-kms:${arn}`);
  });

  it('sends the key, its kind and the five pairs, and nothing else', async () => {
    const KeyId = kms.createKey();
    const root = rootKey(KeyId);
    const before = kms.requests.length;
    const laden = { ...CONTEXT, secret: 'x' } as KeyringContext;
    const { wrapped } = await root.generate(laden);
    await root.unwrap(wrapped, laden);
    const CiphertextBlob = Buffer.from(wrapped).toString('base64');
    expect(kms.requests.slice(before).map(({ operation, body }) => ({ operation, ...body }))).toEqual([
      { operation: 'GenerateDataKey', KeyId, KeySpec: 'AES_256', EncryptionContext: CONTEXT },
      {
        operation: 'Decrypt',
        KeyId,
        CiphertextBlob,
        EncryptionContext: CONTEXT,
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      },
    ]);
  });

  it('works in the region of the ARN, and in another one where that is said', async () => {
    const elsewhere = kms.createKey({ region: 'ap-southeast-2' });
    await rootKey(elsewhere).generate(CONTEXT);
    expect(kms.requests.at(-1)?.region).toBe('ap-southeast-2');
    const error = await failureOf(rootKey(elsewhere, { region: 'us-east-1' }).generate(CONTEXT));
    expect(error.code).toBe('key_unavailable');
    expect(kms.requests.at(-1)?.region).toBe('us-east-1');
  });

  it.each(['alias/memory', 'arn:aws:kms:eu-central-1:111122223333:alias/memory', 'alias/aws/s3'])(
    'refuses the alias %s with advice',
    (keyArn) => {
      expect(() => kmsRootKey({ keyArn })).toThrow(
        expect.objectContaining({ code: 'misconfigured', message: expect.stringMatching(/alias.*own ARN/) }),
      );
    },
  );

  it.each([
    '',
    ID,
    'arn:aws:kms:eu-central-1:111122223333:key/',
    'arn:aws:kms:eu-central-1:111122223333:key/0',
    `arn:aws:kms:eu-central-1:111122223333:key/${ID.toUpperCase()}`,
    `arn:aws:kms:eu-central-1:111122223333:key/${ID} `,
    `arn:aws:kms:eu-central-1:111122223333:key/${ID}\n`,
    `arn:aws:kms:eu-central-1:1111:key/${ID}`,
    `arn:aws:kms::111122223333:key/${ID}`,
    `arn:aws:s3:eu-central-1:111122223333:key/${ID}`,
    `aws-kms:arn:aws:kms:eu-central-1:111122223333:key/${ID}`,
  ])('refuses %j, which is no key ARN, without repeating it', (keyArn) => {
    const caught = expect(() => kmsRootKey({ keyArn }));
    caught.toThrow(
      expect.objectContaining({ code: 'misconfigured', message: expect.not.stringContaining('1111') }),
    );
  });

  it.each([
    `arn:aws:kms:us-east-1:111122223333:key/mrk-${'0a'.repeat(16)}`,
    `arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/${ID}`,
    `arn:aws-cn:kms:cn-north-1:111122223333:key/${ID}`,
  ])('takes %s', (keyArn) => {
    expect(kmsRootKey({ keyArn }).id).toBe(`aws-kms:${keyArn}`);
  });
});

describe('an ARN of the test vectors', () => {
  it.each(added.rootIds.accept)('makes a root id: $arn', ({ arn, rootId }) => {
    expect(kmsRootKey({ keyArn: arn }).id).toBe(rootId);
  });

  it.each(added.rootIds.refuse)('is refused: %j', (keyArn) => {
    expect(() => kmsRootKey({ keyArn })).toThrow(expect.objectContaining({ code: 'misconfigured' }));
  });
});

describe('An answer of KMS', () => {
  const wrongAnswers: readonly (readonly [
    string,
    (right: Record<string, unknown>) => Record<string, unknown>,
  ])[] = [
    [
      'names another key',
      (right) => ({ ...right, KeyId: `arn:aws:kms:eu-central-1:111122223333:key/${ID}` }),
    ],
    ['names the key by its id alone', (right) => ({ ...right, KeyId: String(right['KeyId']).split('/')[1] })],
    ['names no key', ({ KeyId: _, ...rest }) => rest],
    ['holds 31 bytes', (right) => ({ ...right, Plaintext: Buffer.alloc(31).toString('base64') })],
    ['holds 33 bytes', (right) => ({ ...right, Plaintext: Buffer.alloc(33).toString('base64') })],
    ['holds no key', ({ Plaintext: _, ...rest }) => rest],
  ];

  it.each(wrongAnswers)('that %s is refused', async (_, change) => {
    const root = rootKey(kms.createKey());
    const { wrapped } = await root.generate(CONTEXT);
    kms.answerNext(2, change);
    expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe('integrity');
    expect((await failureOf(root.generate(CONTEXT))).code).toBe('integrity');
  });

  it.each([
    ['without a wrapped key', undefined],
    ['with an empty wrapped key', ''],
    ['with a wrapped key that no request could bring back', Buffer.alloc(6_145).toString('base64')],
  ])('to GenerateDataKey %s is refused', async (_, CiphertextBlob) => {
    kms.answerNext(1, (right) => ({ ...right, CiphertextBlob }));
    expect((await failureOf(rootKey(kms.createKey()).generate(CONTEXT))).code).toBe('integrity');
  });

  it('that cannot be read is not repeated by the error, the key in it least of all', async () => {
    const root = rootKey(kms.createKey());
    const { wrapped, key } = await root.generate(CONTEXT);
    const canary = Buffer.from(key).toString('base64');
    // JSON.parse quotes what stands around the first wrong character.
    kms.answerNext(1, (right) => ({ status: 200, body: `{"KeyId":"x","Plaintext":?${right['Plaintext']}` }));
    const error = await failureOf(root.unwrap(wrapped, CONTEXT));
    expect(error.code).toBe('misconfigured');
    expect(everythingIn(error)).not.toContain(canary.slice(0, 8));
  });

  it('in HTML is no answer of KMS', async () => {
    const root = rootKey(kms.createKey());
    kms.answerNext(1, () => ({ status: 404, body: '<html>', contentType: 'text/html' }));
    const error = await failureOf(root.generate(CONTEXT));
    expect(error).toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('AWS_ENDPOINT_URL'),
    });
  });

  it('in HTML from an overloaded proxy is a failure in passing', async () => {
    const root = hasty(kms.createKey());
    kms.answerNext(1, () => ({ status: 503, body: '<html>', contentType: 'text/html' }));
    expect(await failureOf(root.generate(CONTEXT))).toMatchObject({ code: 'unavailable', retry: 'later' });
  });
});

describe('A key in KMS that is not to be used', () => {
  it.each([
    ['disabled', 'Disabled', 'key_unavailable'],
    ['pending deletion', 'PendingDeletion', 'key_unavailable'],
  ] as const)('is told when it is %s, and works again afterwards', async (_, state, code) => {
    const arn = kms.createKey();
    const root = rootKey(arn);
    const { wrapped, key } = await root.generate(CONTEXT);
    kms.setState(arn, state);
    expect((await failureOf(root.generate(CONTEXT))).code).toBe(code);
    expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe(code);
    kms.setState(arn, 'Enabled');
    expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
  });

  it('is told when it is gone', async () => {
    const arn = kms.createKey();
    const root = rootKey(arn);
    const { wrapped } = await root.generate(CONTEXT);
    kms.removeKey(arn);
    expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe('key_unavailable');
  });

  it('is told when it is no encryption key', async () => {
    const root = rootKey(kms.createKey({ usage: 'SIGN_VERIFY' }));
    expect((await failureOf(root.generate(CONTEXT))).code).toBe('misconfigured');
  });

  it('is denied to credentials of another tenant', async () => {
    const arn = kms.createKey();
    const others = { accessKeyId: 'AKIDOFGLOBEX', secretAccessKey: 'secret' };
    kms.allowOnly(others.accessKeyId, 'globex');
    const { wrapped } = await rootKey(arn).generate(CONTEXT);
    const root = rootKey(arn, { credentials: others });
    expect((await failureOf(root.generate(CONTEXT))).code).toBe('access_denied');
    expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe('access_denied');
    await expect(root.generate({ ...CONTEXT, tenant: 'globex' })).resolves.toBeDefined();
  });
});

/** Its account, its region or the endpoint. */
const NAMES_A_KEY = /111122223333|127\.0\.0\.1|eu-central-1/;

/** Failures in which whoever holds the key has no part. */
const BY_ASKERS: ReadonlySet<string> = new Set([
  ...[
    'UnrecognizedClientException',
    'ExpiredTokenException',
    'ThrottlingException',
    'LimitExceededException',
  ],
]);

describe('A failure of KMS', () => {
  it.each([
    [{ type: 'AccessDeniedException' }, 'access_denied'],
    [{ type: 'UnrecognizedClientException' }, 'access_denied'],
    [{ type: 'ExpiredTokenException' }, 'access_denied'],
    [{ type: 'InvalidCiphertextException' }, 'integrity'],
    [{ type: 'IncorrectKeyException' }, 'integrity'],
    [{ type: 'NotFoundException' }, 'key_unavailable'],
    [{ type: 'DisabledException' }, 'key_unavailable'],
    [{ type: 'KMSInvalidStateException' }, 'key_unavailable'],
    [{ type: 'ThrottlingException' }, 'unavailable'],
    [{ type: 'LimitExceededException' }, 'unavailable'],
    [{ type: 'KeyUnavailableException', status: 500 }, 'unavailable'],
    [{ type: 'KMSInternalException', status: 500 }, 'unavailable'],
    [{ type: 'DependencyTimeoutException', status: 503 }, 'unavailable'],
    [{ type: 'ValidationException' }, 'misconfigured'],
    [{ type: 'InvalidArnException' }, 'misconfigured'],
    [{ type: 'AnErrorOfTomorrow' }, 'misconfigured'],
    [{ type: 'AnErrorOfTomorrow', status: 500 }, 'unavailable'],
    [{ type: 'AnErrorOfTomorrow', status: 403 }, 'access_denied'],
  ] as readonly (readonly [AwsError, string])[])(
    '%o is %s, in words that name no key',
    async (failure, code) => {
      const arn = kms.createKey();
      const root = hasty(arn);
      const { wrapped } = await root.generate(CONTEXT);
      kms.failNext(2, failure);
      for (const action of [root.generate(CONTEXT), root.unwrap(wrapped, CONTEXT)]) {
        const error = await failureOf(action);
        expect(error.code).toBe(code);
        expect(error.details).toEqual(BY_ASKERS.has(failure.type) ? { reason: 'asker' } : {});
        expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(NAMES_A_KEY);
        if (code === 'integrity') expect(error.cause).toBeUndefined();
        else expect(error.cause).toMatchObject({ name: failure.type, status: failure.status ?? 400 });
      }
    },
  );

  it('in passing is tried three times in all', async () => {
    const root = rootKey(kms.createKey());
    const { wrapped, key } = await root.generate(CONTEXT);
    kms.failNext(2, { type: 'ThrottlingException' });
    const before = kms.requests.length;
    expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
    expect(kms.requests.length - before).toBe(3);
    kms.failNext(3, { type: 'ThrottlingException' });
    expect(await failureOf(root.unwrap(wrapped, CONTEXT))).toMatchObject({
      code: 'unavailable',
      retry: 'later',
    });
    expect(kms.requests.length - before).toBe(6);
  });

  it('that comes of a wrapped key KMS would not take is told without asking', async () => {
    const root = rootKey(kms.createKey());
    const before = kms.requests.length;
    for (const length of [0, 6_145, 8_192]) {
      expect((await failureOf(root.unwrap(new Uint8Array(length), CONTEXT))).code).toBe('integrity');
    }
    expect(kms.requests).toHaveLength(before);
  });

  it('to answer in time is a time-out', async () => {
    const root = hasty(kms.createKey(), { requestTimeout: 200 });
    kms.failNext(1, 'silence');
    expect(await failureOf(root.generate(CONTEXT))).toMatchObject({ code: 'timeout', retry: 'later' });
  });

  it('to keep the connection is one in passing', async () => {
    const root = hasty(kms.createKey());
    kms.failNext(1, 'break');
    expect((await failureOf(root.generate(CONTEXT))).code).toBe('unavailable');
  });

  it('to be there is one in passing', async () => {
    const gone = await startFakeKms();
    const arn = gone.createKey();
    await gone[Symbol.asyncDispose]();
    expect((await failureOf(rootKey(arn, { endpoint: gone.endpoint }).generate(CONTEXT))).code).toBe(
      'unavailable',
    );
  });

  it('of the configuration is told: an endpoint that is no URL', async () => {
    const root = rootKey(kms.createKey(), { endpoint: 'nonsense' });
    expect((await failureOf(root.generate(CONTEXT))).code).toBe('misconfigured');
  });

  it('of the credentials is told: there are none', async () => {
    const none = async () => {
      throw Object.assign(new Error('none'), { name: 'CredentialsProviderError' });
    };
    const root = rootKey(kms.createKey(), { credentials: none });
    expect(await failureOf(root.generate(CONTEXT))).toMatchObject({
      code: 'access_denied',
      details: { reason: 'asker' },
    });
  });
});

describe('A caller that cancels', () => {
  it('before the request sends none', async () => {
    const root = rootKey(kms.createKey());
    const before = kms.requests.length;
    expect((await failureOf(root.generate(CONTEXT, { signal: AbortSignal.abort() }))).code).toBe('aborted');
    expect(kms.requests).toHaveLength(before);
  });

  it('while KMS is silent is let go at once', async () => {
    const root = rootKey(kms.createKey());
    const { wrapped } = await root.generate(CONTEXT);
    for (const ask of [
      (signal: AbortSignal) => root.generate(CONTEXT, { signal }),
      (signal: AbortSignal) => root.unwrap(wrapped, CONTEXT, { signal }),
    ]) {
      kms.failNext(1, 'silence');
      const started = performance.now();
      const error = await failureOf(ask(AbortSignal.timeout(50)));
      expect(error.code).toBe('aborted');
      expect(performance.now() - started).toBeLessThan(2_000);
    }
  });

  it('while the credentials are looked for is let go at once', async () => {
    const root = rootKey(kms.createKey(), { credentials: () => new Promise<never>(() => {}) });
    expect((await failureOf(root.generate(CONTEXT, { signal: AbortSignal.timeout(50) }))).code).toBe(
      'aborted',
    );
  });
});

/** Every text that can be reached from an error, hidden properties included. */
function everythingIn(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (seen.has(value)) return '';
  seen.add(value);
  return Reflect.ownKeys(value)
    .map((name) => everythingIn(Reflect.get(value, name), seen))
    .join('\n');
}
