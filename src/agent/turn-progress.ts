import type {
  BetaCompactionBlockParam,
  BetaMessage,
  BetaMessageParam,
} from '@anthropic-ai/sdk/resources/beta';
import type { Touches } from '../tree/touches.ts';
import { meaningOf } from './stop-reasons.ts';
import { addReply, type TurnUsage } from './turn-outcome.ts';

/** A turn between two replies. It is plain text, like the conversation. */
export interface TurnProgress {
  readonly messages: readonly BetaMessageParam[];
  /** Claude's words of a reply that goes on with the next one, and with `reply` of that one; else empty. */
  readonly text: string;
  readonly usage: TurnUsage;
  /** The digest of the prompts that make these messages valid. */
  readonly digest?: string;
  /** The touches on files; absent where an earlier version of the library wrote the progress. */
  readonly touches?: Touches;
  /** Claude's last reply, where the turn met its most requests with it: a turn that goes on from here ends with it. */
  readonly reply?: BetaMessage;
  /** The reply after the messages, while its tools run: each of its edits may have been made. Its usage is counted. */
  readonly pending?: PendingReply;
}

/** A reply that writes to the memory, kept before its tools run. */
export interface PendingReply {
  readonly reply: BetaMessage;
  /** The key under which its commands take effect once; base64url. */
  readonly key: string;
  /** The time at which the key was drawn, milliseconds since the epoch. */
  readonly since: number;
}

/** Answers the messages of a progress, with the reply whose tools may have run. */
export function messagesOf({ messages, pending }: TurnProgress): readonly BetaMessageParam[] {
  return pending ? [...messages, { role: 'assistant', content: pending.reply.content }] : messages;
}

/** The state of a turn while it runs. */
export interface TurnState {
  /** The conversation as it was last sent. */
  messages: readonly BetaMessageParam[];
  /** Claude's words since its last tool call. */
  text: string;
  usage: TurnUsage;
  reply: BetaMessage | undefined;
  /** The reply at the end of the messages, whose tools another process may have run. */
  pending: PendingReply | undefined;
}

/** Tells whether the runner makes another request after this reply. */
export function isUnfinished(reply: BetaMessage): boolean {
  return meaningOf(reply).asks !== 'nothing';
}

/** Tells whether the next reply is the rest of this one. */
function isGoingOn(reply: BetaMessage | undefined): boolean {
  return reply !== undefined && meaningOf(reply).asks === 'rest';
}

export function stepAfter(
  { messages, text, usage, pending }: TurnState,
  reply: BetaMessage,
  results: BetaMessageParam | null,
): TurnProgress {
  const said: readonly BetaMessageParam[] = pending ? [] : [{ role: 'assistant', content: reply.content }];
  return {
    messages: [...messages, ...said, ...(results === null ? [] : [results])],
    text: isGoingOn(reply) ? text : '',
    usage,
  };
}

export function takeReply(progress: TurnState, reply: BetaMessage): void {
  takeWords(progress, reply);
  progress.usage = addReply(progress.usage, reply);
}

/** Takes a reply whose usage is counted. */
export function takeWords(progress: TurnState, reply: BetaMessage): void {
  const words = reply.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  progress.text = wordsBefore(progress) + words;
  progress.reply = reply;
}

/** Answers the words with which the next reply goes on. */
export function wordsBefore({ reply, text }: TurnState): string {
  return reply === undefined || isGoingOn(reply) ? text : '';
}

/** Finds the summary on demand with which a conversation begins. */
export function leadingSummary([first]: readonly BetaMessageParam[]): BetaCompactionBlockParam | undefined {
  const [block] = typeof first?.content === 'object' ? first.content : [];
  return block?.type === 'compaction' && typeof block.signature === 'string' ? block : undefined;
}
