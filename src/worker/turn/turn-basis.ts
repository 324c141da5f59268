import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import {
  type ConversationBasis,
  conversationDigest,
  onBasis,
  withoutThoughts,
} from '../../agent/conversation-digest.ts';
import { leadingSummary } from '../../agent/turn-progress.ts';
import { MemoryError } from '../../errors.ts';
import type { RequestOptions } from '../../store/port.ts';
import { encodeFields } from '../../tree/records/sealed-record.ts';
import type { TurnTouches } from '../../turns/turn-trace.ts';
import { MAX_CONVERSATION_BYTES } from '../leases/conversation.ts';
import type { ConversationLease } from '../leases/conversation-lease.ts';
import type { ConversationClaim, Conversations } from '../leases/conversations.ts';
import type { TurnMessage } from './turn-message.ts';

/** The basis of a turn: its stored conversation, or nothing where the message brings its own. */
export interface TurnBasis {
  /** The lease of the stored conversation; undefined without one. */
  readonly lease: ConversationLease | undefined;
  /** The stored messages, valid on the prompts of this turn. */
  readonly before: readonly BetaMessageParam[];
  /** The messages that Claude is asked first. */
  readonly messages: readonly BetaMessageParam[];
  /** The digest of the prompts of this turn. */
  readonly digest: string;
}

/**
 * The outcome of a search for the basis: that of a claim of the conversation, and `ours` also for a turn without one.
 */
type FoundBasis =
  | Exclude<ConversationClaim, { readonly state: 'ours' }>
  | { readonly state: 'ours'; readonly basis: TurnBasis };

interface BasisRequest extends RequestOptions {
  readonly conversations: Conversations;
  /** The name of the turn, as its receipt has it. */
  readonly name: string;
  readonly leaseMs: number;
}

/** Takes the conversation that the message names for its turn. @throws as `Conversations.claim`. */
export async function findBasis(
  { message, turn }: { readonly message: TurnMessage; readonly turn: ConversationBasis },
  { conversations, name, leaseMs, signal }: BasisRequest,
): Promise<FoundBasis> {
  const { conversation, system, messages } = message;
  const digest = conversationDigest({ ...turn, ...(system !== undefined && { system }) });
  if (conversation === undefined) {
    return { state: 'ours', basis: { lease: undefined, before: [], messages, digest } };
  }
  const claim = await conversations.claim(conversation, { turn: name, leaseMs, signal });
  if (claim.state !== 'ours') return claim;
  const { lease } = claim;
  const stored = { messages: lease.messages, ...(lease.digest !== undefined && { digest: lease.digest }) };
  const before = withoutOtherThoughts(digest, stored);
  return { state: 'ours', basis: { lease, before, messages: [...before, ...messages], digest } };
}

/**
 * Counts the messages that were there before a turn, of all that are there after it: none where the turn put a summary
 * in their place. Where Claude refused the thoughts in them, a message of thoughts alone has been left out.
 */
export function countBefore({ before }: Pick<TurnBasis, 'before'>, all: readonly BetaMessageParam[]): number {
  const summary = leadingSummary(all);
  const isOther = summary && summary.signature !== leadingSummary(before)?.signature;
  // A summary of the turn's own may stand there in plain words.
  if (isOther || beginningOf(all) !== beginningOf(before)) return 0;
  const at = before.findIndex(isThoughtAlone);
  return at < 0 || isThoughtAlone(all[at]) ? before.length : withoutThoughts(before).length;
}

/** Makes the text that tells how a conversation begins, the same for a summary on demand and its plain words. */
function beginningOf(messages: readonly BetaMessageParam[]): string | undefined {
  return JSON.stringify(leadingSummary(messages)?.content ?? messages[0]?.content);
}

function isThoughtAlone(message: BetaMessageParam | undefined): boolean {
  return message !== undefined && withoutThoughts([message]).length === 0;
}

/** The facts of the turn itself that are written down, beside what it did to files. */
export function traceName(
  { turn }: TurnMessage,
  { lease }: TurnBasis,
): Pick<TurnTouches, 'turn' | 'follows'> {
  return { turn, ...(lease?.lastTurn !== undefined && { follows: lease.lastTurn }) };
}

/** @throws MemoryError `limit_exceeded` where the prompt alone makes a conversation larger than one may be. */
export function refuseTooLarge({ lease, before, messages }: TurnBasis): void {
  if (lease === undefined) return;
  const value = lease.bytes + encodeFields({ messages: messages.slice(before.length) }).length;
  if (value <= MAX_CONVERSATION_BYTES) return;
  throw new MemoryError('limit_exceeded', 'The conversation is larger than a conversation may be.', {
    details: { limit: 'conversation_bytes', value, max: MAX_CONVERSATION_BYTES },
  });
}

/**
 * Answers the messages without the thoughts that Claude had with other prompts: after a redeployment the conversation
 * goes on.
 */
export function withoutOtherThoughts(
  digest: string,
  given: { readonly messages: readonly BetaMessageParam[]; readonly digest?: string },
): readonly BetaMessageParam[] {
  const messages = onBasis(digest, given, 'drop_thinking');
  return messages === 'changed' ? [] : messages;
}
