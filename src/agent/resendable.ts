import type { BetaContentBlockParam, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';

/**
 * A conversation as the API takes it back when the user's next message stands behind it. What Claude said last may have
 * been cut off: its calls without a result, the API's own calls without one, thoughts at the end, thoughts behind
 * something that is left out (they are signed over it), texts of nothing but space, and a message of which nothing is
 * left do not go back. Everything else stays as it was received, block by block, so that the thoughts in it stay valid.
 *
 * It is idempotent, and changes nothing but the last turn of Claude's.
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

/** A call of a tool, run by the caller or by the server. */
function isCall(block: BetaContentBlockParam): block is BetaContentBlockParam & { readonly id: string } {
  return block.type === 'tool_use' || block.type === 'server_tool_use' || block.type === 'mcp_tool_use';
}

function blocksOf(content: BetaMessageParam['content']): BetaContentBlockParam[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return [...(content ?? [])];
}
