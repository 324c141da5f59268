import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProxiedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface CannedAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

/**
 * `forward`: to the server and back. `lose_answer`: the server executes it, the client's connection breaks.
 * `lose_request`: the connection breaks at once. `hang`: no answer ever comes. `break_body`: the answer ends half-way.
 */
export type Reaction = 'forward' | 'lose_answer' | 'lose_request' | 'hang' | 'break_body' | CannedAnswer;

export interface S3Proxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Every request so far, in order; emptied by `length = 0`. */
  readonly requests: ProxiedRequest[];
  /** Decides about each request from now on; the server sees a request when that is decided. */
  react(judge: (request: ProxiedRequest) => Reaction | Promise<Reaction>): void;
  /** Resolves once every request that has come so far was answered, lost or cancelled. */
  settled(): Promise<void>;
  /** Changes the request's headers before the server sees them. */
  editRequestHeaders(
    edit: (headers: OutgoingHttpHeaders, request: ProxiedRequest) => OutgoingHttpHeaders,
  ): void;
  /** Changes the answer's headers before the client sees them. */
  editAnswerHeaders(edit: (headers: OutgoingHttpHeaders) => OutgoingHttpHeaders): void;
}

/** A proxy on the loopback address before an S3 server. Signatures stay valid: the Host header is passed on. */
export async function startS3Proxy(target: string): Promise<S3Proxy> {
  const requests: ProxiedRequest[] = [];
  let judge: (request: ProxiedRequest) => Reaction | Promise<Reaction> = () => 'forward';
  let editRequest = (headers: OutgoingHttpHeaders, _: ProxiedRequest): OutgoingHttpHeaders => headers;
  let editAnswer = (headers: OutgoingHttpHeaders): OutgoingHttpHeaders => headers;

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await collect(incoming);
    const { method = '', url = '', headers } = incoming;
    if (method === 'OPTIONS' && url === ROLL_CALL) {
      outgoing.writeHead(204).end();
      return;
    }
    requests.push({ method, url, headers });
    const reaction = await judge({ method, url, headers });
    if (reaction === 'hang') return;
    if (reaction === 'lose_request') {
      outgoing.destroy();
      return;
    }
    if (typeof reaction === 'object') {
      outgoing.writeHead(reaction.status, { 'content-type': 'application/xml', ...reaction.headers });
      outgoing.end(reaction.body ?? '');
      return;
    }
    const edited = editRequest({ ...headers }, { method, url, headers });
    const answer = await forward({ target, method, url, headers: edited, body });
    if (reaction === 'lose_answer') {
      outgoing.destroy();
      return;
    }
    outgoing.writeHead(answer.status, editAnswer(answer.headers));
    if (reaction === 'break_body') {
      outgoing.write(answer.body.subarray(0, answer.body.length / 2), () => outgoing.destroy());
      return;
    }
    outgoing.end(answer.body);
  };

  const open = new Set<Promise<void>>();
  const server = createServer((incoming, outgoing) => {
    const handled = handle(incoming, outgoing)
      .catch(() => void outgoing.destroy())
      .finally(() => open.delete(handled));
    open.add(handled);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests,
    react: (next) => {
      judge = next;
    },
    async settled() {
      // The bytes of a client that is dead by now may lie in a socket unread. Bytes that come later are read later: the
      // first roll call is accepted after every connection that was there, the second one is read after what they hold.
      for (let round = 0; round < 2; round++) await callRoll(port);
      await Promise.all(open);
    },
    editRequestHeaders: (edit) => {
      editRequest = edit;
    },
    editAnswerHeaders: (edit) => {
      editAnswer = edit;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const ROLL_CALL = '/roll-call';

/** A request to the proxy itself, over a connection of its own. */
function callRoll(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, method: 'OPTIONS', path: ROLL_CALL, agent: false },
      (answer) => {
        answer.resume().on('end', resolve);
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

/** S3's way of refusing. */
export function s3ErrorAnswer(status: number, code: string): CannedAnswer {
  return {
    status,
    body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
  };
}

interface Forwarded {
  readonly target: string;
  readonly method: string;
  readonly url: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

function forward({ target, method, url, headers, body }: Forwarded): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(url, target),
      { method, headers, agent: false, setHost: false },
      (answer) => {
        collect(answer).then(
          (bytes) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: bytes }),
          reject,
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
