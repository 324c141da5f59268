import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import { type AwsError, AwsRefusal, type AwsRequest, type RawAnswer, startAwsService } from './aws-json.ts';

type KeyState = 'Enabled' | 'Disabled' | 'PendingDeletion';

/** A KMS of this process: symmetric keys, `GenerateDataKey` and `Decrypt`, and the states that refuse them. */
export interface FakeKms extends AsyncDisposable {
  readonly endpoint: string;
  readonly requests: readonly AwsRequest[];
  /** Makes a key, and answers its ARN. */
  createKey(options?: { readonly region?: string; readonly usage?: string }): string;
  setState(keyArn: string, state: KeyState): void;
  removeKey(keyArn: string): void;
  /** Lets these credentials use keys for this tenant only, from now on; with `''` for no tenant. */
  allowOnly(accessKeyId: string, tenant: string): void;
  /** Reacts to that operation like this from now on, whatever the key; undefined: rightly again. */
  meet(operation: KmsOperation, meeting: AwsError | AnswerChange | undefined): void;
  /** The next `times` requests are answered with this error, or get no answer, or break off. */
  failNext(times: number, failure: AwsError | 'silence' | 'break'): void;
  /** The next `times` requests are answered with what `answer` makes of the right answer. */
  answerNext(times: number, answer: AnswerChange): void;
}

export type KmsOperation = 'GenerateDataKey' | 'Decrypt';
type AnswerChange = (right: Record<string, unknown>) => Record<string, unknown> | RawAnswer;

interface Key {
  readonly arn: string;
  readonly mark: Buffer;
  readonly material: Buffer;
  readonly usage: string;
  state: KeyState;
}

const MARK_BYTES = 16;
const IV_BYTES = 12;
const TAG_BYTES = 16;

