import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type KeyState = 'Enabled' | 'Disabled' | 'PendingDeletion';

/** One request as it was received. */
export interface KmsRequest {
  readonly operation: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly region: string;
  readonly accessKeyId: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

/** A KMS of this process: symmetric keys, `GenerateDataKey` and `Decrypt`, and the states that refuse them. */
export interface FakeKms extends AsyncDisposable {
  readonly endpoint: string;
  readonly requests: readonly KmsRequest[];
  /** The ARN of a new key. */
  createKey(options?: { readonly region?: string; readonly usage?: string }): string;
  setState(keyArn: string, state: KeyState): void;
  removeKey(keyArn: string): void;
  /** From now on these credentials may use keys for this tenant only; a tenant of `''` is none. */
  allowOnly(accessKeyId: string, tenant: string): void;
  /** From now on that operation is met like this, with whatever key; undefined: rightly again. */
  meet(operation: KmsOperation, meeting: KmsError | AnswerChange | undefined): void;
  /** The next `times` requests are answered with this error, or get no answer, or break off. */
  failNext(times: number, failure: KmsError | 'silence' | 'break'): void;
  /** The next `times` requests are answered with what `answer` makes of the right answer. */
  answerNext(times: number, answer: AnswerChange): void;
}

export type KmsOperation = 'GenerateDataKey' | 'Decrypt';
type AnswerChange = (right: Record<string, unknown>) => Record<string, unknown> | RawAnswer;

export interface KmsError {
  readonly type: string;
  readonly status?: number;
}

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

class Refusal extends Error {
  readonly type: string;
  readonly status: number;

  constructor({ type, status = 400 }: KmsError) {
    super(type);
    this.type = type;
    this.status = status;
  }
}

export async function startFakeKms(): Promise<FakeKms> {
  const keys = new Map<string, Key>();
  const requests: KmsRequest[] = [];
  const tenants = new Map<string, string>();
  const meetings = new Map<string, KmsError | AnswerChange>();
  const scripted: ((
    right: () => Record<string, unknown>,
  ) => Record<string, unknown> | RawAnswer | 'silence' | 'break')[] = [];

  const usableKey = ({ body, region }: KmsRequest): Key => {
    const key = keys.get(String(body['KeyId']));
    // A key is known in its own region only.
    if (key === undefined || key.arn.split(':')[3] !== region)
      throw new Refusal({ type: 'NotFoundException' });
    return key;
  };

  const checkUse = (request: KmsRequest, key: Key): void => {
    const context = request.body['EncryptionContext'] as Record<string, string> | undefined;
    const tenant = tenants.get(request.accessKeyId);
    if (tenant !== undefined && tenant !== context?.['tenant'])
      throw new Refusal({ type: 'AccessDeniedException' });
    if (key.state === 'Disabled') throw new Refusal({ type: 'DisabledException' });
    if (key.state !== 'Enabled') throw new Refusal({ type: 'KMSInvalidStateException' });
    if (key.usage !== 'ENCRYPT_DECRYPT') throw new Refusal({ type: 'InvalidKeyUsageException' });
  };

  const generateDataKey = (request: KmsRequest): Record<string, unknown> => {
    const key = usableKey(request);
    checkUse(request, key);
    const { KeySpec, NumberOfBytes } = request.body;
    if (KeySpec !== 'AES_256' || NumberOfBytes !== undefined)
      throw new Refusal({ type: 'ValidationException' });
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

  const decrypt = (request: KmsRequest): Record<string, unknown> => {
    const key = usableKey(request);
    checkUse(request, key);
    const blob = Buffer.from(String(request.body['CiphertextBlob']), 'base64');
    if (blob.length < 1 || blob.length > 6144) throw new Refusal({ type: 'ValidationException' });
    const mark = blob.subarray(0, MARK_BYTES);
    const owner = [...keys.values()].find((candidate) => candidate.mark.equals(mark));
    if (owner !== undefined && owner !== key) throw new Refusal({ type: 'IncorrectKeyException' });
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
      throw new Refusal({ type: 'InvalidCiphertextException' });
    }
  };

  const meet = (request: KmsRequest): Record<string, unknown> | RawAnswer => {
    const meeting = meetings.get(request.operation);
    if (meeting === undefined) return answer(request);
    if (typeof meeting === 'function') return meeting(answer(request));
    throw new Refusal(meeting);
  };

  const answer = (request: KmsRequest): Record<string, unknown> => {
    if (request.operation === 'GenerateDataKey') return generateDataKey(request);
    if (request.operation === 'Decrypt') return decrypt(request);
    throw new Refusal({ type: 'UnknownOperationException' });
  };

  const server = createServer((incoming, response) => {
    void receive(incoming, response).catch((error: unknown) => {
      const { type, status } =
        error instanceof Refusal ? error : new Refusal({ type: 'KMSInternalException', status: 500 });
      // The message of AWS names the key.
      const message = `${type}: ${[...keys.keys()].join()}`;
      send(response, { status, body: JSON.stringify({ __type: type, message }) });
    });
  });

  async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request = parseRequest(incoming, Buffer.concat(chunks).toString());
    requests.push(request);
    const script = scripted.shift();
    const result = script === undefined ? meet(request) : script(() => answer(request));
    if (result === 'silence') return;
    if (result === 'break') {
      incoming.socket.destroy();
      return;
    }
    send(response, isRaw(result) ? result : { status: 200, body: JSON.stringify(result) });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    endpoint: `http://127.0.0.1:${port}`,
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
          throw new Refusal(failure);
        });
      }
    },
    answerNext(times, change) {
      for (let i = 0; i < times; i++) scripted.push((right) => change(right()));
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** What the protocol asks of every request: JSON 1.1, a target, a signature for KMS. */
function parseRequest(incoming: IncomingMessage, text: string): KmsRequest {
  const [service, operation] = String(incoming.headers['x-amz-target']).split('.');
  const credential = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/kms\/aws4_request, /.exec(
    incoming.headers.authorization ?? '',
  );
  const isJson = incoming.headers['content-type'] === 'application/x-amz-json-1.1';
  if (incoming.method !== 'POST' || incoming.url !== '/' || !isJson || service !== 'TrentService') {
    throw new Refusal({ type: 'UnknownOperationException', status: 404 });
  }
  if (credential === null) throw new Refusal({ type: 'MissingAuthenticationTokenException' });
  const [, accessKeyId = '', region = ''] = credential;
  return {
    operation: operation ?? '',
    body: JSON.parse(text) as Record<string, unknown>,
    region,
    accessKeyId,
  };
}

/** The encryption context in one order, whatever order it was sent in. */
function bindingOf(body: Readonly<Record<string, unknown>>): Buffer {
  const context = (body['EncryptionContext'] ?? {}) as Record<string, unknown>;
  const pairs = Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1));
  if (pairs.some(([, value]) => typeof value !== 'string'))
    throw new Refusal({ type: 'SerializationException' });
  return Buffer.from(JSON.stringify(pairs));
}

function isRaw(answer: Record<string, unknown> | RawAnswer): answer is RawAnswer {
  return typeof answer['status'] === 'number' && typeof answer['body'] === 'string';
}

function send(response: ServerResponse, { status, body, contentType }: RawAnswer): void {
  // Where the clock of a test is far from that of the machine, the SDK would correct its own and ask once more.
  response.sendDate = false;
  response.writeHead(status, { 'content-type': contentType ?? 'application/x-amz-json-1.1' }).end(body);
}
