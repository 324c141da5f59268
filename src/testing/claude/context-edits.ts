import { ApiRefusal, flag, type JsonObject, list, record, text, wholeNumber } from './api-refusal.ts';
import type { RequestMessage } from './message-blocks.ts';
import type { ModelFacts, Platform } from './models.ts';
import type { ThinkingMode } from './request-limits.ts';

const CLEARING = 'context-management-2025-06-27';
const COMPACTION = 'compact-2026-01-12';
const ON_DEMAND = 'compact-2026-09-04';
const BETAS: ReadonlySet<string> = new Set([
  CLEARING,
  COMPACTION,
  ON_DEMAND,
  'interleaved-thinking-2025-05-14',
  'thinking-binding-controls-2026-08-01',
]);
const LEAST_COMPACTION_TRIGGER = 50_000;
/** From this part of the trigger on, Claude is warned that results are about to be cleared. */
const WARNING = 0.8;
const CLEARED = '[This result was cleared to save context.]';
const CHARACTERS_PER_TOKEN = 4;

/** The edits that a request asks for where the conversation is long. */
export interface ContextEdits {
  readonly clearing?: {
    readonly trigger: number;
    readonly keep: number;
    readonly excluded: readonly string[];
    /** Fewer tokens are not worth it. */
    readonly atLeast: number;
    readonly inputs: boolean | readonly string[];
  };
  /** The number of the newest turns that keep their thoughts. */
  readonly thinking?: { readonly keep: number };
  readonly compaction?: { readonly trigger: number };
}

/** One entry of the reply's `context_management.applied_edits`. */
export type AppliedEdit =
  | {
      readonly type: 'clear_tool_uses_20250919';
      readonly cleared_tool_uses: number;
      readonly cleared_input_tokens: number;
    }
  | {
      readonly type: 'clear_thinking_20251015';
      readonly cleared_thinking_turns: number;
      readonly cleared_input_tokens: number;
    };

/** A conversation as Claude is shown it. */
export interface ScriptedView {
  /** The messages that context editing leaves. */
  readonly messages: readonly RequestMessage[];
  /** A token for every four characters. */
  readonly inputTokens: number;
  /** Claude has been told that older results will be cleared soon. */
  readonly isWarned: boolean;
  /** The edits of this request, as the reply names them. */
  readonly applied: readonly AppliedEdit[];
  /** The conversation is long enough to be replaced by a summary. */
  readonly isFull: boolean;
}

/**
 * Reads the values of the `anthropic-beta` header. Throws `ApiRefusal` for an unknown one, such as that of compaction
 * on demand on Bedrock ("Compaction on demand", compatibility).
 */
export function parseBetas(header: unknown, platform: Platform): ReadonlySet<string> {
  const betas = typeof header === 'string' ? header.split(',').map((beta) => beta.trim()) : [];
  const unknown = betas.find((beta) => !BETAS.has(beta) || (beta === ON_DEMAND && platform === 'bedrock'));
  if (unknown !== undefined) {
    throw new ApiRefusal(`Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header.`);
  }
  return new Set(betas);
}

interface EditContext {
  readonly betas: ReadonlySet<string>;
  readonly facts: ModelFacts;
  readonly mode: ThinkingMode['mode'];
}

/**
 * Throws `ApiRefusal` for an edit that is malformed, comes twice, lacks its beta header, or that the model does not
 * have ("Context editing" and "Compaction", supported models; which words the API has for that the pages do not say),
 * and for the clearing of thoughts where it is not the first edit or nothing thinks ("Context editing", thinking block
 * clearing).
 */
export function parseContextManagement(value: unknown, context: EditContext): ContextEdits {
  if (value === undefined || value === null) return {};
  const { betas } = context;
  const at = 'context_management';
  if (!betas.has(CLEARING) && !betas.has(COMPACTION)) {
    throw new ApiRefusal(`${at}: Extra inputs are not permitted`);
  }
  let edits: ContextEdits = {};
  for (const [i, edit] of list(record(value, at, ['edits'])['edits'] ?? [], `${at}.edits`).entries()) {
    const parsed = parseEdit(edit, { at: `${at}.edits.${i}`, index: i, ...context });
    const [kind] = Object.keys(parsed);
    if (kind !== undefined && kind in edits) throw new ApiRefusal(`${at}.edits.${i}: duplicate edit type`);
    edits = { ...edits, ...parsed };
  }
  return edits;
}

/**
 * Refuses a summary in the conversation without the header of its kind. One on demand is the very first block, the only
 * one of its kind, and takes no compaction at a threshold beside it ("Compaction on demand", continue from the summary,
 * errors, limits; most words are not told there).
 */
