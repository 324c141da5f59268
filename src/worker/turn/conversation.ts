import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { encodeFields } from '../../tree/records/sealed-record.ts';
import { parseConversation } from '../../turns/turn-records.ts';
import type { TurnAnswer } from './turn-answer.ts';

/** What is stored of a conversation. */
export interface Conversation {
  /** As the next turn sends them; nothing that stands before a summary. */
  readonly messages: readonly BetaMessageParam[];
  readonly last: LastTurn;
}

/** The turn that was stored last. */
interface LastTurn {
  /** The id of its receipt. */
  readonly turn: string;
  /** How many of the messages were there before it. */
  readonly from: number;
  /** Kept until it lies beside the receipt for certain. */
  readonly answer: Omit<TurnAnswer, 'messages'>;
}

/** Of a conversation as it is stored and read: no record beside the tree is larger. */
export const MAX_CONVERSATION_BYTES = 16_777_216;

export function encodeConversation(conversation: Conversation): Uint8Array {
  return encodeFields({ ...conversation });
}

/** @throws MemoryError `integrity` for what is malformed. */
export function decodeConversation(content: Uint8Array): Conversation {
  return parseConversation(content) as Conversation;
}

/** What the last turn answered, with the messages that it added. */
export function lastAnswer({ messages, last }: Conversation): TurnAnswer {
  return { ...last.answer, messages: messages.slice(last.from) };
}

/** The conversation behind a turn that ended so; the turn's answer has all messages, of which it added those from `own` on. */
export function conversationBehind(
  own: number,
  { turn, answer: { messages: all, ...answer } }: { readonly turn: string; readonly answer: TurnAnswer },
): Conversation {
  const messages = behindSummary(all);
  const begin = messages === all ? 0 : 1;
  const from = Math.max(begin, own - (all.length - messages.length));
  return { messages, last: { turn, from, answer } };
}

/** The API wants the user to begin, and passes over this as over everything before a summary. */
const BEGINNING: BetaMessageParam = { role: 'user', content: 'What was said so far stands in the summary.' };

/**
 * What the API still reads of a conversation: what stands from the last summary on, behind one short message. A block whose
 * summary failed is none.
 */
export function behindSummary(messages: readonly BetaMessageParam[]): readonly BetaMessageParam[] {
  const at = messages.findLastIndex((message) => summaryIn(message) >= 0);
  const message = messages[at];
  if (message === undefined || typeof message.content !== 'object') return messages;
  const content = message.content.slice(summaryIn(message));
  return [BEGINNING, { ...message, content } as BetaMessageParam, ...messages.slice(at + 1)];
}

/** The place of the last summary in a message; -1 where there is none. */
function summaryIn({ content }: BetaMessageParam): number {
  if (typeof content !== 'object') return -1;
  return content.findLastIndex((block) => block.type === 'compaction' && typeof block.content === 'string');
}
