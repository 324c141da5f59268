import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Anthropic from '@anthropic-ai/sdk';
import { type ScriptedClaude, startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import type { ScriptedPart } from '../../src/testing/claude/reply.ts';
import type {
  ScriptedClaudeOptions,
  ScriptedFault,
  ScriptedScene,
} from '../../src/testing/claude/scripted-claude.ts';

/** Claude's part in one request: a part, a fault, a refusal to throw, or a function that makes one of the scene. */
export type Played =
  | ScriptedPart
  | ScriptedFault
  | Error
  | ((scene: ScriptedScene) => ScriptedPart | ScriptedFault | Promise<ScriptedPart | ScriptedFault>);

/** One request as it was sent. */
export interface Sent {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>> & { readonly messages: readonly unknown[] };
}

export interface PlayedClaude extends AsyncDisposable {
  readonly url: string;
  /** The SDK's own client; it repeats nothing unless told so. */
  client(options?: { readonly maxRetries?: number }): Anthropic;
  readonly sent: readonly Sent[];
  /** The scenes that Claude was shown, one for each request that was taken. */
  readonly scenes: readonly ScriptedScene[];
}

/** Starts a Claude that plays its parts one after the other, a request each, and has nothing to say after the last. */
export async function playClaude(
  parts: readonly Played[],
  options: Pick<ScriptedClaudeOptions, 'summarise' | 'lacks'> = {},
): Promise<PlayedClaude> {
  const sent: Sent[] = [];
  const scenes: ScriptedScene[] = [];
  const claude = await startScriptedClaude({
    ...options,
    onRequest: ({ headers, body }) => sent.push({ headers, body: JSON.parse(body) as Sent['body'] }),
    play(scene) {
      const part = parts[scenes.push(scene) - 1] ?? new Error('The script is at its end.');
      if (part instanceof Error) throw part;
      return typeof part === 'function' ? part(scene) : part;
    },
  });
  return {
    url: claude.url,
    client: ({ maxRetries = 0 } = {}) => new Anthropic({ apiKey: 'none', baseURL: claude.url, maxRetries }),
    sent,
    scenes,
    [Symbol.asyncDispose]: () => claude[Symbol.asyncDispose](),
  };
}

/** Makes a part in which Claude sends memory commands, all at once. */
export function commands(...inputs: readonly unknown[]): ScriptedPart {
  return { calls: inputs.map((input) => ({ name: 'memory', input })) };
}

/** Finds the results in the last message that Claude was shown. */
export function lastResults({
  messages,
}: ScriptedScene): readonly { readonly text: string; readonly isError: boolean }[] {
  return (messages.at(-1)?.content ?? []).flatMap((block) =>
    block.type === 'tool_result' ? [{ text: block.text, isError: block.isError }] : [],
  );
}

/** The result of one tool call. */
export interface ToolResult {
  readonly content: unknown;
  readonly is_error?: boolean;
}

export interface ScriptedMessages extends ScriptedClaude {
  /** The results of every assistant turn so far, in the order of its calls. */
  readonly results: readonly (readonly ToolResult[])[];
}

/**
 * Starts the Messages API on a free port of 127.0.0.1, with an assistant that calls the memory tool: `turns` holds the
 * inputs of each of its turns, all calls of one turn made at once. After the last it ends its turn.
 */
export async function startScriptedMessages(
  turns: readonly (readonly unknown[])[],
): Promise<ScriptedMessages> {
  const results: (readonly ToolResult[])[] = [];
  let replies = 0;
  let sent = '';
  const claude = await startScriptedClaude({
    onRequest: ({ body }) => {
      sent = body;
    },
    play() {
      const { messages } = JSON.parse(sent) as {
        readonly messages: readonly { readonly content: string | readonly ToolResult[] }[];
      };
      const last = messages.at(-1)?.content;
      if (replies > 0 && typeof last === 'object') results.push(last);
      const calls = (turns[replies++] ?? []).map((input) => ({ name: 'memory', input }));
      return calls.length > 0 ? { calls } : { say: 'Done.' };
    },
  });
  return { url: claude.url, results, [Symbol.asyncDispose]: () => claude[Symbol.asyncDispose]() };
}

/** A call of a function, or the words that end the turn. */
type Output = { readonly name: string; readonly arguments: object } | { readonly say: string };

export interface ScriptedResponses extends AsyncDisposable {
  /** Base URL for OpenAI's client. */
  readonly url: string;
  /** The bodies of the requests. */
  readonly sent: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Starts OpenAI's Responses API on a free port of 127.0.0.1: it answers with one list of outputs after the other. As
 * strict as the API where tools can go wrong: a schema in strict mode names every field as required and allows no
 * others, and each call has its output, a text or parts.
 */
export async function startScriptedResponses(
  script: readonly (readonly Output[])[],
): Promise<ScriptedResponses> {
  const sent: Readonly<Record<string, unknown>>[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    sent.push(body);
    const complaint = complaintOf(request.method, request.url, body);
    response.writeHead(complaint ? 400 : 200, { 'content-type': 'application/json' });
    const answer = complaint
      ? { error: { type: 'invalid_request_error', message: complaint, code: null, param: null } }
      : responseOf(sent.length, script[sent.length - 1] ?? []);
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Item {
  readonly type?: string;
  readonly call_id?: string;
  readonly output?: string | readonly { readonly type: string; readonly image_url?: string }[];
}

interface Body {
  readonly input: readonly Item[];
  readonly tools: readonly {
    readonly type: string;
    readonly name: string;
    readonly strict: boolean;
    readonly parameters: {
      readonly properties: Readonly<Record<string, object>>;
      readonly required: readonly string[];
      readonly additionalProperties: unknown;
    };
  }[];
}

function complaintOf(method: string | undefined, url: string | undefined, body: Body): string | undefined {
  if (method !== 'POST' || url !== '/v1/responses') return `Invalid URL (${method} ${url})`;
  for (const { type, name, strict, parameters } of body.tools) {
    if (type !== 'function' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return `Invalid tool ${name}`;
    const { properties, required, additionalProperties } = parameters;
    const isClosed = additionalProperties === false && required.length === Object.keys(properties).length;
    if (strict && !isClosed)
      return `Invalid schema for function '${name}': not closed, as strict mode wants it`;
  }
  const calls = body.input.filter(({ type }) => type === 'function_call').map((item) => item.call_id);
  const outputs = body.input.filter(({ type }) => type === 'function_call_output');
  const missing = calls.find((id) => outputs.filter((item) => item.call_id === id).length !== 1);
  if (missing !== undefined) return `No tool output found for function call ${missing}.`;
  const parts = outputs.flatMap(({ output }) =>
    typeof output === 'string' ? [] : (output ?? [{ type: '' }]),
  );
  const isPart = ({ type, image_url: url = '' }: (typeof parts)[number]): boolean =>
    type === 'input_text' || (type === 'input_image' && /^data:image\/[a-z]+;base64,[\w+/=]+$/.test(url));
  return parts.every(isPart) ? undefined : 'Invalid value in the output of a function call';
}

function responseOf(n: number, outputs: readonly Output[]): object {
  const output = outputs.map((each, i) =>
    'say' in each
      ? {
          type: 'message',
          id: `msg_${n}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: each.say, annotations: [] }],
        }
      : {
          type: 'function_call',
          id: `fc_${n}_${i}`,
          call_id: `call_${n}_${i}`,
          name: each.name,
          arguments: JSON.stringify(each.arguments),
          status: 'completed',
        },
  );
  return {
    id: `resp_${n}`,
    object: 'response',
    created_at: 0,
    status: 'completed',
    model: 'scripted',
    output,
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  };
}