export function checkSummaries(
  messages: readonly RequestMessage[],
  { betas, edits }: { readonly betas: ReadonlySet<string>; readonly edits: ContextEdits },
): void {
  const found = messages.flatMap(({ content }, at) =>
    content.flatMap((block, j) => (block.type === 'compaction' ? [{ at, j, isSigned: block.isSigned }] : [])),
  );
  for (const { at, j, isSigned = false } of found) {
    if (!betas.has(isSigned ? ON_DEMAND : COMPACTION)) {
      throw new ApiRefusal(`messages.${at}.content: 'compaction' is not an expected type of block`);
    }
    if (!isSigned) continue;
    if (found.length > 1) throw new ApiRefusal('messages: at most one compaction block is permitted');
    if (at > 0 || j > 0) {
      throw new ApiRefusal(`messages.${at}: the compaction block must be the first block`, {
        details: { error_code: 'compaction_block_misplaced' },
      });
    }
    if (edits.compaction !== undefined) {
      throw new ApiRefusal('context_management: compaction does not run on a signed compaction block');
    }
  }
}

const MOST_INSTRUCTIONS = 16_384;

/**
 * Tells whether the request asks for a summary on demand. Throws `ApiRefusal` without the header, for a model that has
 * none, and beside whatever only shapes a reply ("Compaction on demand", request a summary).
 */
export function parseCompaction(
  request: JsonObject,
  { betas, facts }: { readonly betas: ReadonlySet<string>; readonly facts: ModelFacts },
): boolean {
  const given = request['compaction'];
  if (given === undefined || given === null) return false;
  const at = 'compaction';
  if (!betas.has(ON_DEMAND)) throw new ApiRefusal(`${at}: requires anthropic-beta: ${ON_DEMAND}`);
  if (!facts.compactsOnDemand) throw new ApiRefusal(`${at}: not supported for this model`);
  const { type, instructions } = record(given, at, ['type', 'instructions']);
  if (type !== 'summarize') throw new ApiRefusal(`${at}.type: Input should be 'summarize'`);
  const isText = instructions === undefined || instructions === null || typeof instructions === 'string';
  if (!isText || String(instructions).length > MOST_INSTRUCTIONS) {
    throw new ApiRefusal(`${at}.instructions: Input should be a string of at most ${MOST_INSTRUCTIONS}`);
  }
  const { format, task_budget: budget } = Object(request['output_config']) as JsonObject;
  const { type: choice } = Object(request['tool_choice']) as JsonObject;
  const unfit = [
    ...['context_management', 'stop_sequences'].filter((name) => (request[name] ?? undefined) !== undefined),
    ...((format ?? undefined) === undefined ? [] : ['output_config.format']),
    ...((Object(budget) as JsonObject)['remaining'] === undefined
      ? []
      : ['output_config.task_budget.remaining']),
    ...(choice === 'any' || choice === 'tool' ? ['tool_choice'] : []),
  ];
  if (unfit[0] !== undefined) throw new ApiRefusal(`${unfit[0]}: cannot be combined with \`compaction\``);
  return true;
}

/** Shows the conversation from its last summary on, and clears results when it is long. */
export function viewOf(
  messages: readonly RequestMessage[],
  { clearing, thinking, compaction }: ContextEdits,
): ScriptedView {
  const seen = sinceSummary(messages);
  const tokens = countTokens(seen);
  const kept = thinking ? clearThoughts(seen, thinking.keep) : { messages: seen, turns: 0 };
  const cleared = clearing && tokens >= clearing.trigger ? clear(kept.messages, clearing) : undefined;
  const isWorthIt = cleared && tokens - countTokens(cleared) >= (clearing?.atLeast ?? 0);
  const shown = isWorthIt ? cleared : kept.messages;
  const inputTokens = countTokens(shown);
  const cleared_tool_uses = shown.flatMap(({ content }) => content).filter(isCleared).length;
  return {
    messages: shown,
    inputTokens,
    isWarned: clearing !== undefined && tokens >= clearing.trigger * WARNING && tokens < clearing.trigger,
    applied: [
      ...(kept.turns > 0
        ? [
            {
              type: 'clear_thinking_20251015' as const,
              cleared_thinking_turns: kept.turns,
              cleared_input_tokens: tokens - countTokens(kept.messages),
            },
          ]
        : []),
      ...(cleared_tool_uses > 0
        ? [
            {
              type: 'clear_tool_uses_20250919' as const,
              cleared_tool_uses,
              cleared_input_tokens: tokens - inputTokens,
            },
          ]
        : []),
    ],
    isFull: compaction !== undefined && inputTokens >= compaction.trigger,
  };
}

export function countTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / CHARACTERS_PER_TOKEN);
}

