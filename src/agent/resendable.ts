import type { BetaContentBlockParam, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';

/**
 * Answers a conversation as the API takes it back when the user's next message follows it. Claude's last message may
 * have been cut off. These parts do not go back: calls without a result, of Claude's or of the API's own; thoughts at
 * the end; thoughts after a call that is left out (Claude signed them over it); texts of spaces alone; and a message
 * that is then empty. Every other block stays as it was received, so that the thoughts in it stay valid.
 *
 * It is idempotent, and changes only Claude's last turn.
 */
export function resendable(messages: readonly BetaMessageParam[]): readonly BetaMessageParam[] {
  const from = messages.findLastIndex(({ role }) => role !== 'assistant') + 1;
  const turn = messages.slice(from).map(({ content }) => blocksOf(content));
  const answered = new Set(
    turn.flat().flatMap((block) => ('tool_use_id' in block ? [block.tool_use_id] : [])),
  );
  let isCut = false;
  const kept = turn.map((blocks) =>
    blocks.filter((block) => {
      if (isThought(block)) return !isCut;
      if (block.type === 'text') return block.text.trim() !== '';
      const isOpen = isCall(block) && !answered.has(block.id);
      isCut ||= isOpen;
      return !isOpen;
    }),
  );
  for (const blocks of kept.toReversed()) {
    while (isThought(blocks.at(-1))) blocks.pop();
    if (blocks.length > 0) break;
  }
  const changed = kept.flatMap((content, i) => {
    const message = messages[from + i];
    if (message === undefined || content.length === 0) return [];
    return content.length === turn[i]?.length ? [message] : [{ ...message, content } as BetaMessageParam];
  });
  return [...messages.slice(0, from), ...changed];
}

export function isThought(block: { readonly type: string } | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

/** Tells whether the block is a call of a tool, run by the caller or by the server. */
function isCall(block: BetaContentBlockParam): block is BetaContentBlockParam & { readonly id: string } {
  return block.type === 'tool_use' || block.type === 'server_tool_use' || block.type === 'mcp_tool_use';
}

function blocksOf(content: BetaMessageParam['content']): BetaContentBlockParam[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return [...(content ?? [])];
}
