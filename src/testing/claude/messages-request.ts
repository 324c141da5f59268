import { ApiRefusal, flag, type JsonObject, list, record, text } from './api-refusal.ts';
import {
  type ContextEdits,
  checkSummaries,
  parseBetas,
  parseCompaction,
  parseContextManagement,
} from './context-edits.ts';
import { parseMessage, type RequestMessage } from './message-blocks.ts';
import { checkOrder, checkToolResults } from './message-order.ts';
import { factsOf, type Platform } from './models.ts';
import {
  checkCacheMarks,
  checkMaxTokens,
  checkOutputConfig,
  checkSampling,
  parseThinking,
} from './request-limits.ts';
import { checkThoughts, type DroppedThought } from './thoughts.ts';

/** A request that the API would take, besides its conversation. */
export interface SentRequest {
  readonly model: string;
  readonly system: string;
  readonly stream: boolean;
  /** The type of each tool by its name; `custom` for the caller's own. */
  readonly tools: ReadonlyMap<string, string>;
  readonly betas: ReadonlySet<string>;
  readonly thinking: 'off' | 'enabled' | 'adaptive';
  readonly maxTokens: number;
  /** The thoughts that Claude is not shown, as the reply names them. */
  readonly dropped: readonly DroppedThought[];
  /** The body as it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** The request with its conversation. */
export interface MessagesRequest extends SentRequest {
  /** The whole conversation as it was sent. */
  readonly messages: readonly RequestMessage[];
  readonly edits: ContextEdits;
  /** The request asks for a summary, and for no reply. */
  readonly isSummarised: boolean;
  /** The text that the thoughts of the reply are signed over. */
  readonly prefix: ReturnType<typeof checkThoughts>['prefix'];
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
  'compaction',
  'metadata',
  'stop_sequences',
  'thinking',
  'cache_control',
  'output_config',
  'service_tier',
  'temperature',
  'top_k',
  'top_p',
];

/** The facts of a request besides its body. */
export interface RequestContext {
  readonly platform: Platform;
  readonly beta?: unknown;
  /** The version of the API. */
  readonly version?: unknown;
  /** Edits that this server has for no model, and `compaction` for compaction on demand. */
  readonly lacks?: readonly string[];
  /** Knows the replies that were handed out unfinished and may be sent back to be gone on with. */
  readonly isUnfinished?: (message: RequestMessage) => boolean;
}

/** Judges the body of POST /v1/messages as strictly as the API does, where a memory conversation can go wrong. */
export function parseMessagesRequest(
  request: JsonObject,
  { platform, beta, version, lacks = [], isUnfinished = () => false }: RequestContext,
): MessagesRequest {
  if (request['thread'] !== undefined) refuseThread();
  const extra = Object.keys(request).find((field) => !fieldsOf(platform).includes(field));
  if (extra !== undefined) throw new ApiRefusal(`${extra}: Extra inputs are not permitted`);
  const model = text(request['model'], 'model');
  const known = factsOf(model, platform);
  const facts = {
    ...known,
    edits: known.edits.filter((edit) => !lacks.includes(edit)),
    compactsOnDemand: known.compactsOnDemand && !lacks.includes('compaction'),
  };
  const maxTokens = checkMaxTokens(request['max_tokens'], facts, model);
  const betas = parseBetas(beta, platform);
  const { mode, onMismatch } = parseThinking(request, { facts, betas });
  checkSampling(request, { facts, mode, version });
  checkOutputConfig(request['output_config'], facts);
  checkCacheMarks(request);
  const edits = parseContextManagement(request['context_management'], { betas, facts, mode });
  const isSummarised = parseCompaction(request, { betas, facts });
  const tools = parseTools(list(request['tools'] ?? [], 'tools'));
  const given = list(request['messages'], 'messages');
  const messages = given.map((message, i) => parseMessage(message, { at: `messages.${i}`, tools }));
  checkOrder(messages, { facts, mode, isSummarised, isUnfinished });
  checkToolResults(messages);
  checkSummaries(messages, { betas, edits });
  const system = parseSystem(request['system']);
  const raw = given as readonly { readonly role: unknown; readonly content: unknown }[];
  const { prefix, dropped } = checkThoughts(
    { model, system: request['system'], tools: request['tools'], messages: raw },
    { isBound: facts.bindsThoughts, onMismatch },
  );
  return {
    model,
    system,
    tools,
    messages,
    betas,
    edits,
    isSummarised,
    maxTokens,
    prefix,
    dropped,
    body: request,
    stream: flag(request['stream'], 'stream'),
    thinking: mode,
  };
}

/**
 * The mark of the prompt cache for a whole request is the API's ("Prompt caching", automatic caching, availability).
 */
function fieldsOf(platform: Platform): readonly string[] {
  if (platform === 'api') return FIELDS;
  return [...FIELDS.filter((field) => field !== 'cache_control'), 'anthropic_version', 'anthropic_beta'];
}

/**
 * Refuses a thread in the words of a server without message threads, which make the SDK send the whole conversation
 * instead.
 */
function refuseThread(): never {
  throw new ApiRefusal('thread: not supported here', {
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

/**
 * Reads the types of the tools by name: the memory tool, tools of the caller, and the web search that the API runs
 * itself.
 */
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