export async function startFakeKms(): Promise<FakeKms> {
  const keys = new Map<string, Key>();
  const requests: AwsRequest[] = [];
  const tenants = new Map<string, string>();
  const meetings = new Map<string, AwsError | AnswerChange>();
  const scripted: ((
    right: () => Record<string, unknown>,
  ) => Record<string, unknown> | RawAnswer | 'silence' | 'break')[] = [];

  const usableKey = ({ body, region }: AwsRequest): Key => {
    const key = keys.get(String(body['KeyId']));
    // A key is known in its own region only.
    if (key === undefined || key.arn.split(':')[3] !== region)
      throw new AwsRefusal({ type: 'NotFoundException' });
    return key;
  };

  const checkUse = (request: AwsRequest, key: Key): void => {
    const context = request.body['EncryptionContext'] as Record<string, string> | undefined;
    const tenant = tenants.get(request.accessKeyId);
    if (tenant !== undefined && tenant !== context?.['tenant'])
      throw new AwsRefusal({ type: 'AccessDeniedException' });
    if (key.state === 'Disabled') throw new AwsRefusal({ type: 'DisabledException' });
    if (key.state !== 'Enabled') throw new AwsRefusal({ type: 'KMSInvalidStateException' });
    if (key.usage !== 'ENCRYPT_DECRYPT') throw new AwsRefusal({ type: 'InvalidKeyUsageException' });
  };

  const generateDataKey = (request: AwsRequest): Record<string, unknown> => {
    const key = usableKey(request);
    checkUse(request, key);
    const { KeySpec, NumberOfBytes } = request.body;
    if (KeySpec !== 'AES_256' || NumberOfBytes !== undefined)
      throw new AwsRefusal({ type: 'ValidationException' });
    const plaintext = randomBytes(32);
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key.material, iv).setAAD(bindingOf(request.body));
    const box = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    return {
      KeyId: key.arn,
      Plaintext: plaintext.toString('base64'),
      CiphertextBlob: Buffer.concat([key.mark, iv, box]).toString('base64'),
    };
  };

  const decrypt = (request: AwsRequest): Record<string, unknown> => {
    const key = usableKey(request);
    checkUse(request, key);
    const blob = Buffer.from(String(request.body['CiphertextBlob']), 'base64');
    if (blob.length < 1 || blob.length > 6144) throw new AwsRefusal({ type: 'ValidationException' });
    const mark = blob.subarray(0, MARK_BYTES);
    const owner = [...keys.values()].find((candidate) => candidate.mark.equals(mark));
    if (owner !== undefined && owner !== key) throw new AwsRefusal({ type: 'IncorrectKeyException' });
    try {
      const decipher = createDecipheriv(
        'aes-256-gcm',
        key.material,
        blob.subarray(MARK_BYTES, MARK_BYTES + IV_BYTES),
        { authTagLength: TAG_BYTES },
      );
      decipher.setAAD(bindingOf(request.body)).setAuthTag(blob.subarray(-TAG_BYTES));
      if (owner === undefined) throw new Error('no such key');
      const box = blob.subarray(MARK_BYTES + IV_BYTES, -TAG_BYTES);
      const plaintext = Buffer.concat([decipher.update(box), decipher.final()]);
      return {
        KeyId: key.arn,
        Plaintext: plaintext.toString('base64'),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      };
    } catch {
      throw new AwsRefusal({ type: 'InvalidCiphertextException' });
    }
  };

  const meet = (request: AwsRequest): Record<string, unknown> | RawAnswer => {
    const meeting = meetings.get(request.operation);
    if (meeting === undefined) return answer(request);
    if (typeof meeting === 'function') return meeting(answer(request));
    throw new AwsRefusal(meeting);
  };

  const answer = (request: AwsRequest): Record<string, unknown> => {
    if (request.operation === 'GenerateDataKey') return generateDataKey(request);
    if (request.operation === 'Decrypt') return decrypt(request);
    throw new AwsRefusal({ type: 'UnknownOperationException' });
  };

  const service = await startAwsService({
    version: '1.1',
    target: 'TrentService',
    signedAs: 'kms',
    internal: 'KMSInternalException',
    names: () => [...keys.keys()].join(),
    answer(request) {
      requests.push(request);
      const script = scripted.shift();
      const result = script === undefined ? meet(request) : script(() => answer(request));
      if (result === 'silence' || result === 'break') return result;
      return isRaw(result) ? result : { status: 200, body: JSON.stringify(result) };
    },
  });

  return {
    endpoint: service.url,
    requests,
    createKey({ region = 'eu-central-1', usage = 'ENCRYPT_DECRYPT' } = {}) {
      const arn = `arn:aws:kms:${region}:111122223333:key/${randomUUID()}`;
      const mark = randomBytes(MARK_BYTES);
      keys.set(arn, { arn, mark, material: randomBytes(32), usage, state: 'Enabled' });
      return arn;
    },
    setState(keyArn, state) {
      const key = keys.get(keyArn);
      if (key === undefined) throw new Error('no such key');
      key.state = state;
    },
    removeKey: (keyArn) => void keys.delete(keyArn),
    allowOnly: (accessKeyId, tenant) => void tenants.set(accessKeyId, tenant),
    meet(operation, meeting) {
      if (meeting === undefined) meetings.delete(operation);
      else meetings.set(operation, meeting);
    },
    failNext(times, failure) {
      for (let i = 0; i < times; i++) {
        scripted.push(() => {
          if (typeof failure === 'string') return failure;
          throw new AwsRefusal(failure);
        });
      }
    },
    answerNext(times, change) {
      for (let i = 0; i < times; i++) scripted.push((right) => change(right()));
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** The encryption context in one order, whatever order it was sent in. */
function bindingOf(body: Readonly<Record<string, unknown>>): Buffer {
  const context = (body['EncryptionContext'] ?? {}) as Record<string, unknown>;
  const pairs = Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1));
  if (pairs.some(([, value]) => typeof value !== 'string'))
    throw new AwsRefusal({ type: 'SerializationException' });
  return Buffer.from(JSON.stringify(pairs));
}

function isRaw(answer: Record<string, unknown> | RawAnswer): answer is RawAnswer {
  return typeof answer['status'] === 'number' && typeof answer['body'] === 'string';
}
