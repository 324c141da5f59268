import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createMcpHandler, isLegacyRequest, type McpServerFactory } from '@modelcontextprotocol/server';
import { misconfigured } from '../../errors.ts';
import { readPrivateFile } from '../../keys/private-file.ts';
import type { ServerBounds } from '../../page/server/bounded-server.ts';
import { type LocalServer, listenOnLoopback } from '../../page/server/loopback.ts';
import { MAX_LINE_BYTES } from './lines.ts';
import { createSessions, type ParsedBody } from './mcp-sessions.ts';

interface HttpOptions {
  /** 0: any that is free. */
  readonly port: number;
  /** The file that holds the token; absent: a token is made, and told to `onListening`. */
  readonly tokenFile?: string | undefined;
  readonly factory: McpServerFactory;
  /** Hears why a message of a client was not taken. */
  readonly onRefused: (reason: string) => void;
  readonly onListening: (address: { readonly url: string; readonly token?: string }) => Promise<void>;
  /** Bounds that replace the usual ones. */
  readonly bounds?: Partial<ServerBounds> | undefined;
  /** Ends the serving; what is still running is cancelled. */
  readonly signal: AbortSignal;
}

const PATH = '/mcp';
const BOUNDS: ServerBounds = {
  connections: 256,
  headersMs: 5_000,
  bodyMs: 10_000,
  idleMs: 5_000,
  // One of the largest, and room for others beside it.
  bodiesBytes: MAX_LINE_BYTES + 16_777_216,
};
const LEAST_TOKEN_LENGTH = 32;

/**
 * Serves MCP over HTTP to clients on this machine that have the token, until the signal fires.
 *
 * @throws MemoryError `misconfigured` when the port cannot be had, or the token not be read.
 */
export async function serveHttp(options: HttpOptions): Promise<void> {
  const { tokenFile, factory, onRefused, onListening, bounds, signal } = options;
  const given = tokenFile === undefined ? undefined : readToken(tokenFile);
  const token = given ?? randomBytes(32).toString('base64url');
  const onerror = ({ message }: Error): void => onRefused(message);
  const modern = createMcpHandler(factory, { legacy: 'reject', onerror });
  const sessions = createSessions(factory);

  const place = { port: options.port, option: '--http' };
  const local = await listenOnLoopback({ ...BOUNDS, ...bounds }, place);
  const { server, readBody, origin } = local;
  const isAllowed = createGuard(local, token);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const refused = isAllowed(request);
    if (refused !== undefined) {
      onRefused(refused.message);
      refuse(response, refused);
      return;
    }
    void respond({ request, response, readBody, origin }, async (asked, body) =>
      (await isLegacyRequest(asked, body?.parsedBody))
        ? sessions.fetch(asked, body)
        : modern.fetch(asked, body),
    );
  });
  try {
    const url = `${origin}${PATH}`;
    await onListening(given === undefined ? { url, token } : { url });
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await Promise.all([modern.close(), sessions.close()]);
    local.close();
  }
}

const TOKEN_FILE = {
  label: '--token-file',
  kind: 'token file',
  remedy: 'make one with "openssl rand -hex 32"',
};

function readToken(path: string): string {
  const token = readPrivateFile(path, TOKEN_FILE);
  if (token.length < LEAST_TOKEN_LENGTH || !/^[\w.~+/-]+=*$/.test(token)) {
    throw misconfigured(
      `The token file must hold ${LEAST_TOKEN_LENGTH} or more letters and digits: "openssl rand -hex 32" makes them.`,
    );
  }
  return token;
}

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The error code of JSON-RPC; `SERVER_ERROR` unless given. */
  readonly code?: number;
}

const SERVER_ERROR = -32_000;
const PARSE_ERROR = -32_700;

/**
 * Returns why a request is not served: pages of other sites are not, and other programs of this machine lack the token.
 */
function createGuard({ foreignSiteOf }: LocalServer, token: string) {
  const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest();
  const expected = digest(`Bearer ${token}`);
  return ({ headers, url }: IncomingMessage): Refusal | undefined => {
    const foreign = foreignSiteOf(headers);
    if (foreign !== undefined) return { status: 403, message: foreign };
    if (!timingSafeEqual(digest(headers.authorization ?? ''), expected)) {
      const challenge = { 'www-authenticate': 'Bearer' };
      return { status: 401, message: 'The bearer token is missing or wrong.', headers: challenge };
    }
    if (url?.split('?', 1)[0] !== PATH) return { status: 404, message: `MCP is served at ${PATH}.` };
    return undefined;
  };
}

function refuse(response: ServerResponse, { status, message, headers, code = SERVER_ERROR }: Refusal): void {
  // The body of the request stays unread, so the connection cannot be used again.
  response.writeHead(status, { ...headers, 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

interface Exchange extends Pick<LocalServer, 'readBody' | 'origin'> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Answers through `fetch`. A client that closes the connection aborts the signal of its request. */
async function respond(
  { request, response, readBody, origin }: Exchange,
  fetch: (request: Request, body: ParsedBody | undefined) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    // Read once, within the bounds of the server: the handlers would hold several copies.
    const body =
      request.method === 'POST' ? await readJson({ request, response, readBody, origin }) : undefined;
    if (body !== undefined && 'status' in body) return refuse(response, body);
    const answer = await fetch(requestOf(request, origin, gone.signal), body);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else await pipeline(Readable.fromWeb(answer.body), response);
  } catch {
    // The client is gone, or its request is none that fetch knows, such as a CONNECT.
    if (response.headersSent) response.destroy();
    else refuse(response, { status: 400, message: 'The request cannot be answered.' });
  }
}

async function readJson({ readBody, ...exchange }: Exchange): Promise<ParsedBody | Refusal> {
  const body = await readBody(exchange, MAX_LINE_BYTES);
  if ('status' in body) return body;
  try {
    return { parsedBody: JSON.parse(new TextDecoder().decode(body)) };
  } catch {
    return { status: 400, message: 'The body is no JSON.', code: PARSE_ERROR };
  }
}

/** Makes a request from a message, without its body. */
function requestOf(
  { method = 'GET', url = '', rawHeaders }: IncomingMessage,
  origin: string,
  signal: AbortSignal,
): Request {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  }
  return new Request(new URL(url, origin), { method, headers, signal });
}
