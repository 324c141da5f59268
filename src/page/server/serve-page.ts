import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { misconfigured } from '../../errors.ts';
import { letOthersRun } from '../../time.ts';
import { PLACES } from '../protocol.ts';
import { failureLine, type Questions } from './answer-questions.ts';
import type { ServerBounds } from './bounded-server.ts';
import { createGuard, type Guard, type RequestRefusal } from './guard.ts';
import { type LocalServer, listenOnLoopback } from './loopback.ts';
import type { GivenFields } from './read-fields.ts';

/** A file of the page itself. */
export interface Asset {
  readonly type: string;
  readonly body: Uint8Array;
}

interface PageOptions {
  /** 0: any that is free. */
  readonly port: number;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly questions: Questions;
  /** The most bytes of one question. */
  readonly maxQuestionBytes: number;
  /** The address is good for one browser, once. */
  readonly onListening: (address: string) => Promise<void>;
  /** Called when a browser has exchanged the address for its cookie. */
  readonly onOpened?: (() => void) | undefined;
  /** Bounds that replace the usual ones. */
  readonly bounds?: Partial<ServerBounds> | undefined;
  /** Ends the serving; what is still running is cancelled. */
  readonly signal: AbortSignal;
}

const BOUNDS = { connections: 64, headersMs: 5_000, bodyMs: 10_000, idleMs: 5_000 };
/** Room for all questions at once, beside one of the largest. */
const QUESTIONS_BYTES = 16_777_216;
/** The longest body of a request for a cookie. Its sender has proved nothing yet. */
const MAX_SESSION_BYTES = 1_024;

/**
 * The headers of each answer: the page has no script, style, picture or request but its own, and no text of a memory
 * can become one.
 */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/**
 * Serves the page to one browser of this machine until the signal fires.
 *
 * @throws MemoryError `misconfigured` when the port cannot be had.
 */
export async function servePage(options: PageOptions): Promise<void> {
  const { assets, questions, maxQuestionBytes, onListening, onOpened, bounds, signal } = options;
  const bodiesBytes = QUESTIONS_BYTES + maxQuestionBytes;
  const place = { port: options.port, option: '--port' };
  const local = await listenOnLoopback({ ...BOUNDS, bodiesBytes, ...bounds }, place);
  const { server, readBody } = local;
  const guard = createGuard(local.port);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const asked = { request, response, guard, readBody };
    const served = { ...asked, assets, questions, maxQuestionBytes, onOpened, signal };
    // A browser that hung up needs no answer.
    serve(served).catch(() => response.destroy());
  });
  try {
    await onListening(`${local.origin}/#${guard.token}`);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    local.close();
  }
}

interface Served
  extends Pick<PageOptions, 'assets' | 'questions' | 'maxQuestionBytes' | 'onOpened' | 'signal'> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly guard: Guard;
  readonly readBody: LocalServer['readBody'];
}

async function serve(served: Served): Promise<void> {
  const { request, response, guard, assets, maxQuestionBytes, onOpened } = served;
  const { method, url = '' } = request;
  const refusal = guard.refusalOf(request);
  if (refusal !== undefined) return refuse(response, refusal);
  if (method === 'GET') {
    const asset = assets.get(url);
    if (asset === undefined) return refuse(response, NOTHING);
    response.writeHead(200, { ...HEADERS, 'content-type': asset.type }).end(asset.body);
    return;
  }
  if (method !== 'POST') return refuse(response, { status: 405, message: 'GET and POST are served.' });
  if (url !== PLACES.session && !url.startsWith(PLACES.questions)) return refuse(response, NOTHING);
  if (url.startsWith(PLACES.questions) && !guard.isKnown(request.headers)) {
    return refuse(response, { status: 401, message: 'This browser was not given the address.' });
  }
  const input = await readObject(served, url === PLACES.session ? MAX_SESSION_BYTES : maxQuestionBytes);
  if ('status' in input) return refuse(response, input);
  if (url === PLACES.session) {
    const cookie = guard.exchange(input.value['token']);
    if (cookie === undefined) return refuse(response, { status: 401, message: 'The address was used.' });
    response.writeHead(204, { ...HEADERS, 'set-cookie': cookie }).end();
    onOpened?.();
    return;
  }
  await answer(served, input.value);
}

const NOTHING: RequestRefusal = { status: 404, message: 'There is nothing here.' };

function refuse(response: ServerResponse, { status, message }: RequestRefusal): void {
  // The body of the request stays unread, so the connection cannot be used again.
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain', connection: 'close' });
  response.end(`${message}\n`);
}

/** Reads the JSON object that a request carries. */
async function readObject(
  { request, response, readBody }: Served,
  most: number,
): Promise<{ readonly value: GivenFields } | RequestRefusal> {
  if (request.headers['content-type'] !== 'application/json') {
    return { status: 415, message: 'Questions are asked in JSON.' };
  }
  const body = await readBody({ request, response }, most);
  if ('status' in body) return body;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { value: value as GivenFields };
    }
  } catch {}
  return { status: 400, message: 'The question is no JSON object.' };
}

async function answer({ request, response, questions, signal }: Served, input: GivenFields): Promise<void> {
  const name = request.url?.slice(PLACES.questions.length) ?? '';
  const question = Object.hasOwn(questions, name) ? questions[name] : undefined;
  if (question === undefined) return refuse(response, NOTHING);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, { ...HEADERS, 'content-type': 'application/x-ndjson; charset=utf-8' });
  const asking = {
    signal: AbortSignal.any([signal, gone.signal]),
    async send(line: object) {
      // Node sends what was written only when the event loop turns.
      if (response.write(`${JSON.stringify(line)}\n`)) await letOthersRun();
      else await once(response, 'drain', { signal: gone.signal });
    },
  };
  const last = await question(input, asking).catch((error: unknown) => failureLine(error, name, input));
  response.end(`${JSON.stringify(last)}\n`);
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Reads the page's own files, as `infra/bundle-page.ts` writes them, by the paths of their URLs.
 *
 * @throws MemoryError `misconfigured` where they are not there.
 */
export function readAssets(folder: URL): ReadonlyMap<string, Asset> {
  try {
    const assets = new Map(
      readdirSync(folder).map((name) => [
        name === 'index.html' ? '/' : `/${name}`,
        {
          type: TYPES[extname(name)] ?? 'application/octet-stream',
          body: readFileSync(new URL(name, folder)),
        },
      ]),
    );
    const missing = ['/', '/page.js', '/app.js', '/page.css'].find((path) => !assets.has(path));
    if (missing !== undefined) throw new Error(`There is no ${missing}`);
    return assets;
  } catch (error) {
    throw misconfigured('The files of the page are missing: "npm run build" makes them.', error);
  }
}
