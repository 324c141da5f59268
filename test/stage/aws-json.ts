import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request of the protocols JSON 1.0 and 1.1 of AWS as it was received. */
export interface AwsRequest {
  readonly operation: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly region: string;
  readonly accessKeyId: string;
  /** The program that sent it, as it calls itself. */
  readonly agent: string;
}

export interface AwsError {
  readonly type: string;
  /** 400 unless given. */
  readonly status?: number;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

/** The end of a request: an answer, none at all, or a connection that breaks. */
type AwsAnswer = RawAnswer | 'silence' | 'break';

/** An error of the service, thrown by what answers a request. */
export class AwsRefusal extends Error {
  readonly type: string;
  readonly status: number;

  constructor({ type, status = 400 }: AwsError) {
    super(type);
    this.type = type;
    this.status = status;
  }
}

/** A service of AWS that is asked by POST of JSON. */
interface AwsService {
  readonly version: '1.0' | '1.1';
  /** The word that stands before the operation in `x-amz-target`. */
  readonly target: string;
  /** The name of the service in the signature. */
  readonly signedAs: string;
  readonly answer: (request: AwsRequest) => AwsAnswer;
  /** The name of the error for everything that is thrown besides refusals. */
  readonly internal: string;
  /** The words that AWS puts after the type of an error: names of tables and keys, which a caller must not pass on. */
  readonly names: () => string;
}

/** Starts a service of this process; a request without the target, the content type or the signature is refused. */
export async function startAwsService(
  service: AwsService,
): Promise<AsyncDisposable & { readonly url: string }> {
  const contentType = `application/x-amz-json-${service.version}`;

  const answerTo = async (incoming: IncomingMessage): Promise<AwsAnswer> => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      return service.answer(parseRequest(service, incoming, Buffer.concat(chunks).toString()));
    } catch (error) {
      const { type, status } =
        error instanceof AwsRefusal ? error : new AwsRefusal({ type: service.internal, status: 500 });
      return { status, body: JSON.stringify({ __type: type, message: `${type}: ${service.names()}` }) };
    }
  };

  const server = createServer(async (incoming, response) => {
    const answer = await answerTo(incoming);
    if (answer === 'silence') return;
    if (answer === 'break') {
      incoming.socket.destroy();
      return;
    }
    // The SDK would correct its clock and ask once more if the clock of a test is far from that of the machine.
    response.sendDate = false;
    response.writeHead(answer.status, { 'content-type': answer.contentType ?? contentType }).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function parseRequest(
  { version, target, signedAs }: AwsService,
  { method, url, headers }: IncomingMessage,
  text: string,
): AwsRequest {
  const [service, operation = ''] = String(headers['x-amz-target']).split('.');
  const isJson = headers['content-type'] === `application/x-amz-json-${version}`;
  if (method !== 'POST' || url !== '/' || !isJson || service !== target) {
    throw new AwsRefusal({ type: 'UnknownOperationException', status: 404 });
  }
  const credential = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, /.exec(
    headers.authorization ?? '',
  );
  if (credential?.[3] !== signedAs) throw new AwsRefusal({ type: 'MissingAuthenticationTokenException' });
  const [, accessKeyId = '', region = ''] = credential;
  const agent = String(headers['x-amz-user-agent'] ?? headers['user-agent']);
  return { operation, body: JSON.parse(text) as Record<string, unknown>, region, accessKeyId, agent };
}
