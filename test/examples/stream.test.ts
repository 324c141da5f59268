import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEvents, type TurnEvent } from '../../examples/stream/read-events.ts';
import { type StreamServer, startServer } from '../../examples/stream/server.ts';
import { createAuthorize, signSession } from '../../examples/stream/session.ts';
import { createTurnStream, type Ended, MOST_BODY_BYTES } from '../../examples/stream/stream-turn.ts';
import { findChromium, launchChromium } from '../../infra/local/programs/chromium.ts';
import { createMemoryPool, MemoryError, type MemoryPool } from '../../src/index.ts';
import { ApiRefusal, type ClaudeScript, createScriptedClaude } from '../../src/testing/index.ts';
import { isNotRun } from '../runner/not-run.ts';

const NOTE = { command: 'create', path: '/memories/launch.md', file_text: 'May' };

let pool: MemoryPool;
let opened: string[];
let ended: Ended[];
let stack: AsyncDisposableStack;
beforeEach(() => {
  stack = new AsyncDisposableStack();
  pool = stack.use(createMemoryPool({ store: 'memory:', rootKey: randomBytes(32) }));
  [opened, ended] = [[], []];
});
afterEach(() => stack.disposeAsync());

const clientOf = (play: ClaudeScript) =>
  new Anthropic({ apiKey: 'sk-ant-canary', fetch: createScriptedClaude({ play }), maxRetries: 0 });

const optionsOf = (client: () => Promise<Anthropic>) => ({
  pool: {
    open(tenant: string) {
      opened.push(tenant);
      return pool.open(tenant);
    },
  },
  client,
  model: 'claude-sonnet-5-5',
  log: (end: Ended) => void ended.push(end),
});

const serve = async (play: ClaudeScript): Promise<StreamServer> =>
  stack.use(
    await startServer(
      optionsOf(async () => clientOf(play)),
      0,
    ),
  );

