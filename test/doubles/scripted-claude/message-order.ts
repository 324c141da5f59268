import { ApiRefusal } from './api-refusal.ts';
import type { RequestMessage } from './message-blocks.ts';

/**
 * The roles take turns, the user first and last. Only a reply that the API itself left unfinished may stand last, and
 * what it then went on with may stand behind it.
 */
export function checkOrder(
  messages: readonly RequestMessage[],
  isUnfinished: (message: RequestMessage) => boolean,
): void {
  if (messages.length === 0) throw new ApiRefusal('messages: at least one message is required');
  messages.forEach((message, i) => {
    const before = messages[i - 1];
    const goesOn = message.role === 'assistant' && before?.role === 'assistant' && isUnfinished(before);
    if (!goesOn && message.role === (before?.role ?? 'assistant')) {
      throw new ApiRefusal(`messages.${i}: roles must alternate, beginning with "user"`);
    }
  });
  const last = messages.at(-1);
  if (last?.role === 'assistant' && !isUnfinished(last)) {
    throw new ApiRefusal('messages: the conversation must end with a user message');
  }
}

/** Every call is answered once, at the beginning of the very next message, and nothing else is answered. */
export function checkToolResults(messages: readonly RequestMessage[]): void {
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
