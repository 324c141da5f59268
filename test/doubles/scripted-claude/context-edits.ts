import { ApiRefusal, list, record, text, wholeNumber } from './api-refusal.ts';
import type { RequestMessage } from './message-blocks.ts';

const CLEARING = 'context-management-2025-06-27';
const COMPACTION = 'compact-2026-01-12';
const BETAS: ReadonlySet<string> = new Set([CLEARING, COMPACTION, 'interleaved-thinking-2025-05-14']);
const LEAST_COMPACTION_TRIGGER = 50_000;
/** From this part of the trigger on, Claude is warned that results are about to be cleared. */
const WARNING = 0.8;
const CLEARED = '[This result was cleared to save context.]';
const CHARACTERS_PER_TOKEN = 4;

/** What the request asks the API to do about a long conversation. */
export interface ContextEdits {
  readonly clearing?: {
    readonly trigger: number;
    readonly keep: number;
    readonly excluded: readonly string[];
  };
  readonly compaction?: { readonly trigger: number };
}

export interface AppliedClearing {
  readonly type: 'clear_tool_uses_20250919';
  readonly cleared_tool_uses: number;
  readonly cleared_input_tokens: number;
}

/** What Claude is shown of a conversation. */
export interface View {
  readonly messages: readonly RequestMessage[];
  readonly inputTokens: number;
  /** Claude has been told that older results will be cleared soon. */
  readonly isWarned: boolean;
  readonly applied: readonly AppliedClearing[];
  /** The conversation is long enough to be replaced by a summary. */
  readonly isFull: boolean;
}

/** The values of the `anthropic-beta` header. Throws `ApiRefusal` for an unknown one. */
export function parseBetas(header: unknown): ReadonlySet<string> {
  const betas = typeof header === 'string' ? header.split(',').map((beta) => beta.trim()) : [];
  const unknown = betas.find((beta) => !BETAS.has(beta));
  if (unknown !== undefined) {
    throw new ApiRefusal(`Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header.`);
  }
  return new Set(betas);
}

/** Throws `ApiRefusal` for an edit that is malformed, comes twice, or lacks its beta header. */
export function parseContextManagement(value: unknown, betas: ReadonlySet<string>): ContextEdits {
  if (value === undefined || value === null) return {};
  const at = 'context_management';
  if (!betas.has(CLEARING) && !betas.has(COMPACTION)) {
    throw new ApiRefusal(`${at}: Extra inputs are not permitted`);
  }
  let edits: ContextEdits = {};
  for (const [i, edit] of list(record(value, at, ['edits'])['edits'] ?? [], `${at}.edits`).entries()) {
    const parsed = parseEdit(edit, { at: `${at}.edits.${i}`, betas });
    const [kind] = Object.keys(parsed);
    if (kind !== undefined && kind in edits) throw new ApiRefusal(`${at}.edits.${i}: duplicate edit type`);
    edits = { ...edits, ...parsed };
  }
  return edits;
}

/** A summary in the conversation is understood only with the header of compaction. */
export function checkSummaries(messages: readonly RequestMessage[], betas: ReadonlySet<string>): void {
  const at = messages.findIndex(({ content }) => content.some(({ type }) => type === 'compaction'));
  if (at >= 0 && !betas.has(COMPACTION)) {
    throw new ApiRefusal(`messages.${at}.content: 'compaction' is not an expected type of block`);
  }
}

/** Shows the conversation from its last summary on, and clears results when it is long. */
export function viewOf(messages: readonly RequestMessage[], { clearing, compaction }: ContextEdits): View {
  const seen = sinceSummary(messages);
  const tokens = countTokens(seen);
  const cleared = clearing && tokens >= clearing.trigger ? clear(seen, clearing) : undefined;
  const shown = cleared ?? seen;
  const inputTokens = countTokens(shown);
  const cleared_tool_uses = shown.flatMap(({ content }) => content).filter(isCleared).length;
  return {
    messages: shown,
    inputTokens,
    isWarned: clearing !== undefined && tokens >= clearing.trigger * WARNING && tokens < clearing.trigger,
    applied:
      cleared_tool_uses > 0
        ? [
            {
              type: 'clear_tool_uses_20250919',
              cleared_tool_uses,
              cleared_input_tokens: tokens - inputTokens,
            },
          ]
        : [],
    isFull: compaction !== undefined && inputTokens >= compaction.trigger,
  };
}

export function countTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / CHARACTERS_PER_TOKEN);
}

function parseEdit(
  value: unknown,
  { at, betas }: { readonly at: string; readonly betas: ReadonlySet<string> },
): ContextEdits {
  const edit = record(value, at);
  if (edit['type'] === 'clear_tool_uses_20250919' && betas.has(CLEARING)) {
    record(edit, at, ['type', 'trigger', 'keep', 'exclude_tools', 'clear_at_least', 'clear_tool_inputs']);
    const excluded = list(edit['exclude_tools'] ?? [], `${at}.exclude_tools`);
    return {
      clearing: {
        trigger: quantity(edit['trigger'], { at: `${at}.trigger`, type: 'input_tokens', least: 1 }),
        keep: quantity(edit['keep'], { at: `${at}.keep`, type: 'tool_uses', least: 0 }),
        excluded: excluded.map((name, i) => text(name, `${at}.exclude_tools.${i}`)),
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
  { keep, excluded }: NonNullable<ContextEdits['clearing']>,
): readonly RequestMessage[] {
  const calls = messages
    .flatMap(({ content }) => content)
    .filter((block) => block.type === 'tool_use')
    .filter(({ name }) => !excluded.includes(name));
  const old = new Set(calls.slice(0, Math.max(0, calls.length - keep)).map(({ id }) => id));
  return messages.map((message) => ({
    ...message,
    content: message.content.map((block) =>
      block.type === 'tool_result' && old.has(block.toolUseId) ? { ...block, text: CLEARED } : block,
    ),
  }));
}

function isCleared(block: RequestMessage['content'][number]): boolean {
  return block.type === 'tool_result' && block.text === CLEARED;
}
