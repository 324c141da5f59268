import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { KMSClient } from '@aws-sdk/client-kms';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { parseKeyArn, regionOf } from '../../src/keys/kms/kms-key-arn.ts';
import { kmsRootKey } from '../../src/keys/kms/kms-root-key.ts';
import type { GeneratedKey, RootKey } from '../../src/keys/root-key.ts';
import { CONTEXT } from '../contracts/root-key.ts';
import { asyncVerdictOf, fuzz, verdictOf } from './fuzz.ts';
import { mutatedTexts } from './mutation.ts';

const ID = '1234abcd-12ab-34cd-56ef-1234567890ab';
const ARN = `arn:aws:kms:eu-central-1:111122223333:key/${ID}`;
const ARNS = [
  ARN,
  `arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/mrk-${'0123456789abcdef'.repeat(2)}`,
  'arn:aws-cn:kms:cn-north-1:111122223333:alias/memory',
];
const credentials = { accessKeyId: 'AKIDOFTHETESTS', secretAccessKey: 'secret' };

const pieces = fc.oneof(
  fc.constantFrom(
    ...[':', '/', 'arn:', 'aws', 'kms', 'key/', 'alias/', 'mrk-', 'A', 'g', '0', '٣', '９', ' ', '\n', '\0'],
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

/** The ARN taken apart by hand, as docs/format.md tells it. */
function isKeyArn(text: string): boolean {
  const [arn, partition = '', service, region = '', account = '', resource = '', ...rest] = text.split(':');
  const [kind, id = '', ...more] = resource.split('/');
  const only = (part: string, characters: string): boolean =>
    [...part].every((character) => characters.includes(character));
  const hex = '0123456789abcdef';
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const isUuid =
    id
      .split('-')
      .map(({ length }) => length)
      .join() === '8,4,4,4,12' && only(id, `${hex}-`);
  const isMultiRegion = id.startsWith('mrk-') && id.length === 36 && only(id.slice(4), hex);
  return (
    [arn, service, kind].join() === 'arn,kms,key' &&
    partition.startsWith('aws') &&
    only(partition.slice(3), `${letters}-`) &&
    region.length >= 1 &&
    region.length <= 63 &&
    only(region, `${letters}0123456789-`) &&
    account.length === 12 &&
    only(account, '0123456789') &&
    (isUuid || isMultiRegion) &&
    rest.length + more.length === 0
  );
}

describe('the ARN of a key', () => {
  fuzz('is taken in one spelling, or refused with one sentence that does not repeat it', {
    runs: 5_000,
    inputs: [mutatedTexts(ARNS, pieces)],
    check(text) {
      const verdict = verdictOf(() => parseKeyArn(text, 'the root key'));
      expect(verdict).toEqual(isKeyArn(text) ? { value: text } : { code: 'misconfigured' });
      if ('value' in verdict) expect(regionOf(verdict.value)).toBe(text.split(':')[3]);
      try {
        parseKeyArn(text, 'the root key');
      } catch (error) {
        expect(inspect(error)).not.toContain('1122223');
      }
    },
  });
});

/** A root key whose requests are all answered with `answer`. */
function answeredWith(answer: object): RootKey {
  const client = { send: async () => answer } as unknown as KMSClient;
  return kmsRootKey({ keyArn: ARN, client });
}

/** Bytes of one of the lengths, or what else JSON may hold. */
const bytesOr = (...lengths: readonly number[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .constantFrom(...lengths)
        .chain((length) => fc.uint8Array({ minLength: length, maxLength: length })),
    },
    fc.uint8Array({ maxLength: 64 }),
    fc.jsonValue(),
    fc.constantFrom(
      undefined,
      { length: 32 },
      Array.from({ length: 32 }, () => 1),
      'x'.repeat(32),
    ),
  );

describe('an answer of KMS', () => {
  const answers = fc.record({
    KeyId: fc.oneof(
      { weight: 3, arbitrary: fc.constant(ARN) },
      mutatedTexts(ARNS, pieces),
      fc.constant(undefined),
    ),
    Plaintext: bytesOr(0, 31, 32, 32, 32, 33),
    CiphertextBlob: bytesOr(0, 1, 184, 6_143, 6_144, 6_145, 8_193),
  });

  fuzz('gives a key only where it is whole and of the key that was asked, and is overwritten', {
    runs: 1_500,
    inputs: [answers, fc.boolean()],
    async check(answer, unwraps) {
      const { KeyId, CiphertextBlob } = answer;
      const sent = answer.Plaintext instanceof Uint8Array ? answer.Plaintext : undefined;
      const Plaintext = sent === undefined ? answer.Plaintext : Uint8Array.from(sent);
      const root = answeredWith({ KeyId, Plaintext, CiphertextBlob });
      const length = CiphertextBlob instanceof Uint8Array ? CiphertextBlob.length : 0;
      const isWrapped = length >= 1 && length <= 6_144;
      const right = KeyId === ARN && sent?.length === 32 && (unwraps || isWrapped);
      const verdict = await asyncVerdictOf<GeneratedKey>(async () =>
        unwraps
          ? { key: await root.unwrap(Uint8Array.of(1), CONTEXT), wrapped: new Uint8Array(0) }
          : await root.generate(CONTEXT),
      );
      expect('code' in verdict ? verdict.code : 'taken').toBe(right ? 'taken' : 'integrity');
      if ('value' in verdict) {
        expect(verdict.value.key).toEqual(sent);
        expect(verdict.value.wrapped).toEqual(unwraps ? new Uint8Array(0) : CiphertextBlob);
      }
      if (Plaintext instanceof Uint8Array) expect(Plaintext.every((byte) => byte === 0)).toBe(true);
    },
  });

  fuzz('is asked for only with a wrapped key of a length that KMS knows', {
    runs: 300,
    inputs: [fc.constantFrom(0, 1, 6_144, 6_145, 8_192)],
    async check(length) {
      const root = answeredWith({ KeyId: ARN, Plaintext: new Uint8Array(32).fill(1) });
      const verdict = await asyncVerdictOf(() => root.unwrap(new Uint8Array(length), CONTEXT));
      expect('value' in verdict).toBe(length >= 1 && length <= 6_144);
    },
  });
});

/** A root key that gets these bytes for an answer, through the SDK. */
function sentTo(text: string, statusCode: number): { readonly root: RootKey; close(): void } {
  const client = new KMSClient({
    region: 'eu-central-1',
    endpoint: 'http://127.0.0.1:1',
    credentials,
    maxAttempts: 1,
    requestHandler: {
      handle: async () => ({
        response: {
          statusCode,
          headers: { 'content-type': 'application/x-amz-json-1.1' },
          body: Readable.from([Buffer.from(text)]),
        },
      }),
    } as never,
  });
  return { root: kmsRootKey({ keyArn: ARN, client }), close: () => client.destroy() };
}

describe('the bytes that KMS sends', () => {
  const secret = Buffer.from('Zw4Qp8xLr2Vt6Yn0Kd3Hs7Mb1Jf5Gc9u');
  const blob = Buffer.alloc(184, 5).toString('base64');
  const texts = [
    JSON.stringify({ KeyId: ARN, Plaintext: secret.toString('base64'), CiphertextBlob: blob }),
    JSON.stringify({ __type: 'AccessDeniedException', message: `${ARN} is denied` }),
    JSON.stringify({ __type: 'com.amazonaws.kms#InvalidCiphertextException' }),
    JSON.stringify({ __type: 'KMSInvalidStateException', message: `${ARN} is pending deletion.` }),
    '{}',
    '[]',
    'null',
    `{"Plaintext":"${secret.toString('base64')}`,
    '<html>502</html>',
  ];
  const fields = fc.record({
    KeyId: fc.oneof(fc.constant(ARN), fc.jsonValue()),
    Plaintext: fc.oneof(fc.constant(secret.toString('base64')), fc.jsonValue(), fc.constant({ length: 32 })),
    CiphertextBlob: fc.oneof(fc.constant(blob), fc.jsonValue()),
  });
  const edited = mutatedTexts(
    texts,
    fc.oneof(
      pieces,
      fc.constantFrom(
        '"',
        '{',
        '}',
        '\\',
        '\\u0000',
        ',',
        'null',
        '1e999',
        '__proto__',
        '"KeyId":1',
        '[[',
        '=',
      ),
    ),
  );

  /** Without the quotation mark before the key, so that an error of the JSON parser quotes some of it. */
  const broken = fc.tuple(fc.nat(36), fc.constantFrom('', '=', '!', '[', ' ', '{"":')).map(([cut, put]) => {
    const [whole = ''] = texts;
    const at = whole.indexOf(secret.toString('base64'));
    return whole.slice(0, at - 1) + put + whole.slice(at + cut);
  });
  const bodies = fc.oneof(
    { weight: 2, arbitrary: edited },
    fields.map((each) => JSON.stringify(each)),
    broken,
  );

  it('give a key where nothing was changed', async () => {
    const { root, close } = sentTo(texts[0] ?? '', 200);
    expect((await root.generate(CONTEXT)).key).toEqual(new Uint8Array(secret));
    expect(await root.unwrap(Uint8Array.of(1), CONTEXT)).toEqual(new Uint8Array(secret));
    close();
  });

  fuzz('give a whole key or a MemoryError that quotes none of them', {
    runs: 500,
    inputs: [bodies, fc.constantFrom(200, 200, 200, 204, 400, 400, 403, 429, 500, 503), fc.boolean()],
    async check(text, statusCode, unwraps) {
      const { root, close } = sentTo(text, statusCode);
      const ask = async (): Promise<Uint8Array> =>
        unwraps ? await root.unwrap(Uint8Array.of(1), CONTEXT) : (await root.generate(CONTEXT)).key;
      const error = await ask().then(
        (key) => {
          expect(statusCode).toBeLessThan(300);
          expect(key).toHaveLength(32);
          const parsed = JSON.parse(text) as { readonly KeyId: unknown; readonly Plaintext: string };
          expect(parsed.KeyId).toBe(ARN);
          expect(Buffer.compare(key, Buffer.from(parsed.Plaintext, 'base64'))).toBe(0);
          return undefined;
        },
        (reason: unknown) => reason,
      );
      close();
      if (error === undefined) return;
      if (!(error instanceof MemoryError)) throw error;
      if (statusCode < 300) {
        const shown = inspect(error, { depth: 10, showHidden: true });
        for (const form of [secret.toString(), secret.toString('base64'), secret.toString('hex')]) {
          for (let at = 0; at + 8 <= form.length; at++) expect(shown).not.toContain(form.slice(at, at + 8));
        }
      }
      expect(error.message).not.toContain('1122223');
    },
  });
});
