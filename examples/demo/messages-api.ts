import type { IncomingHttpHeaders } from 'node:http';

/** A block of a message, as far as the demo's Claude understands them. */
type RequestBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly input: Readonly<Record<string, unknown>> }
  | {
      readonly type: 'tool_result';
      readonly toolUseId: string;
      readonly text: string;
      readonly isError: boolean;
    };

export interface RequestMessage {
  readonly role: 'user' | 'assistant';
  readonly content: readonly RequestBlock[];
}

export interface MessagesRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly RequestMessage[];
}

/** A refusal in the shape of the API: status, error type, message. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly status: number;
  readonly type: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    message: string,
    options: {
      readonly status?: number;
      readonly type?: string;
      readonly details?: Readonly<Record<string, unknown>>;
    } = {},
  ) {
    super(message);
    this.status = options.status ?? 400;
    this.type = options.type ?? 'invalid_request_error';
    this.details = options.details;
  }
}

/** Throws `ApiRefusal` for a request without a key or a version. */
export function checkHeaders(headers: IncomingHttpHeaders): void {
  if (!headers['x-api-key'] && !/^Bearer \S/.test(headers.authorization ?? '')) {
    throw new ApiRefusal('x-api-key header is required', { status: 401, type: 'authentication_error' });
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(String(headers['anthropic-version']))) {
    throw new ApiRefusal('anthropic-version: header is required');
  }
}

/** Judges the body of POST /v1/messages as strictly as the API does, where a memory conversation can go wrong. */
export function parseMessagesRequest(body: string): MessagesRequest {
  const request = record(parseJson(body), 'body');
  if (request['thread'] !== undefined) refuseThread();
  const model = text(request['model'], 'model');
  const maxTokens = request['max_tokens'];
  if (!Number.isInteger(maxTokens) || Number(maxTokens) < 1) {
    throw new ApiRefusal('max_tokens: Field required, a whole number greater than 0');
  }
  checkMemoryTool(list(request['tools'] ?? [], 'tools'));
  const messages = list(request['messages'], 'messages').map((message, i) =>
    parseMessage(message, `messages.${i}`),
  );
  checkOrder(messages);
  checkToolResults(messages);
  return { model, stream: request['stream'] === true, messages };
}

/** In these words a server without message threads makes the SDK send the whole conversation instead. */
function refuseThread(): never {
  throw new ApiRefusal('thread: not supported here', {
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

function checkMemoryTool(tools: readonly unknown[]): void {
  const memory = tools
    .map((tool, i) => record(tool, `tools.${i}`))
    .filter((tool) => tool['name'] === 'memory');
  if (memory.length !== 1 || memory[0]?.['type'] !== 'memory_20250818') {
    throw new ApiRefusal('tools: one tool of type memory_20250818 with the name memory is required');
  }
}

function parseMessage(value: unknown, at: string): RequestMessage {
  const { role, content } = record(value, at);
  if (role !== 'user' && role !== 'assistant') {
    throw new ApiRefusal(`${at}.role: Input should be 'user' or 'assistant'`);
  }
  const blocks =
    typeof content === 'string' ? [{ type: 'text', text: content }] : list(content, `${at}.content`);
  if (blocks.length === 0) throw new ApiRefusal(`${at}: all messages must have non-empty content`);
  return { role, content: blocks.map((block, i) => parseBlock(block, { role, at: `${at}.content.${i}` })) };
}

function parseBlock(
  value: unknown,
  { role, at }: { readonly role: string; readonly at: string },
): RequestBlock {
  const block = record(value, at);
  switch (`${role} ${block['type']}`) {
    case 'user text':
    case 'assistant text':
      return { type: 'text', text: filledText(block['text'], `${at}.text`) };
    case 'assistant tool_use':
      if (text(block['name'], `${at}.name`) !== 'memory') {
        throw new ApiRefusal(`${at}.name: no tool of this name was called`);
      }
      return {
        type: 'tool_use',
        id: text(block['id'], `${at}.id`),
        input: record(block['input'], `${at}.input`),
      };
    case 'user tool_result':
      return {
        type: 'tool_result',
        toolUseId: text(block['tool_use_id'], `${at}.tool_use_id`),
        text: resultText(block['content'], `${at}.content`),
        isError: flag(block['is_error'], `${at}.is_error`),
      };
    default:
      throw new ApiRefusal(`${at}: unexpected type in the message of the ${role}`);
  }
}

function resultText(content: unknown, at: string): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  const texts = list(content, at).map((value, i) => {
    const block = record(value, `${at}.${i}`);
    if (block['type'] === 'image') return '[image]';
    if (block['type'] !== 'text') throw new ApiRefusal(`${at}.${i}: unexpected type in a tool result`);
    return filledText(block['text'], `${at}.${i}.text`);
  });
  return texts.join('\n');
}

function checkOrder(messages: readonly RequestMessage[]): void {
  if (messages.length === 0) throw new ApiRefusal('messages: at least one message is required');
  messages.forEach(({ role }, i) => {
    if (role !== (i % 2 === 0 ? 'user' : 'assistant')) {
      throw new ApiRefusal(`messages.${i}: roles must alternate, beginning with "user"`);
    }
  });
  if (messages.at(-1)?.role !== 'user') {
    throw new ApiRefusal('messages: the conversation must end with a user message');
  }
}

/** Every call is answered once, at the beginning of the very next message, and nothing else is answered. */
function checkToolResults(messages: readonly RequestMessage[]): void {
  const seen = new Set<string>();
  let open = new Set<string>();
  messages.forEach(({ content }, i) => {
    const calls = content.filter((block) => block.type === 'tool_use').map(({ id }) => id);
    const results = content.filter((block) => block.type === 'tool_result').map(({ toolUseId }) => toolUseId);
    for (const id of results) {
      if (!open.delete(id)) {
        throw new ApiRefusal(
          `messages.${i}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      }
    }
    const leading = content.slice(0, results.length);
    if (open.size > 0 || leading.some(({ type }) => type !== 'tool_result')) {
      throw new ApiRefusal(
        `messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(', ')}`,
      );
    }
    open = new Set(calls);
    if (open.size < calls.length || calls.some((id) => seen.has(id))) {
      throw new ApiRefusal(`messages.${i}: \`tool_use\` ids must be unique`);
    }
    for (const id of calls) seen.add(id);
  });
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new ApiRefusal('The request body is not valid JSON');
  }
}

function record(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiRefusal(`${at}: Input should be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function list(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ApiRefusal(`${at}: Input should be a valid list`);
  return value;
}

function text(value: unknown, at: string): string {
  if (typeof value !== 'string' || value === '')
    throw new ApiRefusal(`${at}: Input should be a valid string`);
  return value;
}

function filledText(value: unknown, at: string): string {
  if (text(value, at).trim() === '')
    throw new ApiRefusal(`${at}: text content blocks must contain non-whitespace text`);
  return String(value);
}

function flag(value: unknown, at: string): boolean {
  if (value !== undefined && typeof value !== 'boolean')
    throw new ApiRefusal(`${at}: Input should be a valid boolean`);
  return value ?? false;
}