/** Sends what the page sends, with something else in its place. */
const send = (server: StreamServer, { headers, ...init }: RequestInit = {}) =>
  fetch(server.url, {
    method: 'POST',
    body: JSON.stringify({ message: 'When is the launch?' }),
    ...init,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${server.tokenFor('acme')}`,
      ...headers,
    },
  });

const eventsOf = (response: Response): Promise<TurnEvent[]> => Readable.from(readEvents(response)).toArray();

/** Claude says a first part, with a call, and another one when it may. */
function slowly(): { readonly play: ClaudeScript; readonly goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const parts = [
    async () => ({ say: 'I note it.', calls: [{ name: 'memory', input: NOTE }] }),
    async () => {
      await promise;
      return { say: 'In May.' };
    },
  ].values();
  return { play: () => parts.next().value?.() ?? { say: '' }, goOn: resolve };
}

describe('examples/stream', () => {
  it('sends words and calls of tools while the turn is at work, and how it ended', async () => {
    const { play, goOn } = slowly();
    const response = await send(await serve(play));
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = readEvents(response);
    expect((await events.next()).value).toEqual({ event: 'text', data: { text: 'I note it.' } });
    expect((await events.next()).value).toEqual({ event: 'tool', data: { name: 'memory', outcome: 'ok' } });
    expect(ended).toEqual([]);
    goOn();
    expect(await Readable.from(events).toArray()).toEqual([
      { event: 'text', data: { text: 'In May.' } },
      { event: 'end', data: { outcome: 'answered', text: 'In May.' } },
    ]);
    expect(ended).toEqual([{ tenant: 'acme', code: 'answered' }]);
    await using memory = await pool.open('acme');
    expect((await memory.files.read(NOTE.path))?.text()).toBe('May');
  });

  it('sends a reply that was cut again, and at its end the words once', async () => {
    const part = { say: 'In May.', think: false } as const;
    const parts = [{ fault: 'break', afterEvents: 3, part } as const, part].values();
    const events = await eventsOf(await send(await serve(() => parts.next().value ?? part)));
    expect(events.map(({ event }) => event)).toEqual(['text', 'text', 'end']);
    expect(events.at(-1)?.data).toEqual({ outcome: 'answered', text: 'In May.' });
  });

  it('ends the turn when the client is gone', async () => {
    const gone = new AbortController();
    const response = await send(await serve(slowly().play), { signal: gone.signal });
    await readEvents(response).next();
    gone.abort();
    await expect.poll(() => ended).toEqual([{ tenant: 'acme', code: 'interrupted' }]);
  });

  it('ends the turn at its limit, and says so', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const authorize = createAuthorize(publicKey);
    const token = signSession(privateKey, { tenant: 'acme', expires: Date.now() + 60_000 });
    const answer = createTurnStream({ ...optionsOf(async () => clientOf(slowly().play)), authorize });
    const event = {
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      requestContext: { http: { method: 'POST' } },
      body: '{"message":"When?"}',
      isBase64Encoded: false,
    };
    const limit = new AbortController();
    const events = readEvents(await answer(event, limit.signal));
    await events.next();
    limit.abort(new DOMException('', 'TimeoutError'));
    expect((await Readable.from(events).toArray()).at(-1)).toEqual({
      event: 'error',
      data: { code: 'timeout' },
    });
  });
});

describe('examples/stream refuses', () => {
  const silent: ClaudeScript = () => {
    throw new Error('Claude was asked');
  };

  it('whoever has no session, before anything is opened', async () => {
    const server = await serve(silent);
    const other = generateKeyPairSync('ed25519').privateKey;
    const session = { tenant: 'acme', expires: Date.now() + 60_000 };
    const [claims = '', signature = ''] = server.tokenFor('acme').split('.');
    const forged = Buffer.from(JSON.stringify(['other', session.expires])).toString('base64url');
    const tokens = ['', 'Basic YTpi', `Bearer ${signSession(other, session)}`, `Bearer ${claims}.`];
    for (const authorization of [...tokens, `Bearer ${forged}.${signature}`]) {
      const response = await send(server, { headers: { authorization }, body: 'no JSON' });
      expect([response.status, await response.json()]).toEqual([401, { code: 'unauthorized' }]);
    }
    expect(opened).toEqual([]);
  });

  it('a session that is over', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const of = (expires: number) => ({
      headers: { authorization: `Bearer ${signSession(privateKey, { tenant: 'acme', expires })}` },
      requestContext: { http: { method: 'POST' } },
    });
    const authorize = createAuthorize(publicKey);
    expect(authorize(of(Date.now() + 60_000))).toBe('acme');
    expect(authorize(of(Date.now() - 1))).toBeUndefined();
  });

  it('a body that is too large, before it is parsed', async () => {
    const server = await serve(silent);
    const sized = (bytes: number) => {
      const rest = bytes - JSON.stringify({ message: '' }).length;
      return JSON.stringify({ message: 'x'.repeat(rest) });
    };
    expect((await send(server, { body: sized(MOST_BODY_BYTES + 1) })).status).toBe(413);
    expect((await send(server, { body: 'x'.repeat(MOST_BODY_BYTES + 1) })).status).toBe(413);
    expect(opened).toEqual([]);
    expect((await send(server, { body: sized(MOST_BODY_BYTES) })).status).toBe(200);
  });

  it.each([
    ['no JSON', 'message=hello'],
    ['no object', '"hello"'],
    ['a list', '["hello"]'],
    ['no message', '{}'],
    ['an empty message', '{"message":" "}'],
    ['a message that is no text', '{"message":["hello"]}'],
    ['a tenant', '{"message":"hello","tenant":"other"}'],
    ['bytes that are no UTF-8', Buffer.from([...Buffer.from('{"message":"'), 0xff, ...Buffer.from('"}')])],
  ])('a body with %s', async (_, body) => {
    const response = await send(await serve(silent), { body });
    expect([response.status, await response.json()]).toEqual([400, { code: 'malformed' }]);
    expect(opened).toEqual([]);
  });

  it('another method, and a type that every page may send', async () => {
    const server = await serve(silent);
    expect((await send(server, { method: 'PUT' })).status).toBe(405);
    expect((await send(server, { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    expect(opened).toEqual([]);
  });
});

describe('of what failed examples/stream tells no more than whether to try again', () => {
  const told = async (server: StreamServer) => (await send(server)).text();

  it.each([
    ['authentication_error', 401, 'failed'],
    ['overloaded_error', 529, 'unavailable'],
  ])('%s', async (type, status, code) => {
    const server = await serve(() => {
      throw new ApiRefusal('words of the API', { type, status });
    });
    expect(await told(server)).toBe(`event: error\ndata: {"code":"${code}"}\n\n`);
    expect(ended).toEqual([{ tenant: 'acme', code: type }]);
  });

  it.each([
    [new MemoryError('unavailable', 'words of the store'), 'unavailable', 'unavailable'],
    [new MemoryError('access_denied', 'words of the store'), 'access_denied', 'failed'],
    [new Error('words of the host'), 'internal', 'failed'],
  ])('%s', async (error, logged, code) => {
    const options = optionsOf(async () => {
      throw error;
    });
    expect(await told(stack.use(await startServer(options, 0)))).toBe(
      `event: error\ndata: {"code":"${code}"}\n\n`,
    );
    expect(ended).toEqual([{ tenant: 'acme', code: logged }]);
  });
});

const chromium = await findChromium(process.env);
const isMissing = isNotRun('The page of examples/stream', chromium);

describe.skipIf(isMissing)('the page of examples/stream', { timeout: 120_000 }, () => {
  it('shows the words while the turn is at work', async () => {
    const { play, goOn } = slowly();
    const server = await serve(play);
    const browser = stack.adopt(await launchChromium(chromium), (open) => open.close());
    const page = await browser.newPage();
    await page.goto(`${server.url}#${server.tokenFor('acme')}`);
    await page.getByLabel('Message').fill('When is the launch?');
    await page.getByRole('button').click();
    const shown = page.locator('output');
    await shown.getByText('[memory: ok]').waitFor();
    expect(await shown.textContent()).toBe('I note it.\n[memory: ok]\n');
    expect(ended).toEqual([]);
    goOn();
    await shown.getByText('(answered)').waitFor();
    expect(await shown.textContent()).toBe('I note it.\n[memory: ok]\nIn May.\n(answered)');
  });
});
