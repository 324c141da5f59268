import { randomUUID } from 'node:crypto';
import type { ScriptedView } from './context-edits.ts';
import { countTokens } from './context-edits.ts';
import type { MessagesRequest } from './messages-request.ts';
import type { CacheUse } from './prompt-cache.ts';
import type { SignedSummary, SummaryBlock } from './summary.ts';
import { type DroppedThought, signThoughts, type ThinkingBlock } from './thoughts.ts';

/** One reply of Claude. It asks for the tools that it calls; one without calls ends the turn. */
export interface ScriptedPart {
  /** Claude's words. */
  readonly say?: string;
  /** The tools that Claude calls, all at once. */
  readonly calls?: readonly ToolCall[];
  /** A search that the API ran itself within the reply. */
  readonly searched?: string;
  /** A search that the API began and has no result of yet. */
  readonly searching?: string;
  /** Claude's thoughts before it says anything: empty, as current models show them, where it thinks; `false`: none. */
  readonly think?: string | false;
  /** Thoughts at the end, after everything else. */
  readonly thinkLast?: string;
  /** A stop reason of the API, or one that is not known yet; `tool_use` or `end_turn` unless given. */
  readonly stop?: string;
}

/** The end of a request for a summary that made none: the stop reason that the API tells. */
export interface NoSummary {
  readonly stop: string;
}

/** A call of a tool: of `memory`, the name of the tool, and a command as `input`. */
export interface ToolCall {
  readonly name: string;
  readonly input: unknown;
}

/** A block of a reply. */
export type ReplyBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use' | 'server_tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: unknown;
    }
  | { readonly type: 'web_search_tool_result'; readonly tool_use_id: string; readonly content: readonly [] }
  | ThinkingBlock
  | SummaryBlock;

/** A reply in the API's words, as far as the SDK reads it. */
export interface ScriptedReply {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly ReplyBlock[];
  readonly stop_reason: string;
  readonly stop_details: object | null;
  readonly stop_sequence: null;
  readonly usage: { readonly iterations?: readonly object[] };
  readonly context_management?: { readonly applied_edits: ScriptedView['applied'] };
  readonly input_transformations?: readonly DroppedThought[];
}

export function replyOf(
  part: ScriptedPart,
  context: {
    readonly request: MessagesRequest;
    readonly view: ScriptedView;
    readonly cache: CacheUse;
    readonly summary: SummaryBlock | undefined;
  },
): ScriptedReply {
  const { request, view, cache, summary } = context;
  const { model, dropped } = request;
  const thinks = request.thinking !== 'off';
  const content = signThoughts<ReplyBlock>(
    [
      ...(summary ? [summary] : []),
      ...(thinks && part.think !== false ? [thought(part.think ?? '')] : []),
      ...(part.say === undefined ? [] : [{ type: 'text' as const, text: part.say }]),
      ...(part.searched === undefined ? [] : searchOf(part.searched)),
      ...(part.searching === undefined ? [] : searchOf(part.searching).slice(0, 1)),
      ...(part.calls ?? []).map(({ name, input }) => ({
        type: 'tool_use' as const,
        id: newId('toolu'),
        name,
        input,
      })),
      ...(thinks && part.thinkLast !== undefined ? [thought(part.thinkLast)] : []),
    ],
    request,
  );
  const tokens = {
    input_tokens: view.inputTokens - cache.read - cache.written,
    cache_read_input_tokens: cache.read,
    cache_creation_input_tokens: cache.written,
    output_tokens: countTokens(content),
  };
  const summing = {
    type: 'compaction',
    input_tokens: view.inputTokens,
    output_tokens: countTokens(summary ?? ''),
  };
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: part.stop ?? (part.calls?.length ? 'tool_use' : 'end_turn'),
    stop_details: stopDetails(part.stop),
    stop_sequence: null,
    usage: { ...tokens, ...(summary && { iterations: [summing, { type: 'message', ...tokens }] }) },
    ...(view.applied.length > 0 && { context_management: { applied_edits: view.applied } }),
    ...(dropped.length > 0 && { input_transformations: dropped }),
  };
}

/**
 * Makes the reply to a request for a summary: the block alone, or nothing where there is none; the tokens stand in the
 * iterations alone ("Compaction on demand", handle a missing summary, count compaction usage).
 */
export function summaryReply(
  summary: SignedSummary | NoSummary,
  { request, view }: { readonly request: MessagesRequest; readonly view: ScriptedView },
): ScriptedReply {
  const stop = 'stop' in summary ? summary.stop : 'compaction';
  const nothing = { input_tokens: 0, output_tokens: 0 };
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model: request.model,
    content: 'stop' in summary ? [] : [summary],
    stop_reason: stop,
    stop_details: stopDetails(stop),
    stop_sequence: null,
    usage: {
      ...nothing,
      iterations: [
        { type: 'compaction', input_tokens: view.inputTokens, output_tokens: countTokens(summary) },
      ],
    },
  };
}

function stopDetails(stop: string | undefined): object | null {
  return stop === 'refusal' ? { type: 'refusal', category: 'general_harms', explanation: null } : null;
}

/** Signed when the whole reply is known. */
function thought(thinking: string): ThinkingBlock {
  return { type: 'thinking', thinking, signature: '' };
}

/** Writes the reply as the data of server-sent events, every block in one delta. */
export function eventsOf({
  content,
  stop_reason,
  stop_details,
  stop_sequence,
  ...message
}: ScriptedReply): readonly ScriptedEvent[] {
  const { context_management, usage, ...head } = message;
  const { iterations: _, ...begun } = usage;
  return [
    {
      type: 'message_start',
      // The tokens that the reply takes are known at its end.
      message: {
        ...head,
        usage: { ...begun, output_tokens: 1 },
        content: [],
        stop_reason: null,
        stop_details: null,
        stop_sequence: null,
      },
    },
    ...content.flatMap((block, index): readonly ScriptedEvent[] => {
      const { start, deltas = [] } = pieces(block);
      return [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ];
    }),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_details, stop_sequence },
      usage,
      ...(context_management && { context_management }),
    },
    { type: 'message_stop' },
  ];
}

export type ScriptedEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

function pieces(block: ReplyBlock): { readonly start: object; readonly deltas?: readonly object[] } {
  switch (block.type) {
    case 'text':
      return { start: { ...block, text: '' }, deltas: [{ type: 'text_delta', text: block.text }] };
    case 'tool_use':
    case 'server_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
      };
    case 'compaction':
      if ('signature' in block) return { start: block };
      return {
        start: { type: 'compaction', content: null, encrypted_content: null },
        deltas: [{ ...block, type: 'compaction_delta' }],
      };
    case 'thinking':
      return {
        start: { type: 'thinking', thinking: '', signature: '' },
        deltas: [
          { type: 'thinking_delta', thinking: block.thinking },
          { type: 'signature_delta', signature: block.signature },
        ],
      };
    default:
      return { start: block };
  }
}

function searchOf(query: string): readonly ReplyBlock[] {
  const id = newId('srvtoolu');
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: { query } },
    { type: 'web_search_tool_result', tool_use_id: id, content: [] },
  ];
}

function newId(kind: string): string {
  return `${kind}_${randomUUID().replaceAll('-', '')}`;
}
