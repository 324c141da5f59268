import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { serveHttp } from '../../../src/cli/serve/mcp-http.ts';
import { createMemoryServer } from '../../../src/mcp/server.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ServerBounds } from '../../../src/page/server/bounded-server.ts';
import { listenOnLoopback } from '../../../src/page/server/loopback.ts';
import { askRaw, serveQuestions, signIn } from '../../stage/page-site.ts';

const HOUR = 3_600_000;
/** Nothing of a client ends by time. */
const PATIENT: ServerBounds = {
  connections: 6,
  headersMs: HOUR,
  bodyMs: HOUR,
  idleMs: HOUR,
  bodiesBytes: 100_000,
};
/** A number of bad connections that is more than a server takes. */
const MANY = 20;

interface Site extends AsyncDisposable {
  readonly port: number;
  /** The beginning of a request that is allowed, up to the headers about its body. */
  readonly head: string;
  /** A body that is answered. */
  readonly body: string;
  /** Asks as an honest client does; the status. */
  ask(): Promise<number | undefined>;
}

const SITES: Readonly<Record<string, (bounds: Partial<ServerBounds>) => Promise<Site>>> = {
  'the page': async (bounds) => {
    const echo = async (input: object): Promise<object> => input;
    const page = await serveQuestions({ echo }, new Map(), { maxQuestionBytes: 80_000, bounds });
    const cookie = await signIn(page);
    const headers = { origin: page.origin, cookie, 'content-type': 'application/json' };
    const { host, port } = new URL(page.origin);
    return {
      port: Number(port),
      head: headOf('/api/echo', { host, ...headers }),
      body: '{}',
      ask: async () =>
        (await askRaw(`${page.origin}/api/echo`, { method: 'POST', headers, body: '{}' })).status,
      [Symbol.asyncDispose]: () => page[Symbol.asyncDispose](),
    };
  },
  'mcp --http': async (bounds) => {
    const memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32) });
    const ending = new AbortController();
    const listening = Promise.withResolvers<{ readonly url: string; readonly token?: string }>();
    const serving = serveHttp({
      port: 0,
      bounds,
      signal: ending.signal,
      onRefused: () => {},
      factory: () => createMemoryServer(memory, { tools: 'one' }),
      onListening: async (address) => listening.resolve(address),
    });
    const { url, token } = await listening.promise;
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const { host, port } = new URL(url);
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    });
    return {
      port: Number(port),
      head: headOf('/mcp', { host, ...headers }),
      body,
      ask: async () => (await askRaw(url, { method: 'POST', headers, body })).status,
      async [Symbol.asyncDispose]() {
        ending.abort();
        await serving;
        await memory.close();
      },
    };
  },
};

