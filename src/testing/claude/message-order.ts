import { ApiRefusal } from './api-refusal.ts';
import type { RequestBlock, RequestMessage } from './message-blocks.ts';
import type { ModelFacts } from './models.ts';
import type { ThinkingMode } from './request-limits.ts';

/** The facts that the rules about the last message depend on. */
interface Ending {
  readonly facts: ModelFacts;
  readonly mode: ThinkingMode['mode'];
  /** The request asks for a summary: it may end with a whole turn of the assistant's. */
  readonly isSummarised: boolean;
  /** Tells whether this reply was handed out unfinished: then it may be sent back to be gone on with. */
  readonly isUnfinished: (message: RequestMessage) => boolean;
}

/**
 * Checks the order of messages. The user begins, or a summary on demand does, which may stand alone. Messages of one
 * role in a row are one turn ("Create a Message", `messages`). A system message stands directly after a message of the
 * user's, and last or in front of one of the assistant's ("Mid-conversation system messages", placement; one after a
 * server tool's use is not played here).
 */
export function checkOrder(messages: readonly RequestMessage[], ending: Ending): void {
  if (messages.length === 0) throw new ApiRefusal('messages: at least one message is required');
  const isSummary = messages[0]?.content[0]?.type === 'compaction' && messages[0].content[0].isSigned;
  if (messages[0]?.role !== 'user' && !isSummary)
    throw new ApiRefusal('messages.0: first message must use the "user" role');
  for (const [i, { role }] of messages.entries()) {
    if (role !== 'system') continue;
    if (!ending.facts.takesSystemMessages) {
      throw new ApiRefusal(`messages.${i}: role 'system' is not supported on this model`);
    }
    const [before, next] = [messages[i - 1]?.role, messages[i + 1]?.role ?? 'assistant'];
    if (before !== 'user' || next !== 'assistant') {
      throw new ApiRefusal(
        `messages.${i}: a system message must follow a user message, and be last or followed by an assistant message`,
      );
    }
  }
  if (ending.isSummarised) checkWhole(messages, ending);
  else if (!isSummary || messages.length > 1) checkLast(messages, ending);
  if (ending.mode === 'enabled') checkThoughtFirst(messages);
}

/** Refuses a summary of a conversation whose last reply is unfinished: `compaction_incomplete_turn` in the SDK. */
function checkWhole(messages: readonly RequestMessage[], { isUnfinished }: Ending): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || !isUnfinished(last)) return;
  const details = { error_code: 'compaction_incomplete_turn' };
  throw new ApiRefusal(`messages.${messages.length - 1}: the turn is not finished`, { details });
}

/**
 * Judges the last message: "Prefill not supported" of the page on errors, and for models that take a prefill "Prefill"
 * of the prompting guide (no space at its end). That a final message does not end with a thought, and holds none while
 * thinking is off, is told by the API's own errors; the documentation is silent. In `enabled` thinking, the turn of a
 * tool's use begins with a thought: "Preserving thinking blocks" of the page on extended thinking; "Adaptive thinking"
 * lifts that.
 */
function checkLast(messages: readonly RequestMessage[], { facts, mode, isUnfinished }: Ending): void {
  const at = messages.length - 1;
  const last = messages[at];
  if (last?.role === 'assistant') {
    const block = last.content.at(-1);
    if (block?.type === 'thinking') {
      throw new ApiRefusal(`messages.${at}: The final block in an assistant message cannot be \`thinking\`.`);
    }
    if (mode === 'off' && last.content.some(({ type }) => type === 'thinking')) {
      throw new ApiRefusal(
        `messages.${at}.content: When thinking is disabled, an \`assistant\` message in the final position cannot contain \`thinking\`.`,
      );
    }
    if (isUnfinished(last)) return;
    if (!facts.takesPrefill || mode !== 'off') {
      throw new ApiRefusal(
        'This model does not support assistant message prefill. The conversation must end with a user message.',
      );
    }
    if (block?.type === 'text' && /\s$/.test(block.text)) {
      throw new ApiRefusal('messages: final assistant content cannot end with trailing whitespace');
    }
  }
}

/** Refuses a turn of a tool's use that begins without a thought, in `enabled` thinking. */
function checkThoughtFirst(messages: readonly RequestMessage[]): void {
  const calling = messages.findLastIndex(({ role }) => role === 'assistant');
  const first = messages[calling]?.content[0]?.type;
  const isWithinTools = messages.at(-1)?.content.some(({ type }) => type === 'tool_result') ?? false;
  if (isWithinTools && first !== 'thinking') {
    throw new ApiRefusal(
      `messages.${calling}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
    );
  }
}

/**
 * Checks that every call is answered once, at the beginning of the very next turn, and that nothing else is answered
 * ("Handle tool calls"); a call that the API runs itself has its result within the assistant's turn, unless that is the
 * last ("Server tools").
 */
export function checkToolResults(messages: readonly RequestMessage[]): void {
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const { role, at, content } of turnsOf(messages)) {
    checkServerTools(content, { at, isLast: at + 1 > messages.length - 1 });
    const calls = content.filter((block) => block.type === 'tool_use').map(({ id }) => id);
    const results = content.filter((block) => block.type === 'tool_result').map(({ toolUseId }) => toolUseId);
    for (const id of results) {
      if (!open.delete(id)) {
        throw new ApiRefusal(
          `messages.${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      }
    }
    const leading = content.slice(0, results.length);
    if (role !== 'assistant' && (open.size > 0 || leading.some(({ type }) => type !== 'tool_result'))) {
      throw new ApiRefusal(
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(', ')}`,
      );
    }
    open = new Set(calls);
    if (open.size < calls.length || calls.some((id) => seen.has(id))) {
      throw new ApiRefusal(`messages.${at}: \`tool_use\` ids must be unique`);
    }
    for (const id of calls) seen.add(id);
  }
  if (open.size > 0) {
    throw new ApiRefusal(
      `messages.${messages.length - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(', ')}`,
    );
  }
}

interface Turn {
  readonly role: RequestMessage['role'];
  /** The blocks of its last message. */
  readonly at: number;
  readonly content: readonly RequestBlock[];
}

function turnsOf(messages: readonly RequestMessage[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    const before = turns.at(-1);
    if (before?.role !== role) turns.push({ role, at, content });
    else turns.splice(-1, 1, { role, at, content: [...before.content, ...content] });
  }
  return turns;
}

function checkServerTools(
  content: readonly RequestBlock[],
  { at, isLast }: { readonly at: number; readonly isLast: boolean },
): void {
  const tools = content.filter((block) => block.type === 'server_tool');
  const results = new Set(tools.filter(({ part }) => part === 'result').map(({ id }) => id));
  const open = tools.find(({ part, id }) => part === 'call' && !results.has(id));
  if (open && !isLast) {
    throw new ApiRefusal(
      `messages.${at}: \`web_search\` tool use with id \`${open.id}\` was found without a corresponding \`web_search_tool_result\` block`,
    );
  }
}
