import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import type { TurnOutcome, TurnUsage } from '../../agent/turn-outcome.ts';
import { openTenant } from '../../open/open-memory.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import type { RequestOptions } from '../../store/port.ts';
import { encodeFields } from '../../tree/records/sealed-record.ts';
import { parseAnswer } from '../../turns/turn-records.ts';
import type { TurnTouches } from '../../turns/turn-trace.ts';
import { createReceipts } from '../leases/receipts.ts';
import { MAX_ANSWER_BYTES } from '../leases/turn-lease.ts';

/** The final end of a turn, as it is stored with its receipt. */
export interface TurnAnswer {
  /** `too_large`: Claude's words, or the conversation, are larger than a stored answer may be. */
  readonly outcome: 'answered' | 'refused' | 'truncated' | 'too_large';
  /** Claude's words since its last tool call; empty when it refused, and where they are too large themselves. */
  readonly text: string;
  /** The limit that cut the answer short, or the kind of refusal. */
  readonly reason?: string;
  readonly model: string;
  /**
   * The conversation as a next turn can build on it; of a stored conversation the messages that this turn added. Empty
   * when it is too large.
   */
  readonly messages: readonly BetaMessageParam[];
  /** The digest of the prompts that make these messages valid; absent in answers of earlier versions. */
  readonly digest?: string;
  readonly usage: TurnUsage;
  /** The touches of the turn on files; absent in answers of earlier versions. */
  readonly trace?: TurnTouches;
}

/** The part of an answer for a caller who only shows it: it is as large as the words. */
export type TextAnswer = Pick<TurnAnswer, 'outcome' | 'text' | 'reason'>;

export function textOf({ outcome, text, reason }: TurnAnswer): TextAnswer {
  return { outcome, text, ...(reason !== undefined && { reason }) };
}

/** The outcomes that are final: the same turn run again would end no better. */
export type FinalOutcome = Extract<TurnOutcome, { readonly outcome: 'answered' | 'refused' | 'truncated' }>;

export function isFinal(outcome: TurnOutcome): outcome is FinalOutcome {
  return outcome.outcome !== 'interrupted' && outcome.outcome !== 'failed';
}

export function answerOf(outcome: FinalOutcome, name: Pick<TurnTouches, 'turn' | 'follows'>): TurnAnswer {
  const { messages, digest, usage, reply, touches } = outcome;
  const common = { messages, digest, usage, model: reply.model, trace: { ...name, ...touches } };
  switch (outcome.outcome) {
    case 'answered':
      return { ...common, outcome: 'answered', text: outcome.text };
    case 'refused': {
      const { category } = outcome;
      return { ...common, outcome: 'refused', text: '', ...(category !== undefined && { reason: category }) };
    }
    case 'truncated':
      return { ...common, outcome: 'truncated', text: outcome.text, reason: outcome.by };
  }
}

/**
 * Encodes an answer in at most `MAX_ANSWER_BYTES`: a larger one without its conversation, or also without its words.
 */
export function encodeAnswer(answer: TurnAnswer): Uint8Array {
  const whole = encodeFields({ ...answer });
  if (whole.length <= MAX_ANSWER_BYTES) return whole;
  const ended = { ...tooLarge(answer, 'answer_bytes'), messages: [] };
  const spoken = encodeFields({ ...ended });
  return spoken.length <= MAX_ANSWER_BYTES ? spoken : encodeFields({ ...ended, text: '' });
}

export function tooLarge(answer: TurnAnswer, reason: 'answer_bytes' | 'conversation_bytes'): TurnAnswer {
  return { ...answer, outcome: 'too_large', reason };
}

/**
 * Decodes an answer.
 *
 * @throws MemoryError `integrity` for malformed content.
 */
export function decodeAnswer(content: Uint8Array): TurnAnswer {
  return parseAnswer(content) as unknown as TurnAnswer;
}

/** The stored answers of one tenant's turns, for the receiver of replies that only point to them. */
export interface Answers extends AsyncDisposable {
  /**
   * Reads an answer; undefined when the turn is unknown or not finished.
   *
   * @throws MemoryError the errors of the store and the keyring.
   */
  read(turn: string, request?: RequestOptions): Promise<TurnAnswer | undefined>;
  close(): Promise<void>;
}

/**
 * Opens the stored answers of one tenant. A caller closes them when it is done.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export async function openAnswers(options: MemoryOptions): Promise<Answers> {
  const { parts, close } = await openTenant(options);
  const receipts = createReceipts(parts.context);
  return {
    async read(turn, request) {
      const stored = await receipts.answer(turn, request);
      return stored && decodeAnswer(stored);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
