import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { BetaTextBlock, BetaToolUseBlock } from '@anthropic-ai/sdk/resources/beta';
import { readDialogue } from './dialogue.ts';
import { ApiRefusal, checkHeaders, type MessagesRequest, parseMessagesRequest } from './messages-api.ts';
import { nextTurn } from './script.ts';

/** What the SDK needs of a reply. */
export interface Reply {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly (
    | Pick<BetaTextBlock, 'type' | 'text'>
    | Pick<BetaToolUseBlock, 'type' | 'id' | 'name' | 'input'>
  )[];
  readonly stop_reason: 'end_turn' | 'tool_use';
  readonly stop_sequence: null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

export interface ScriptedClaude extends AsyncDisposable {
  /** Base URL for the SDK's client. */
  readonly url: string;
}

/**
 * Plays Claude on a free port of 127.0.0.1: POST /v1/messages, whole or streamed. It keeps nothing between two
 * requests, as the API keeps nothing: what it knows is what the request says. `onReply` hears what it sends.
 */
export async function startScriptedClaude(
  options: { readonly onReply?: (reply: Reply) => void } = {},
): Promise<ScriptedClaude> {
  const server = createServer((request, response) => {
    answer(request).then(
      ({ stream, reply }) => {
        options.onReply?.(reply);
        stream ? sendEvents(response, reply) : sendJson(response, { status: 200, body: reply });
      },
      (error: unknown) => sendRefusal(response, error),
    );
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
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

async function answer(
  request: IncomingMessage,
): Promise<{ readonly stream: boolean; readonly reply: Reply }> {
  const body = await readText(request);
  if (request.method !== 'POST' || request.url?.split('?')[0] !== '/v1/messages') {
    throw new ApiRefusal('Not Found', { status: 404, type: 'not_found_error' });
  }
  checkHeaders(request.headers);
  const parsed = parseMessagesRequest(body);
  return { stream: parsed.stream, reply: play(parsed) };
}

function play({ model, messages }: MessagesRequest): Reply {
  const { say, commands = [] } = nextTurn(readDialogue(messages));
  const calls = commands.map((input, i) => ({
    type: 'tool_use' as const,
    id: `toolu_scripted_${messages.length}_${i}`,
    name: 'memory',
    input,
  }));
  return {
    id: `msg_scripted_${messages.length}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: say }, ...calls],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

function sendJson(
  response: ServerResponse,
  { status, body }: { readonly status: number; readonly body: unknown },
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_scripted' });
  response.end(JSON.stringify(body));
}

function sendRefusal(response: ServerResponse, error: unknown): void {
  const known = error instanceof ApiRefusal;
  const { status, type, message, details } = known
    ? error
    : { status: 500, type: 'api_error', message: 'Internal server error', details: undefined };
  const body = {
    type: 'error',
    error: { type, message, ...(details && { details }) },
    request_id: 'req_scripted',
  };
  sendJson(response, { status, body });
}

/** The reply as server-sent events, every block in one delta. */
function sendEvents(
  response: ServerResponse,
  { content, stop_reason, stop_sequence, ...message }: Reply,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_scripted' });
  const send = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  send('message_start', { message: { ...message, content: [], stop_reason: null, stop_sequence: null } });
  content.forEach((block, index) => {
    const isText = block.type === 'text';
    send('content_block_start', {
      index,
      content_block: isText ? { ...block, text: '' } : { ...block, input: {} },
    });
    send('content_block_delta', {
      index,
      delta: isText
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    });
    send('content_block_stop', { index });
  });
  send('message_delta', { delta: { stop_reason, stop_sequence }, usage: message.usage });
  send('message_stop', {});
  response.end();
}
