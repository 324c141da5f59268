// The same handler on a laptop: an HTTP server that plays the function URL.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createAuthorize, signSession } from './session.ts';
import { createTurnStream, MOST_BODY_BYTES, type StreamOptions, type UrlEvent } from './stream-turn.ts';

const TURN_WITHIN_MS = 60_000;
const SESSION_MS = 3_600_000;

export interface StreamServer extends AsyncDisposable {
  /** The address of the page, and of the turns. */
  readonly url: string;
  /** A token for an hour, which the page takes behind `#`. */
  tokenFor(tenant: string): string;
}

export async function startServer(
  options: Omit<StreamOptions, 'authorize'>,
  port: number,
): Promise<StreamServer> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const answer = createTurnStream({ ...options, authorize: createAuthorize(publicKey) });
  const server = createServer(async (request, response) => {
    try {
      const file = request.method === 'GET' ? fileAt(request.url) : undefined;
      const { status, headers, body } =
        file ?? (await answer(await eventOf(request), AbortSignal.timeout(TURN_WITHIN_MS)));
      response.writeHead(status, Object.fromEntries(headers));
      if (body === null) response.end();
      // Cancels the body when the client is gone, which ends the turn.
      else await pipeline(Readable.fromWeb(body), response);
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    tokenFor: (tenant) => signSession(privateKey, { tenant, expires: Date.now() + SESSION_MS }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function fileAt(url: string | undefined): Response | undefined {
  const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
  if (url === '/') return new Response(read('page.html'), { headers: { 'content-type': 'text/html' } });
  if (url !== '/read-events.js') return undefined;
  const script = stripTypeScriptTypes(read('read-events.ts'));
  return new Response(script, { headers: { 'content-type': 'text/javascript' } });
}

/** Makes the event that Lambda would make. Of a body that is too large it reads as much as shows that. */
async function eventOf(request: IncomingMessage): Promise<UrlEvent> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_BODY_BYTES) break;
  }
  const { method = '', headers } = request;
  return {
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    requestContext: { http: { method } },
    body: Buffer.concat(chunks).toString('base64'),
    isBase64Encoded: true,
  };
}
