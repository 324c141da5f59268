// A turn whose words reach the browser as Claude says them: server-sent events in the answer of a POST.
import type { LambdaFunctionURLEvent, LambdaFunctionURLEventWithIAMAuthorizer } from 'aws-lambda';
import { MemoryError, type MemoryPool, type PoolOpenOptions } from 'sealed-memory';
import { runTurn, type TurnOutcome, type TurnRequest } from 'sealed-memory/agent';

/** The part of a request that `authorize` sees: all but the body, so that no tenant can come from there. */
export interface Unread extends Pick<LambdaFunctionURLEvent, 'headers'> {
  readonly requestContext: {
    readonly http: { readonly method: string };
    /** The caller, where IAM guards the URL. */
    readonly authorizer?: LambdaFunctionURLEventWithIAMAuthorizer['requestContext']['authorizer'];
  };
}

/** A request as a function URL passes it on. */
export type UrlEvent = Unread & Pick<LambdaFunctionURLEvent, 'body' | 'isBase64Encoded'>;

/** How a turn ended, for the log: no words, no names of files. */
export interface Ended {
  readonly tenant: string;
  /** The outcome of the turn, or the code of what failed. */
  readonly code: string;
}

export interface StreamOptions {
  readonly pool: Pick<MemoryPool, 'open'>;
  readonly client: () => Promise<TurnRequest['client']>;
  readonly model: string;
  /** Tells whose memory the sender of a request may use; undefined, or a failure, refuses the request. */
  readonly authorize: (request: Unread) => string | undefined | Promise<string | undefined>;
  /** Gives the credentials that reach one tenant alone; absent: those of the process. */
  readonly credentials?: (tenant: string) => PoolOpenOptions['credentials'];
  readonly log: (ended: Ended) => void;
}

/** The most bytes of a body; a longer one is not parsed. */
export const MOST_BODY_BYTES = 16 * 1024;

type Send = (event: 'text' | 'tool' | 'end' | 'error', data: object) => void;

/**
 * Makes the handler of a function URL, in terms of the web: the answer's body is cancelled when the client is gone,
 * which ends the turn, as `signal` does.
 */
export function createTurnStream(
  options: StreamOptions,
): (event: UrlEvent, signal: AbortSignal) => Promise<Response> {
  return async ({ body = '', isBase64Encoded, ...request }, signal) => {
    const tenant = await tenantOf(options, request);
    if (tenant === undefined) return refusal(401, 'unauthorized');
    if (request.requestContext.http.method !== 'POST') return refusal(405, 'method');
    // A page of another origin can send such a type only where CORS lets it.
    if (!/^application\/json(;|$)/.test(request.headers['content-type'] ?? '')) return refusal(415, 'type');
    const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
    if (bytes.length > MOST_BODY_BYTES) return refusal(413, 'too_large');
    const message = readMessage(bytes);
    if (message === undefined) return refusal(400, 'malformed');
    const events = eventsOf((send, gone) =>
      answer(options, { tenant, message, signal: AbortSignal.any([signal, gone]), send }),
    );
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };
    return new Response(events, { headers });
  };
}

async function tenantOf({ authorize }: StreamOptions, request: Unread): Promise<string | undefined> {
  try {
    return await authorize(request);
  } catch {
    return undefined;
  }
}

/** Reads `{ "message": "…" }`; undefined for anything else. */
function readMessage(bytes: Uint8Array): string | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof value !== 'object' || value === null) return undefined;
    const { message, ...others } = value as Readonly<Record<string, unknown>>;
    if (typeof message !== 'string' || message.trim() === '') return undefined;
    return Object.keys(others).length === 0 ? message : undefined;
  } catch {
    return undefined;
  }
}

async function answer(
  { pool, client, model, credentials, log }: StreamOptions,
  turn: {
    readonly tenant: string;
    readonly message: string;
    readonly signal: AbortSignal;
    readonly send: Send;
  },
): Promise<void> {
  const { tenant, message, signal, send } = turn;
  try {
    await using memory = await pool.open(tenant, { credentials: credentials?.(tenant) });
    const outcome = await runTurn({
      client: await client(),
      memory,
      model,
      messages: [{ role: 'user', content: message }],
      signal,
      onText: (text) => send('text', { text }),
      onToolUse: ({ name, outcome }) => send('tool', { name, outcome }),
    });
    log({ tenant, code: outcome.outcome === 'failed' ? outcome.code : outcome.outcome });
    send(...told(outcome));
  } catch (error) {
    const isMemorys = error instanceof MemoryError;
    log({ tenant, code: isMemorys ? error.code : 'internal' });
    send('error', { code: isMemorys && error.retry === 'later' ? 'unavailable' : 'failed' });
  }
}

/** The last event. A browser learns whether to try again; why a turn failed is for the log. */
function told(turn: TurnOutcome): Parameters<Send> {
  switch (turn.outcome) {
    case 'answered':
    case 'truncated':
      return ['end', { outcome: turn.outcome, text: turn.text }];
    case 'refused':
      return ['end', { outcome: turn.outcome, text: '' }];
    case 'interrupted':
      return ['error', { code: 'timeout' }];
    case 'failed':
      return ['error', { code: turn.retry === 'later' ? 'unavailable' : 'failed' }];
  }
}

/** The events that `run` sends, as a body. The signal says that nobody reads it any more. */
function eventsOf(run: (send: Send, gone: AbortSignal) => Promise<void>): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  return new ReadableStream({
    start(controller) {
      const send: Send = (event, data) => {
        if (gone.signal.aborted) return;
        controller.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
      };
      run(send, gone.signal).then(
        () => gone.signal.aborted || controller.close(),
        (error) => controller.error(error),
      );
    },
    cancel: () => gone.abort(),
  });
}

function refusal(status: number, code: string): Response {
  return Response.json({ code }, { status, headers: { 'cache-control': 'no-store' } });
}
