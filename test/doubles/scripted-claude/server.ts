import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { ApiRefusal } from './api-refusal.ts';
import { readRequest } from './cloud-request.ts';
import { type View, viewOf } from './context-edits.ts';
import { eventStreamFrame } from './event-stream.ts';
import { parseMessage, type RequestMessage } from './message-blocks.ts';
import { type MessagesRequest, parseMessagesRequest } from './messages-request.ts';
import type { Platform } from './models.ts';
import { createPromptCache, type PromptCache } from './prompt-cache.ts';
import { type Event, eventsOf, type Part, type Reply, replyOf } from './reply.ts';
import { type SummaryBlock, summaryBlock } from './summary.ts';

/** A request as a player of Claude reads it: `messages` is what is left of the conversation after context editing. */
export type Scene = Omit<MessagesRequest, 'edits' | 'prefix'> & Omit<View, 'messages'>;

/** What becomes of the answer on its way: `break` cuts the connection, `end` closes it as if all had been said. */
export interface Fault {
  readonly fault: 'break' | 'end' | 'overloaded';
  /** So many events of the reply get through; the others are lost. */
  readonly afterEvents: number;
  readonly part: Part;
}

export interface ScriptedClaudeOptions {
  /** Claude's next part. A thrown `ApiRefusal` is the API's answer instead. */
  readonly play: (scene: Scene) => Part | Fault | Promise<Part | Fault>;
  /** What Claude keeps of a conversation that is too long. */
  readonly summarise?: (scene: Scene) => string;
  readonly onReply?: (reply: Reply) => void;
  /** Context edits that this server has for no model. */
  readonly lacks?: readonly string[];
  /** Hears every request before it is judged. */
  readonly onRequest?: (request: {
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }) => void;
  /** A free port of 127.0.0.1 by default. */
  readonly host?: string;
  readonly port?: number;
}

export interface ScriptedClaude extends AsyncDisposable {
  /** Base URL for the SDK's client. */
  readonly url: string;
}

/**
 * Plays the Messages API for the SDK's clients: POST /v1/messages, and the paths of Bedrock and of Google Cloud, whole or
 * streamed, as strict as the public documentation says (platform.claude.com; comments name the page) where a memory
 * conversation can go wrong. What Claude knows is what the request says; the server itself remembers only which of its
 * replies were unfinished, and what its prompt cache holds.
 */
export async function startScriptedClaude(options: ScriptedClaudeOptions): Promise<ScriptedClaude> {
  const memory = { unfinished: new Set<string>(), cache: createPromptCache() };
  const server = createServer((request, response) => {
    answer({ request, response, options, memory }).catch((error: unknown) => sendRefusal(response, error));
  });
  const { host = '127.0.0.1', port: wanted = 0 } = options;
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(wanted, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(exchange: {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly options: ScriptedClaudeOptions;
  readonly memory: { readonly unfinished: Set<string>; readonly cache: PromptCache };
}): Promise<void> {
  const { request, response, options, memory } = exchange;
  const { unfinished, cache } = memory;
  const text = await readText(request);
  options.onRequest?.({ headers: request.headers, body: text });
  const { body, ...context } = readRequest(request, text);
  const isUnfinished = ({ content }: RequestMessage): boolean => unfinished.has(JSON.stringify(content));
  const parsed = parseMessagesRequest(body, { ...context, isUnfinished, lacks: options.lacks ?? [] });
  const { scene, summary } = stage(parsed, options);
  const played = await options.play(scene);
  const part = 'fault' in played ? played.part : played;
  const used = cache.use(body, scene.inputTokens);
  const reply = replyOf(part, { request: parsed, view: scene, cache: used, summary });
  if (part.stop === 'pause_turn') unfinished.add(contentAsSentBack(reply, parsed.tools));
  options.onReply?.(reply);
  const fault = 'fault' in played ? played : undefined;
  if (parsed.stream) sendEvents(response, { reply, fault, platform: context.platform });
  else if ('fault' in played) response.destroy();
  else sendJson(response, { status: 200, body: reply });
}

function contentAsSentBack({ role, content }: Reply, tools: ReadonlyMap<string, string>): string {
  return JSON.stringify(parseMessage({ role, content }, { at: 'reply', tools }).content);
}

/** Shows Claude what context editing leaves, and nothing but a summary of it when even that is too long. */
function stage(
  { edits, prefix: _, ...request }: MessagesRequest,
  { summarise }: ScriptedClaudeOptions,
): { readonly scene: Scene; readonly summary: SummaryBlock | undefined } {
  const scene = { ...request, ...viewOf(request.messages, edits) };
  if (!scene.isFull) return { scene, summary: undefined };
  const summary = summaryBlock(summarise?.(scene) ?? 'Nothing of note.');
  const left: RequestMessage = {
    role: 'assistant',
    content: [{ type: 'compaction', text: summary.content }],
  };
  return { scene: { ...scene, messages: [left] }, summary };
}

function sendEvents(
  response: ServerResponse,
  sending: { readonly reply: Reply; readonly fault: Fault | undefined; readonly platform: Platform },
): void {
  const { reply, fault, platform } = sending;
  const type = platform === 'bedrock' ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
  response.writeHead(200, { 'content-type': type, 'request-id': 'req_scripted' });
  const encode = platform === 'bedrock' ? eventStreamFrame : serverSentEvent;
  const events = eventsOf(reply).slice(0, fault?.afterEvents);
  const sent = Buffer.concat(events.map((event) => encode(event)));
  if (fault?.fault === 'break') {
    response.write(sent, () => setTimeout(() => response.destroy(), 10));
  } else if (fault?.fault === 'overloaded') {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    response.end(Buffer.concat([sent, encode(error)]));
  } else {
    response.end(sent);
  }
}

function serverSentEvent(event: Event): Uint8Array {
  return new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function sendJson(
  response: ServerResponse,
  answered: {
    readonly status: number;
    readonly body: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  },
): void {
  const { status, body, headers } = answered;
  response.writeHead(status, {
    'content-type': 'application/json',
    'request-id': 'req_scripted',
    ...headers,
  });
  response.end(JSON.stringify(body));
}

function sendRefusal(response: ServerResponse, error: unknown): void {
  const { status, type, message, details, headers } =
    error instanceof ApiRefusal
      ? error
      : new ApiRefusal('Internal server error', { status: 500, type: 'api_error' });
  const body = {
    type: 'error',
    error: { type, message, ...(details && { details }) },
    request_id: 'req_scripted',
  };
  sendJson(response, { status, body, headers });
}