function headOf(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}`;
}

/** Answers all that a bad client ever sends. */
const BAD: Readonly<Record<string, (head: string) => string>> = {
  'is silent': () => '',
  'leaves its request line unfinished': () => 'POST /',
  'leaves its headers unfinished': (head) => head,
  'sends no body': (head) => `${head}content-length: 1000\r\n\r\n`,
  'leaves its body unfinished': (head) => `${head}content-length: 1000\r\n\r\n{"a":`,
  'leaves its body of no length unfinished': (head) =>
    `${head}transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n`,
  'announces a body that is too long': (head) => `${head}content-length: 99999999\r\n\r\n{`,
};

async function bad(port: number, text: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

/** Resolves when the connection has ended, in whichever way. */
function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });
}

describe.each(Object.entries(SITES))('%s', { timeout: 60_000 }, (_name, open) => {
  describe.each(Object.entries(BAD))('where a client %s', (_bad, textOf) => {
    it('answers others, however many connections it holds', async () => {
      await using site = await open(PATIENT);
      const sockets: Socket[] = [];
      for (let count = 0; count < MANY; count += 1) {
        sockets.push(await bad(site.port, textOf(site.head)));
        if (count % 5 === 0) expect(await site.ask()).toBe(200);
      }
      expect(await site.ask()).toBe(200);
      for (const socket of sockets) socket.destroy();
    });
  });

  // Less than Node's own pause between two looks at its connections.
  const SOON = { timeout: 20_000 };
  it('ends connections in time on which nothing, or too little, comes', SOON, async () => {
    await using site = await open({ headersMs: 500, bodyMs: 500, idleMs: 500 });
    const sockets = await Promise.all(Object.values(BAD).map((textOf) => bad(site.port, textOf(site.head))));
    const dripping = await Promise.all(
      [`x-a: ${'a'.repeat(9_000)}`, `content-length: 9000\r\n\r\n${' '.repeat(9_000)}`].map(async (rest) => {
        const socket = await bad(site.port, site.head);
        const bytes = rest[Symbol.iterator]();
        const drip = setInterval(() => socket.write(bytes.next().value ?? ''), 10);
        socket.once('close', () => clearInterval(drip));
        return { socket, bytes };
      }),
    );
    const all = [...sockets, ...dripping.map(({ socket }) => socket)];
    await Promise.all(all.map(ended));
    for (const { bytes } of dripping) expect(bytes.next().done).toBe(false);
    await expect.poll(() => site.ask().catch(() => undefined), { timeout: 10_000 }).toBe(200);
  });

  it('keeps a connection on which a request was answered before those on which none was', async () => {
    await using site = await open(PATIENT);
    const whole = `${site.head}content-length: ${site.body.length}\r\n\r\n${site.body}`;
    const used = await bad(site.port, whole);
    await once(used, 'data');
    const unused: Socket[] = [];
    for (let count = 0; count < MANY; count += 1) unused.push(await bad(site.port, ''));
    await Promise.all(unused.slice(0, MANY - PATIENT.connections + 1).map(ended));
    expect(used.destroyed).toBe(false);
    used.write(whole);
    expect(String(await once(used, 'data'))).toContain('HTTP/1.1');
    for (const socket of [used, ...unused]) socket.destroy();
  });

  it('refuses a body that is too long, before it comes and while it comes', async () => {
    await using site = await open(PATIENT);
    for (const sent of [
      'content-length: 99999999\r\n\r\n',
      `transfer-encoding: chunked\r\n\r\n1D4C0\r\n${' '.repeat(0x1d4c0)}\r\n`,
    ]) {
      const socket = await bad(site.port, `${site.head}${sent}`);
      const [answer] = (await once(socket, 'data')) as [Uint8Array];
      expect(new TextDecoder().decode(answer)).toMatch(/^HTTP\/1\.1 (413|503) /);
      socket.destroy();
    }
    expect(await site.ask()).toBe(200);
  });

  it('holds no more of unfinished bodies than it may: the one that began first is refused', async () => {
    await using site = await open({ ...PATIENT, connections: 100 });
    const length = 'content-length: 70000\r\n\r\n';
    const sockets: Socket[] = [];
    for (let count = 0; count < 5; count += 1) {
      const socket = await bad(site.port, `${site.head}${length}${' '.repeat(60_000)}`);
      const before = sockets.at(-1);
      if (before !== undefined) {
        const [answer] = (await once(before, 'data')) as [Uint8Array];
        expect(new TextDecoder().decode(answer)).toMatch(/^HTTP\/1\.1 503 /);
      }
      sockets.push(socket);
    }
    expect(await site.ask()).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe('a bounded server', { timeout: 60_000 }, () => {
  /** Answers when it is told to, where `isHeld`; else with the length of the body, of which it takes 1,000 bytes. */
  const serve = async ({ isHeld = false } = {}) => {
    const { server, readBody, port } = await listenOnLoopback(PATIENT, { port: 0, option: '--port' });
    const held: ServerResponse[] = [];
    server.on('request', async (request, response) => {
      if (isHeld) {
        held.push(response);
        return;
      }
      const body = await readBody({ request, response }, 1_000);
      response.end('status' in body ? `refused ${body.status}` : `took ${body.length}`);
    });
    const end = async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
    };
    const line = `POST / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n`;
    return { port, line, held, [Symbol.asyncDispose]: end };
  };
  const answerTo = async (port: number, text: string): Promise<readonly [Socket, string]> => {
    const socket = await bad(port, text);
    const [answer] = (await once(socket, 'data')) as [Uint8Array];
    return [socket, new TextDecoder().decode(answer).split('\r\n').at(-1) ?? ''];
  };

  it('takes no other connection while all are being answered, and keeps them', async () => {
    await using site = await serve({ isHeld: true });
    const request = `${site.line}\r\n`;
    const served: Socket[] = [];
    for (let count = 0; count < PATIENT.connections; count += 1) served.push(await bad(site.port, request));
    await expect.poll(() => site.held.length).toBe(PATIENT.connections);
    await ended(await bad(site.port, request));
    for (const [index, socket] of served.entries()) {
      site.held[index]?.end('done');
      expect(String(await once(socket, 'data'))).toMatch(/done$/);
    }
  });

  it('keeps a connection on which a further request is answered, where its first one was', async () => {
    await using site = await serve({ isHeld: true });
    const request = `${site.line}content-length: 0\r\n\r\n`;
    const first = await bad(site.port, `${request}${request}`);
    await expect.poll(() => site.held.length).toBe(2);
    for (let count = 1; count < PATIENT.connections; count += 1) await bad(site.port, request);
    await expect.poll(() => site.held.length).toBe(PATIENT.connections + 1);
    site.held[0]?.end('one');
    expect(String(await once(first, 'data'))).toMatch(/one$/);
    await ended(await bad(site.port, request));
    site.held[1]?.end('two');
    expect(String(await once(first, 'data'))).toMatch(/two$/);
  });

  it('ends the oldest of idle connections for a new one, where each was answered', async () => {
    await using site = await serve();
    const request = `${site.line}content-length: 2\r\n\r\nab`;
    const answered: Socket[] = [];
    for (let count = 0; count < MANY; count += 1) {
      const [socket, answer] = await answerTo(site.port, request);
      expect(answer).toBe('took 2');
      answered.push(socket);
    }
    await Promise.all(answered.slice(0, MANY - PATIENT.connections).map(ended));
    expect(answered.slice(MANY - PATIENT.connections).some(({ destroyed }) => destroyed)).toBe(false);
  });

  it.each([
    { sent: 'content-length: 1000\r\n\r\n', bytes: 1_000, answer: 'took 1000' },
    { sent: 'content-length: 1001\r\n\r\n', bytes: 0, answer: 'refused 413' },
    { sent: 'transfer-encoding: chunked\r\n\r\n3E9\r\n', bytes: 1_001, answer: 'refused 413' },
    { sent: 'content-length: 0\r\n\r\n', bytes: 0, answer: 'took 0' },
  ])('takes a body of as much as it is told to: $sent', async ({ sent, bytes, answer }) => {
    await using site = await serve();
    const [, answered] = await answerTo(site.port, `${site.line}${sent}${' '.repeat(bytes)}`);
    expect(answered).toContain(answer);
  });
});