function parseEdit(
  value: unknown,
  { at, index, betas, facts, mode }: EditContext & { readonly at: string; readonly index: number },
): ContextEdits {
  const edit = record(value, at);
  const { type } = edit;
  if (typeof type === 'string' && KNOWN_EDITS.has(type) && !facts.edits.includes(type)) {
    throw new ApiRefusal(`${at}: '${type}' is not supported for this model`);
  }
  if (type === 'clear_thinking_20251015' && betas.has(CLEARING)) {
    record(edit, at, ['type', 'keep']);
    if (index > 0) throw new ApiRefusal(`${at}: \`clear_thinking_20251015\` must be the first edit`);
    if (mode === 'off') {
      throw new ApiRefusal(
        `${at}: \`clear_thinking_20251015\` strategy requires \`thinking\` to be enabled or adaptive`,
      );
    }
    const { keep } = edit;
    if (keep === 'all') return { thinking: { keep: Number.POSITIVE_INFINITY } };
    const value = quantity(keep, { at: `${at}.keep`, type: 'thinking_turns', least: 1 });
    return { thinking: { keep: value } };
  }
  if (edit['type'] === 'clear_tool_uses_20250919' && betas.has(CLEARING)) {
    record(edit, at, ['type', 'trigger', 'keep', 'exclude_tools', 'clear_at_least', 'clear_tool_inputs']);
    const excluded = list(edit['exclude_tools'] ?? [], `${at}.exclude_tools`);
    return {
      clearing: {
        trigger: triggerOf(edit['trigger'], `${at}.trigger`),
        keep: quantity(edit['keep'], { at: `${at}.keep`, type: 'tool_uses', least: 0 }),
        excluded: excluded.map((name, i) => text(name, `${at}.exclude_tools.${i}`)),
        atLeast:
          edit['clear_at_least'] === undefined
            ? 0
            : quantity(edit['clear_at_least'], {
                at: `${at}.clear_at_least`,
                type: 'input_tokens',
                least: 0,
              }),
        inputs: clearedInputs(edit['clear_tool_inputs'], `${at}.clear_tool_inputs`),
      },
    };
  }
  if (edit['type'] === 'compact_20260112' && betas.has(COMPACTION)) {
    record(edit, at, ['type', 'trigger', 'instructions', 'pause_after_compaction']);
    const least = LEAST_COMPACTION_TRIGGER;
    return {
      compaction: {
        trigger: quantity(edit['trigger'], { at: `${at}.trigger`, type: 'input_tokens', least }),
      },
    };
  }
  throw new ApiRefusal(`${at}: not an edit that the \`anthropic-beta\` header of the request allows`);
}

const KNOWN_EDITS: ReadonlySet<string> = new Set([
  'clear_tool_uses_20250919',
  'clear_thinking_20251015',
  'compact_20260112',
]);

/** Reads a trigger. One by tool uses is judged and never reached: here results are cleared by tokens alone. */
function triggerOf(value: unknown, at: string): number {
  const { type } = record(value, at);
  if (type !== 'tool_uses') return quantity(value, { at, type: 'input_tokens', least: 1 });
  quantity(value, { at, type: 'tool_uses', least: 1 });
  return Number.POSITIVE_INFINITY;
}

function clearedInputs(value: unknown, at: string): boolean | readonly string[] {
  return Array.isArray(value) ? value.map((name, i) => text(name, `${at}.${i}`)) : flag(value, at);
}

function quantity(
  value: unknown,
  { at, type, least }: { readonly at: string; readonly type: string; readonly least: number },
): number {
  const given = record(value, at, ['type', 'value']);
  if (given['type'] !== type) throw new ApiRefusal(`${at}.type: Input should be '${type}'`);
  return wholeNumber(given['value'], { at: `${at}.value`, least });
}

function sinceSummary(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  const at = messages.findLastIndex(({ content }) => content.some(({ type }) => type === 'compaction'));
  const message = messages[at];
  if (!message) return messages;
  const from = message.content.findLastIndex(({ type }) => type === 'compaction');
  return [{ ...message, content: message.content.slice(from) }, ...messages.slice(at + 1)];
}

function clear(
  messages: readonly RequestMessage[],
  { keep, excluded, inputs }: NonNullable<ContextEdits['clearing']>,
): readonly RequestMessage[] {
  const calls = messages
    .flatMap(({ content }) => content)
    .filter((block) => block.type === 'tool_use')
    .filter(({ name }) => !excluded.includes(name));
  const old = new Set(calls.slice(0, Math.max(0, calls.length - keep)).map(({ id }) => id));
  return messages.map((message) => ({
    ...message,
    content: message.content.map((block) => {
      if (block.type === 'tool_result' && old.has(block.toolUseId)) return { ...block, text: CLEARED };
      const isCleared = block.type === 'tool_use' && old.has(block.id);
      const withInput = isCleared && (Array.isArray(inputs) ? inputs.includes(block.name) : inputs);
      return withInput ? { ...block, input: {} } : block;
    }),
  }));
}

function clearThoughts(
  messages: readonly RequestMessage[],
  keep: number,
): { readonly messages: readonly RequestMessage[]; readonly turns: number } {
  const thinking = messages.filter(({ content }) => content.some(({ type }) => type === 'thinking'));
  const old = new Set(thinking.slice(0, Math.max(0, thinking.length - keep)));
  const shown = messages.map((message) =>
    old.has(message)
      ? { ...message, content: message.content.filter(({ type }) => type !== 'thinking') }
      : message,
  );
  return { messages: shown, turns: old.size };
}

function isCleared(block: RequestMessage['content'][number]): boolean {
  return block.type === 'tool_result' && block.text === CLEARED;
}
