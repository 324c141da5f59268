import type { BetaMessage } from '@anthropic-ai/sdk/resources/beta';

/** What a turn took, over all of its replies that arrived. */
export interface TurnUsage {
  /** Requests to the API, cut ones included; repetitions inside the client are not seen. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Tool uses whose results the API cleared, in the request that cleared most. */
  readonly clearedToolUses: number;
  /** How often the conversation was replaced by a summary. */
  readonly compactions: number;
}

export const NO_USAGE: TurnUsage = {
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  clearedToolUses: 0,
  compactions: 0,
};

/**
 * Adds one reply. Its own counts leave out what making a summary took; the list of iterations, where there is one,
 * has both. Clearing is reported again by every request it applies to, so it is not summed.
 */
export function addReply(usage: TurnUsage, { usage: counts, content, ...reply }: BetaMessage): TurnUsage {
  const parts = counts.iterations?.length ? counts.iterations : [counts];
  const sum = (pick: (part: (typeof parts)[number]) => number | null | undefined): number =>
    parts.reduce((total, part) => total + (pick(part) ?? 0), 0);
  const cleared = (reply.context_management?.applied_edits ?? []).map((edit) =>
    edit.type === 'clear_tool_uses_20250919' ? edit.cleared_tool_uses : 0,
  );
  return {
    requests: usage.requests,
    inputTokens: usage.inputTokens + sum((part) => part.input_tokens),
    outputTokens: usage.outputTokens + sum((part) => part.output_tokens),
    cacheReadTokens: usage.cacheReadTokens + sum((part) => part.cache_read_input_tokens),
    cacheWriteTokens: usage.cacheWriteTokens + sum((part) => part.cache_creation_input_tokens),
    clearedToolUses: Math.max(usage.clearedToolUses, ...cleared),
    compactions: usage.compactions + content.filter(({ type }) => type === 'compaction').length,
  };
}
