import type { IncomingHttpHeaders } from 'node:http';
import { ApiRefusal, flag, list, parseJson, record, text, wholeNumber } from './api-refusal.ts';
import { type ContextEdits, checkSummaries, parseBetas, parseContextManagement } from './context-edits.ts';
import { parseMessage, type RequestMessage } from './message-blocks.ts';
import { checkOrder, checkToolResults } from './message-order.ts';

export interface MessagesRequest {
  readonly model: string;
  readonly system: string;
  readonly stream: boolean;
  /** The type of each tool by its name. */
  readonly tools: ReadonlyMap<string, string>;
  /** The whole conversation as it was sent. */
  readonly messages: readonly RequestMessage[];
  readonly betas: ReadonlySet<string>;
  readonly edits: ContextEdits;
}

const FIELDS = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'context_management',
  'metadata',
  'stop_sequences',
  'thinking',
  'cache_control',
  'temperature',
  'top_k',
  'top_p',
];

/** Throws `ApiRefusal` for a request without a key or a version. */
export function checkHeaders(headers: IncomingHttpHeaders): void {
  if (!headers['x-api-key'] && !/^Bearer \S/.test(headers.authorization ?? '')) {
    throw new ApiRefusal('x-api-key header is required', { status: 401, type: 'authentication_error' });
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(String(headers['anthropic-version']))) {
    throw new ApiRefusal('anthropic-version: header is required');
  }
}

/**
 * Judges the body of POST /v1/messages as strictly as the API does, where a memory conversation can go wrong.
 * `isUnfinished` knows the replies that were handed out unfinished and may be sent back to be gone on with.
 */
export function parseMessagesRequest(
  body: string,
  options: { readonly beta?: unknown; readonly isUnfinished?: (message: RequestMessage) => boolean } = {},
): MessagesRequest {
  const request = record(parseJson(body), 'body');
  if (request['thread'] !== undefined) refuseThread();
  const extra = Object.keys(request).find((field) => !FIELDS.includes(field));
  if (extra !== undefined) throw new ApiRefusal(`${extra}: Extra inputs are not permitted`);
  const model = text(request['model'], 'model');
  wholeNumber(request['max_tokens'], { at: 'max_tokens', least: 1 });
  const betas = parseBetas(options.beta);
  const edits = parseContextManagement(request['context_management'], betas);
  const tools = parseTools(list(request['tools'] ?? [], 'tools'));
  const messages = list(request['messages'], 'messages').map((message, i) =>
    parseMessage(message, { at: `messages.${i}`, tools }),
  );
  checkOrder(messages, options.isUnfinished ?? (() => false));
  checkToolResults(messages);
  checkSummaries(messages, betas);
  const system = parseSystem(request['system']);
  return { model, system, stream: flag(request['stream'], 'stream'), tools, messages, betas, edits };
}

/** In these words a server without message threads makes the SDK send the whole conversation instead. */
function refuseThread(): never {
  throw new ApiRefusal('thread: not supported here', {
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

/** The types of the tools by name: the memory tool, tools of the caller, and the web search that the API runs itself. */
function parseTools(tools: readonly unknown[]): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  for (const [i, value] of tools.entries()) {
    const at = `tools.${i}`;
    const tool = record(value, at);
    const name = text(tool['name'], `${at}.name`);
    const type = text(tool['type'] ?? 'custom', `${at}.type`);
    if (type === 'memory_20250818' || type === 'web_search_20250305') {
      const fixed = type.slice(0, type.lastIndexOf('_'));
      if (name !== fixed) throw new ApiRefusal(`${at}.name: Input should be '${fixed}'`);
      record(tool, at, ['type', 'name', 'cache_control', 'max_uses']);
    } else if (type === 'custom') {
      record(tool, at, ['type', 'name', 'description', 'input_schema', 'cache_control']);
      record(tool['input_schema'], `${at}.input_schema`);
    } else {
      throw new ApiRefusal(`${at}.type: not a known type of tool`);
    }
    if (types.has(name)) throw new ApiRefusal('tools: Tool names must be unique.');
    types.set(name, type);
  }
  return types;
}

function parseSystem(system: unknown): string {
  if (system === undefined || typeof system === 'string') return system ?? '';
  const blocks = list(system, 'system').map((value, i) => {
    const block = record(value, `system.${i}`, ['type', 'text', 'cache_control', 'citations']);
    return text(block['text'], `system.${i}.text`);
  });
  return blocks.join('\n\n');
}
