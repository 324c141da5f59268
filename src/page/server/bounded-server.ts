import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Limits of what clients may take of a server. */
export interface ServerBounds {
  /** Connections at once. */
  readonly connections: number;
  /** The time from the beginning of a connection, or of a further request on it, to the end of the headers. */
  readonly headersMs: number;
  /** The time from the end of the headers to the end of the body. */
  readonly bodyMs: number;
  /** The time for which a connection stays open between two requests. */
  readonly idleMs: number;
  /** The bytes of all bodies together whose requests are not answered yet. */
  readonly bodiesBytes: number;
}

/** The reason for which a body was not read. */
interface BodyRefusal {
  readonly status: 413 | 503;
  readonly message: string;
}

/** An HTTP server that clients cannot occupy by what they leave unfinished. */
export interface BoundedServer {
  readonly server: Server;
  /**
   * Reads the body of a request, of at most `most` bytes; they count among all bodies until the request is answered.
   * Where these are too many, the request that has been sending the longest is refused. Rejects when the client is
   * gone.
   */
  readBody(
    exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
    most: number,
  ): Promise<Uint8Array | BodyRefusal>;
}

interface Connection {
  /** The request that is being received or answered. */
  request: IncomingMessage | undefined;
  /** True where a request on the connection was served before. */
  isProven: boolean;
}

interface BodyReading {
  readonly drop: () => void;
}

const CHECK_MS = 1_000;
const TOO_LONG: BodyRefusal = { status: 413, message: 'The body is too long.' };
const TOO_MANY: BodyRefusal = { status: 503, message: 'There are too many bodies at once: try again.' };

/**
 * Makes a server, which listens nowhere yet. A connection too many ends the oldest one that waits for its client, best
 * one on which no request was ever served; where all others are being answered, the new one ends.
 */
export function createBoundedServer(bounds: ServerBounds): BoundedServer {
  const { headersMs, bodyMs, idleMs, bodiesBytes } = bounds;
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: headersMs + bodyMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, headersMs),
  });
  boundConnections(server, bounds.connections);

  /** The bodies that are being read, the one that began first in front. */
  const readings = new Set<BodyReading>();
  let held = 0;
  const readBody: BoundedServer['readBody'] = async ({ request, response }, most) => {
    if (Number(request.headers['content-length'] ?? 0) > most) return TOO_LONG;
    const read = Promise.withResolvers<Uint8Array | BodyRefusal>();
    let chunks: Uint8Array[] = [];
    let bytes = 0;
    const release = (): void => {
      held -= bytes;
      bytes = 0;
    };
    const end = (outcome: Uint8Array | BodyRefusal): void => {
      readings.delete(reading);
      request.off('data', take);
      chunks = [];
      if ('status' in outcome) release();
      read.resolve(outcome);
    };
    const reading: BodyReading = { drop: () => end(TOO_MANY) };
    const take = (chunk: Uint8Array): void => {
      bytes += chunk.length;
      held += chunk.length;
      chunks.push(chunk);
      if (bytes > most) end(TOO_LONG);
      for (const oldest of readings) {
        if (held <= bodiesBytes) break;
        oldest.drop();
      }
    };
    readings.add(reading);
    response.once('close', () => {
      readings.delete(reading);
      release();
      read.reject(new Error('the client is gone'));
    });
    request.on('error', () => response.destroy());
    request.on('data', take);
    request.on('end', () => end(joined(chunks, bytes)));
    return read.promise;
  };
  return { server, readBody };
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function boundConnections(server: Server, most: number): void {
  /** The open connections, the oldest in front. */
  const connections = new Map<Socket, Connection>();
  const waiting = ({ request }: Connection): boolean => request?.complete !== true;

  server.on('connection', (socket) => {
    const connection: Connection = { request: undefined, isProven: false };
    const others = [...connections];
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    if (connections.size <= most) return;
    const idle = others.filter(([, other]) => waiting(other));
    const [victim] = idle.find(([, { isProven }]) => !isProven) ?? idle[0] ?? [socket];
    connections.delete(victim);
    victim.destroy();
  });
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket);
    if (connection === undefined) return;
    connection.request = request;
    response.once('close', () => {
      // A client that does not wait for an answer has sent a further request by now.
      if (connection.request === request) connection.request = undefined;
      if (response.statusCode < 400) connection.isProven = true;
    });
  });
}
