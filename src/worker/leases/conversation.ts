import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { leadingSummary } from '../../agent/turn-progress.ts';
import { encodeFields } from '../../tree/records/sealed-record.ts';
import { parseConversation } from '../../turns/turn-records.ts';
import type { TurnAnswer } from '../turn/turn-answer.ts';

/** A conversation as it is stored. */
export interface Conversation {
  /** The messages as the next turn sends them, without those before a summary. */
  readonly messages: readonly BetaMessageParam[];
  readonly last: LastTurn;
}

/** The turn that was stored last. */
interface LastTurn {
  /** The id of its receipt. */
  readonly turn: string;
  /** The number of messages before it. */
  readonly from: number;
  /** The answer, kept until it certainly lies beside the receipt. */
  readonly answer: Omit<TurnAnswer, 'messages'>;
}

/** The most bytes of a conversation as it is stored and read: every record beside the tree is at most as large. */
export const MAX_CONVERSATION_BYTES = 16_777_216;

export function encodeConversation(conversation: Conversation): Uint8Array {
  return encodeFields({ ...conversation });
}

/**
 * Decodes a conversation.
 *
 * @throws MemoryError `integrity` for malformed content.
 */
export function decodeConversation(content: Uint8Array): Conversation {
  return parseConversation(content) as Conversation;
}

/** Answers the last turn's answer, with the messages that it added. */
export function lastAnswer({ messages, last }: Conversation): TurnAnswer {
  return { ...last.answer, messages: messages.slice(last.from) };
}

/**
 * Makes the conversation after a turn with this answer; the answer has all messages, of which the turn added those from
 * `own` on.
 */
export function conversationAfter(
  own: number,
  { turn, answer: { messages: all, ...answer } }: { readonly turn: string; readonly answer: TurnAnswer },
): Conversation {
  const messages = sinceSummary(all);
  const begin = messages === all ? 0 : 1;
  const from = Math.max(begin, own - (all.length - messages.length));
  return { messages, last: { turn, from, answer } };
}

/**
 * The message before a summary. The API wants the user to begin, and passes over it as over everything before a
 * summary.
 */
const BEGINNING: BetaMessageParam = { role: 'user', content: 'What was said so far stands in the summary.' };

/**
 * Answers the part of a conversation that the API still reads: from the last summary on, after one short message. A
 * block whose summary failed does not count, and one that was made on demand begins the conversation already.
 */
function sinceSummary(messages: readonly BetaMessageParam[]): readonly BetaMessageParam[] {
  const at = messages.findLastIndex((message) => summaryIn(message) >= 0);
  const message = messages[at];
  if (message === undefined || typeof message.content !== 'object' || leadingSummary(messages))
    return messages;
  const content = message.content.slice(summaryIn(message));
  return [BEGINNING, { ...message, content } as BetaMessageParam, ...messages.slice(at + 1)];
}

/** Finds the place of the last summary in a message; -1 where it has none. */
function summaryIn({ content }: BetaMessageParam): number {
  if (typeof content !== 'object') return -1;
  return content.findLastIndex((block) => block.type === 'compaction' && typeof block.content === 'string');
}
