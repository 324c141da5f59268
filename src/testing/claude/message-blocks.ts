import { ApiRefusal, filledText, flag, type JsonObject, list, record, text } from './api-refusal.ts';
import { signedSummaryOf, summaryOf } from './summary.ts';

const MEDIA_TYPES: readonly unknown[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A block of a message, as far as a script has a use for it. */
export type RequestBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
    }
  | {
      readonly type: 'tool_result';
      readonly toolUseId: string;
      readonly text: string;
      readonly isError: boolean;
    }
  /** A summary of everything before it. */
  | {
      readonly type: 'compaction';
      readonly text: string;
      /** Compaction on demand made it. */
      readonly isSigned?: true;
    }
  /** A tool that the API runs itself: what it was asked, or what came of it. */
  | {
      readonly type: 'server_tool';
      readonly text: string;
      readonly id: string;
      readonly part: 'call' | 'result';
    }
  | { readonly type: 'thinking'; readonly text: string };

/** A message of the conversation. */
export interface RequestMessage {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly RequestBlock[];
}

const ID = /^[a-zA-Z0-9_-]{1,64}$/;

export function parseMessage(
  value: unknown,
  { at, tools }: { readonly at: string; readonly tools: ReadonlyMap<string, string> },
): RequestMessage {
  const { role, content } = record(value, at, ['role', 'content']);
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw new ApiRefusal(`${at}.role: Input should be 'user', 'assistant' or 'system'`);
  }
  const blocks =
    typeof content === 'string' ? [{ type: 'text', text: content }] : list(content, `${at}.content`);
  if (blocks.length === 0) throw new ApiRefusal(`${at}: all messages must have non-empty content`);
  return {
    role,
    content: blocks.map((block, i) => parseBlock(block, { role, tools, at: `${at}.content.${i}` })),
  };
}

function parseBlock(
  value: unknown,
  {
    role,
    tools,
    at,
  }: { readonly role: string; readonly tools: ReadonlyMap<string, string>; readonly at: string },
): RequestBlock {
  const block = record(value, at);
  switch (`${role} ${block['type']}`) {
    case 'user text':
    case 'system text':
    case 'assistant text':
      record(block, at, ['type', 'text', 'cache_control', 'citations']);
      return { type: 'text', text: filledText(block['text'], `${at}.text`) };
    case 'assistant tool_use':
      record(block, at, ['type', 'id', 'name', 'input', 'cache_control', 'caller']);
      if (!tools.has(text(block['name'], `${at}.name`))) {
        throw new ApiRefusal(`${at}.name: the request has no tool of this name`);
      }
      return {
        type: 'tool_use',
        id: parseId(block['id'], `${at}.id`),
        name: String(block['name']),
        input: record(block['input'], `${at}.input`),
      };
    case 'user tool_result':
      record(block, at, ['type', 'tool_use_id', 'content', 'is_error', 'cache_control']);
      return {
        type: 'tool_result',
        toolUseId: parseId(block['tool_use_id'], `${at}.tool_use_id`),
        text: resultText(block['content'], `${at}.content`),
        isError: flag(block['is_error'], `${at}.is_error`),
      };
    case 'user compaction':
    case 'assistant compaction':
      if ('signature' in block)
        return { type: 'compaction', text: signedSummaryOf(block, at), isSigned: true };
      if (role === 'user') throw new ApiRefusal(`${at}: unexpected type in the message of the ${role}`);
      record(block, at, ['type', 'content', 'encrypted_content', 'cache_control']);
      return { type: 'compaction', text: summaryOf(block, at) };
    case 'assistant server_tool_use':
      return {
        type: 'server_tool',
        part: 'call',
        id: parseId(block['id'], `${at}.id`),
        text: JSON.stringify(block['input']),
      };
    case 'assistant web_search_tool_result':
      return {
        type: 'server_tool',
        part: 'result',
        id: parseId(block['tool_use_id'], `${at}.tool_use_id`),
        text: JSON.stringify(block['content']),
      };
    case 'assistant thinking':
      record(block, at, ['type', 'thinking', 'signature']);
      text(block['signature'], `${at}.signature`);
      return { type: 'thinking', text: String(block['thinking']) };
    default:
      throw new ApiRefusal(`${at}: unexpected type in the message of the ${role}`);
  }
}

function parseId(value: unknown, at: string): string {
  if (!ID.test(text(value, at))) throw new ApiRefusal(`${at}: String should match pattern '${ID.source}'`);
  return String(value);
}

function resultText(content: unknown, at: string): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  const texts = list(content, at).map((value, i) => {
    const block = record(value, `${at}.${i}`);
    if (block['type'] === 'image') return image(block, `${at}.${i}`);
    if (block['type'] !== 'text') throw new ApiRefusal(`${at}.${i}: unexpected type in a tool result`);
    return filledText(block['text'], `${at}.${i}.text`);
  });
  return texts.join('\n');
}

function image(block: JsonObject, at: string): string {
  record(block, at, ['type', 'source', 'cache_control']);
  const source = record(block['source'], `${at}.source`, ['type', 'media_type', 'data']);
  if (source['type'] !== 'base64') throw new ApiRefusal(`${at}.source.type: Input should be 'base64'`);
  if (!MEDIA_TYPES.includes(source['media_type'])) {
    throw new ApiRefusal(`${at}.source.media_type: Input should be an image's`);
  }
  if (!BASE64.test(text(source['data'], `${at}.source.data`))) {
    throw new ApiRefusal(`${at}.source.base64: invalid base64 data`);
  }
  return '[image]';
}
