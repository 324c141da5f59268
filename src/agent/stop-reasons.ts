import type { BetaMessage } from '@anthropic-ai/sdk/resources/beta';

/** The meaning of a stop reason for the turn. */
interface StopReason {
  /**
   * The next request of the turn: with the `results` of the reply's calls, for the `rest` of the reply, or none
   * (`nothing`).
   */
  readonly asks: 'results' | 'rest' | 'nothing';
  /** The end of a turn with this reply last: an answer, a refusal, or the limit by which it is truncated. */
  readonly ends: 'answered' | 'refused' | 'max_requests' | 'max_tokens' | 'context_window' | 'unknown';
  /** True where the turn owes words: without one it is asked for them once more. */
  readonly owesWords?: true;
}

/** Every stop reason of the API and its meaning. A reason that the SDK adds to its union does not compile here. */
const STOP_REASONS: Readonly<Record<NonNullable<BetaMessage['stop_reason']>, StopReason>> = {
  end_turn: { asks: 'nothing', ends: 'answered', owesWords: true },
  stop_sequence: { asks: 'nothing', ends: 'answered' },
  tool_use: { asks: 'results', ends: 'max_requests' },
  pause_turn: { asks: 'rest', ends: 'max_requests' },
  compaction: { asks: 'rest', ends: 'max_requests' },
  max_tokens: { asks: 'nothing', ends: 'max_tokens' },
  model_context_window_exceeded: { asks: 'nothing', ends: 'context_window' },
  refusal: { asks: 'nothing', ends: 'refused' },
};
/** The meaning of a reason that the API has and this version does not. The SDK's runner stops there. */
const UNKNOWN: StopReason = { asks: 'nothing', ends: 'unknown' };

export function meaningOf({ stop_reason: reason }: Pick<BetaMessage, 'stop_reason'>): StopReason {
  return reason !== null && Object.hasOwn(STOP_REASONS, reason) ? STOP_REASONS[reason] : UNKNOWN;
}
