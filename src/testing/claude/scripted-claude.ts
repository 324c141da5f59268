import { ApiRefusal } from './api-refusal.ts';
import { readRequest } from './cloud-request.ts';
import { type ScriptedView, viewOf } from './context-edits.ts';
import { eventStreamFrame } from './event-stream.ts';
import { parseMessage, type RequestMessage } from './message-blocks.ts';
import { type MessagesRequest, parseMessagesRequest, type SentRequest } from './messages-request.ts';
import type { Platform } from './models.ts';
import { createPromptCache, type PromptCache } from './prompt-cache.ts';
import {
  eventsOf,
  type NoSummary,
  replyOf,
  type ScriptedEvent,
  type ScriptedPart,
  type ScriptedReply,
  summaryReply,
} from './reply.ts';
import { type SummaryBlock, signedSummary, summaryBlock } from './summary.ts';

/** A request as the script reads it: one that the API would take, its conversation as Claude is shown it. */
export interface ScriptedScene extends SentRequest, ScriptedView {}

/**
 * An answer that is spoilt on its way: `break` cuts the connection, `end` closes it as if all had been said,
 * `overloaded` ends with that error of the API, and `stall` says no more until the request is aborted. An answer that is
 * not streamed breaks before its first byte.
 */
export interface ScriptedFault {
  readonly fault: 'break' | 'end' | 'overloaded' | 'stall';
  /** The number of events of the reply that get through; the others are lost. */
  readonly afterEvents: number;
  readonly part: ScriptedPart;
}

/**
 * A script: parts that are played one after the other, a request each, or a function that decides on Claude's next
 * part.
 */
export type ClaudeScript =
  | readonly ScriptedPart[]
  | ((scene: ScriptedScene) => ScriptedPart | ScriptedFault | Promise<ScriptedPart | ScriptedFault>);

/** The script, and who hears what is said. */
export interface ScriptedClaudeOptions {
  /**
   * Claude's part in each request. An `ApiRefusal` that it throws is the API's answer instead; any other error is an
   * answer of status 500, which the SDK repeats. A list that is at its end is an answer of status 400.
   */
  readonly play: ClaudeScript;
  /**
   * Summarises a conversation that is too long, where the request asks for compaction at a threshold, or one whose
   * request asks for a summary; such a request is none of the script's. What it throws is the answer, as with `play`.
   * `stop` is the stop reason of a request for a summary that made none.
   */
  readonly summarise?: (scene: ScriptedScene) => string | NoSummary;
  /** Hears every reply before it is sent. */
  readonly onReply?: (reply: ScriptedReply) => void;
  /** Context edits that no model has here, such as `compact_20260112`, and `compaction` for compaction on demand. */
  readonly lacks?: readonly string[];
  /** Hears every request before it is judged; names of headers are in lower case. */
  readonly onRequest?: (request: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  }) => void;
}

/**
 * Makes a Claude that follows a script, as a `fetch` for `new Anthropic({ apiKey: 'scripted', fetch })`: no request
 * leaves the process. It plays POST /v1/messages, and the paths of Bedrock and of Google Cloud, whole or streamed, and
 * refuses what the API refuses, as the public documentation says (platform.claude.com; comments name the page), where a
 * conversation with a memory can go wrong. A script knows what the request says. The function remembers which of its
 * replies were unfinished and what its prompt cache holds, and nothing else.
 *
 * The promise rejects with a `TypeError`, as that of `fetch` does, where the connection breaks before an answer that is
 * not streamed, and with the reason of the request's signal.
 */
export function createScriptedClaude(options: ScriptedClaudeOptions): typeof fetch {
  const stage: Stage = {
    options,
    unfinished: new Set(),
    cache: createPromptCache(),
    play: typeof options.play === 'function' ? options.play : inOrder(options.play),
  };
  return async (input, init) => {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const answered = answer(stage, request).catch((error: unknown) => {
      if (error instanceof BrokenConnection) throw new TypeError('fetch failed', { cause: error });
      return refusalOf(error);
    });
    return untilAborted(answered, request.signal);
  };
}

interface Stage {
  readonly options: ScriptedClaudeOptions;
  readonly play: Exclude<ClaudeScript, readonly ScriptedPart[]>;
  /** The replies that may be sent back to be gone on with. */
  readonly unfinished: Set<string>;
  readonly cache: PromptCache;
}

const NO_NEWS = 'Nothing of note.';

class BrokenConnection extends Error {}

function inOrder(parts: readonly ScriptedPart[]): Stage['play'] {
  const left = parts.values();
  return () => {
    const { value, done } = left.next();
    if (done) throw new ApiRefusal('The script is at its end.');
    return value;
  };
}

