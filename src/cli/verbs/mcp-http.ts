import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createMcpHandler, isLegacyRequest, type McpServerFactory } from '@modelcontextprotocol/server';
import { misconfigured } from '../../errors.ts';
import { foreignSiteOf, LOOPBACK, listenOnLoopback } from '../../open/loopback.ts';
import { type PrivateFile, readPrivateFile } from '../../open/private-file.ts';
import { MAX_LINE_BYTES } from './lines.ts';
import { createSessions } from './mcp-sessions.ts';

export interface HttpOptions {
  /** 0: any that is free. */
  readonly port: number;
  /** Without it a token is made, and told to `onListening`. */
  readonly tokenFile?: string | undefined;
  readonly factory: McpServerFactory;
  /** Hears why a message of a client was not taken. */
  readonly onRefused: (reason: string) => void;
  readonly onListening: (address: { readonly url: string; readonly token?: string }) => Promise<void>;
  /** Ends the serving; what is still running is cancelled. */
  readonly signal: AbortSignal;
}

const PATH = '/mcp';
const MAX_CONNECTIONS = 256;
const LEAST_TOKEN_LENGTH = 32;

/**
 * Serves MCP over HTTP to clients on this machine that have the token, until the signal fires.
 *
 * @throws MemoryError `misconfigured` when the port cannot be had, or the token not be read.
 */
export async function serveHttp(options: HttpOptions): Promise<void> {
  const { tokenFile, factory, onRefused, onListening, signal } = options;
  const given = tokenFile === undefined ? undefined : readToken(tokenFile);
  const token = given ?? randomBytes(32).toString('base64url');
  const onerror = ({ message }: Error): void => onRefused(message);
  const limits = { maxRequestBodySize: MAX_LINE_BYTES };
  const modern = createMcpHandler(factory, { ...limits, legacy: 'reject', onerror });
  const sessions = createSessions(factory, limits);

  const server = createServer({ keepAliveTimeout: 5_000 });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listenOnLoopback(server, { port: options.port, option: '--http' });
  const isAllowed = createGuard({ port, token });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const refused = isAllowed(request);
    if (refused !== undefined) {
      onRefused(refused.message);
      refuse(response, refused);
      return;
    }
    void respond(request, response, async (asked) =>
      (await isLegacyRequest(asked, undefined, limits)) ? sessions.fetch(asked) : modern.fetch(asked),
    );
  });
  try {
    const url = `http://${LOOPBACK}:${port}${PATH}`;
    await onListening(given === undefined ? { url, token } : { url });
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await Promise.all([modern.close(), sessions.close()]);
    server.close();
    server.closeAllConnections();
  }
}

const TOKEN_FILE: PrivateFile = {
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
}

/** Returns why a request is not served: pages of other sites are not, and other programs of this machine lack the token. */
function createGuard({ port, token }: { readonly port: number; readonly token: string }) {
  const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest();
  const expected = digest(`Bearer ${token}`);
  return ({ headers, url }: IncomingMessage): Refusal | undefined => {
    const foreign = foreignSiteOf(headers, port);
    if (foreign !== undefined) return { status: 403, message: foreign };
    if (!timingSafeEqual(digest(headers.authorization ?? ''), expected)) {
      const challenge = { 'www-authenticate': 'Bearer' };
      return { status: 401, message: 'The bearer token is missing or wrong.', headers: challenge };
    }
    if (url?.split('?', 1)[0] !== PATH) return { status: 404, message: `MCP is served at ${PATH}.` };
    return undefined;
  };
}

function refuse(response: ServerResponse, { status, message, headers }: Refusal): void {
  // The body of the request stays unread, so the connection cannot be used again.
  response.writeHead(status, { ...headers, 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }));
}

/** Answers through `fetch`. A client that closes the connection aborts the signal of its request. */
async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    const { status, headers, body } = await fetch(requestOf(request, gone.signal));
    response.writeHead(status, Object.fromEntries(headers));
    if (body === null) response.end();
    else await pipeline(Readable.fromWeb(body), response);
  } catch {
    // The client is gone, or its request is none that fetch knows, such as a CONNECT.
    if (response.headersSent) response.destroy();
    else refuse(response, { status: 400, message: 'The request cannot be answered.' });
  }
}

function requestOf(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '', rawHeaders } = request;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  }
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(new URL(url, `http://${LOOPBACK}`), {
    method,
    headers,
    signal,
    ...(hasBody && { body: Readable.toWeb(request), duplex: 'half' }),
  });
}