async function answer({ options, play, unfinished, cache }: Stage, request: Request): Promise<Response> {
  const text = await request.text();
  const headers: Readonly<Record<string, string>> = Object.fromEntries(request.headers);
  options.onRequest?.({ headers, body: text });
  const { body, ...context } = readRequest({ method: request.method, url: request.url, headers }, text);
  const isUnfinished = ({ content }: RequestMessage): boolean => unfinished.has(JSON.stringify(content));
  const parsed = parseMessagesRequest(body, { ...context, isUnfinished, lacks: options.lacks ?? [] });
  const { scene, summary } = sceneOf(parsed, options);
  if (parsed.isSummarised) {
    const made = options.summarise?.(scene) ?? NO_NEWS;
    const reply = summaryReply(typeof made === 'string' ? signedSummary(made) : made, {
      request: parsed,
      view: scene,
    });
    options.onReply?.(reply);
    if (!parsed.stream) return jsonResponse({ status: 200, body: reply });
    return eventsResponse({ reply, fault: undefined, platform: context.platform, signal: request.signal });
  }
  const played = await play(scene);
  const part = 'fault' in played ? played.part : played;
  const used = cache.use(body, scene.inputTokens);
  const reply = replyOf(part, { request: parsed, view: scene, cache: used, summary });
  if (part.stop === 'pause_turn') unfinished.add(contentAsSentBack(reply, parsed.tools));
  options.onReply?.(reply);
  const fault = 'fault' in played ? played : undefined;
  if (parsed.stream) {
    return eventsResponse({ reply, fault, platform: context.platform, signal: request.signal });
  }
  if (fault !== undefined) throw new BrokenConnection();
  return jsonResponse({ status: 200, body: reply });
}

function contentAsSentBack({ role, content }: ScriptedReply, tools: ReadonlyMap<string, string>): string {
  return JSON.stringify(parseMessage({ role, content }, { at: 'reply', tools }).content);
}

/** Shows Claude what context editing leaves, and nothing but a summary of it when even that is too long. */
function sceneOf(
  { edits, prefix: _, isSummarised: __, ...request }: MessagesRequest,
  { summarise }: ScriptedClaudeOptions,
): { readonly scene: ScriptedScene; readonly summary: SummaryBlock | undefined } {
  const scene = { ...request, ...viewOf(request.messages, edits) };
  if (!scene.isFull) return { scene, summary: undefined };
  const made = summarise?.(scene) ?? NO_NEWS;
  if (typeof made !== 'string') return { scene, summary: undefined };
  const summary = summaryBlock(made);
  const left: RequestMessage = {
    role: 'assistant',
    content: [{ type: 'compaction', text: summary.content }],
  };
  return { scene: { ...scene, messages: [left] }, summary };
}

function eventsResponse(sending: {
  readonly reply: ScriptedReply;
  readonly fault: ScriptedFault | undefined;
  readonly platform: Platform;
  readonly signal: AbortSignal;
}): Response {
  const { reply, fault, platform, signal } = sending;
  const type = platform === 'bedrock' ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
  const encode = platform === 'bedrock' ? eventStreamFrame : serverSentEvent;
  const events = eventsOf(reply).slice(0, fault?.afterEvents);
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const sent = fault?.fault === 'overloaded' ? [...events, error] : events;
  return new Response(streamOf(sent.map(encode), { fault: fault?.fault, signal }), {
    headers: { 'content-type': type, 'request-id': 'req_scripted' },
  });
}

/** Gives all bytes in one chunk; a stream that breaks fails when it is read on, and one that stalls when it is aborted. */
function streamOf(
  events: readonly Uint8Array<ArrayBuffer>[],
  { fault, signal }: { readonly fault: ScriptedFault['fault'] | undefined; readonly signal: AbortSignal },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(Buffer.concat(events));
  let isSent = false;
  return new ReadableStream(
    {
      async pull(controller) {
        if (isSent) {
          if (fault === 'stall') await aborted(signal);
          return controller.error(new TypeError('terminated'));
        }
        isSent = true;
        controller.enqueue(bytes);
        if (fault !== 'break' && fault !== 'stall') controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** @throws The reason of the signal, once it is aborted. */
async function aborted(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted();
  return untilAborted(new Promise<never>(() => {}), signal);
}

function serverSentEvent(event: ScriptedEvent): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function jsonResponse(answered: {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}): Response {
  const { status, body, headers } = answered;
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'request-id': 'req_scripted', ...headers },
  });
}

function refusalOf(error: unknown): Response {
  const { status, type, message, details, headers } =
    error instanceof ApiRefusal
      ? error
      : new ApiRefusal('Internal server error', { status: 500, type: 'api_error' });
  const body = {
    type: 'error',
    error: { type, message, ...(details && { details }) },
    request_id: 'req_scripted',
  };
  return jsonResponse({ status, body, headers });
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
