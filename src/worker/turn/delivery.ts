import { NO_USAGE, type TurnOutcome, type TurnUsage } from '../../agent/turn-outcome.ts';
import { hasReason, MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { type ToldFailure, toldFailure } from '../json-log.ts';
import { isFinal, type TurnAnswer } from './turn-answer.ts';
import type { AnswerForm, TurnMessage } from './turn-message.ts';
import type { DeliveryProgress } from './turn-progress.ts';

/**
 * The result of one delivery. `later`: the same message may succeed, after `afterSeconds` at least. `failed`: it will
 * only succeed after a change by hand. `code` is fit for a log.
 */
export type Delivery =
  | {
      readonly state: 'answered';
      readonly answer: TurnAnswer;
      readonly isFresh: boolean;
      /** The form in which a caller that waits wants the answer; its text alone unless given. */
      readonly form?: AnswerForm;
    }
  | {
      readonly state: 'later';
      readonly code: string;
      readonly afterSeconds: number;
      /** True where the pause is known, and does not grow with the attempts. */
      readonly isExact?: true;
      /** The seconds since another turn's refusal that holds this one up as well: the longest pause counts from there. */
      readonly agoSeconds?: number;
      /** True where the turn has come further, and goes on from there: this delivery was no failed attempt. */
      readonly hasProgress?: true;
      /** True where it waits for another turn of its conversation: this delivery was no failed attempt. */
      readonly isBlocked?: true;
      /**
       * True where a condition holds it up, such as an overload, a wrong key or a spent budget, through no fault of the
       * message's: this delivery was no failed attempt.
       */
      readonly isCondition?: true;
      /** The holder of the root key that refused or was away, where it is the tenant. */
      readonly keyHolder?: ToldFailure['keyHolder'];
      /** The name of the turn in logs, where the delivery came as far as that. */
      readonly turn?: string;
    }
  | {
      readonly state: 'failed';
      readonly code: string;
      /** The name of the turn in logs, where the delivery came as far as that. */
      readonly turn?: string;
    };

export type NotAnswered = Exclude<Delivery, { readonly state: 'answered' }>;
export type Later = Extract<Delivery, { readonly state: 'later' }>;

/** The attempts that a turn has: deliveries that took it and brought it no further, through no condition. */
const MOST_ATTEMPTS = 10;
/**
 * The attempts that a reply uses up besides its own when it is longer than its function: it would be bought again each
 * time, so the third is the last.
 */
const LONG_REPLY_ATTEMPTS = 3;
/** The delivery of a turn that has used up its attempts, and whose worker died at the last one. */
const WORKER_DIED: Delivery = { state: 'failed', code: 'worker_died' };
/** The least time that a turn which could not be finished waits, in seconds. */
const SHORTEST_PAUSE = 5;
/**
 * The pause, in seconds, for a fault that only the operator can mend and that is not the message's. After the fault has
 * ended, a gate stays shut for up to a minute, and a turn waits for up to another while one asks: a quarter of an hour
 * in all.
 */
const OPERATOR_PAUSE = 780;
/** The delivery of a turn that waits for others of its tenant, which have reserved what is left of the day's tokens. */
export const TOKENS_RESERVED: Delivery = {
  state: 'later',
  code: 'tokens_reserved',
  afterSeconds: SHORTEST_PAUSE,
  isCondition: true,
};
/** The delivery of a turn whose sealed prompt is refused: it must be sealed again. */
export const PROMPT_REFUSED: Delivery = { state: 'failed', code: 'sealed_prompt_refused' };
/** Codes that say that the key of the API is wrong, or its account may spend no more. */
export const KEY_REFUSED: ReadonlySet<string> = new Set([
  'authentication_error',
  'permission_error',
  'billing_error',
  'http_401',
  'http_402',
  'http_403',
]);
/** Codes that pass, whatever the API advises its client: a message can wait for longer than a client does. */
const PASSING: ReadonlySet<string> = new Set(['rate_limit_error', 'overloaded_error', 'api_error']);
/**
 * Failures of the store, the root key, the token service or the queue of replies that end with a condition of the
 * deployment.
 */
const CONDITIONS: ReadonlySet<string> = new Set<MemoryErrorCode>([
  'unavailable',
  'timeout',
  'outcome_unknown',
  'access_denied',
  'key_unavailable',
]);
/** Codes that may be the message's own fault: a reply that is always cut, and an error that nobody has foreseen. */
const NO_CONDITIONS: ReadonlySet<string> = new Set(['reply_cut', 'unexpected']);
export const NO_CLIENT: Delivery = {
  state: 'later',
  code: 'api_key_unavailable',
  afterSeconds: SHORTEST_PAUSE,
  isCondition: true,
};
export const TAKEN_OVER: Delivery = { state: 'later', code: 'taken_over', afterSeconds: SHORTEST_PAUSE };
/**
 * The delivery of a turn whose conversation is busy. Turns of people come one after the other, and are mostly short.
 */
export const CONVERSATION_BUSY: Delivery = {
  state: 'later',
  code: 'conversation_busy',
  afterSeconds: SHORTEST_PAUSE,
  isBlocked: true,
};
/**
 * The seconds by which a lease may last longer than it seems, since stores tell ages in whole seconds. A message that
 * came back too early would use up one of its attempts.
 */
const CLOCK_STEPS = 2;

/** Makes the delivery of a turn that another worker runs, for `freeInMs` at most. */
export function runningFor(freeInMs: number): Delivery {
  const afterSeconds = Math.ceil(freeInMs / 1_000) + CLOCK_STEPS;
  return { state: 'later', code: 'running', afterSeconds, isExact: true };
}

/** Codes of what holds up one turn or one tenant alone. */
const OWN_CODES: ReadonlySet<string> = new Set(['deadline', 'tokens_per_day', 'tokens_reserved']);

/** Tells a delivery that Claude refused for all turns alike, or that found no client of Claude. */
export function isRefusal(delivery: Delivery): delivery is Later {
  if (delivery.state !== 'later' || !delivery.isCondition) return false;
  const { code } = delivery;
  return !CONDITIONS.has(code) && !OWN_CODES.has(code);
}

/** A delivery as it ends, and the attempts that its turn has used up then. */
interface Counted {
  readonly delivery: Delivery;
  readonly attempts: number;
}

/**
 * Judges a delivery by the attempts that its turn has used up, this one included. A turn that has none left fails, with
 * the code of its last one, and has all of them again: its message may be sent back from the dead letters.
 */
export function countAttempts(delivery: Delivery, used: number): Counted {
  if (delivery.state !== 'later') return { delivery, attempts: 0 };
  const { code, hasProgress, isBlocked, isCondition } = delivery;
  if (hasProgress || isBlocked || isCondition) return { delivery, attempts: Math.max(0, used - 1) };
  const attempts = used + (code === 'deadline' ? LONG_REPLY_ATTEMPTS : 0);
  return attempts < MOST_ATTEMPTS
    ? { delivery, attempts }
    : { delivery: { state: 'failed', code }, attempts: 0 };
}

/** Answers the end of a turn that had used up its attempts before it was taken; undefined: it may be run. */
export function exhausted(used: number): Delivery | undefined {
  return used > MOST_ATTEMPTS ? WORKER_DIED : undefined;
}

/** Judges the outcome of a turn; undefined: the turn has ended for good. */
export function unfinished(
  message: Pick<TurnMessage, 'model'>,
  { outcome, progress }: { readonly outcome: TurnOutcome; readonly progress: DeliveryProgress },
): Delivery | undefined {
  // Claude said no word, and a turn stores only an answer with words.
  if (outcome.outcome === 'truncated' && outcome.by === 'thinking') {
    return { state: 'failed', code: 'thinking_exceeds_max_tokens' };
  }
  if (isFinal(outcome)) return undefined;
  const further = progress.hasProgress ? ({ hasProgress: true } as const) : {};
  if (outcome.outcome === 'interrupted') {
    const code = outcome.by === 'stopped' ? 'unfinished' : outcome.by;
    if (progress.hasProgress) {
      return { state: 'later', code, afterSeconds: 0, isExact: true, hasProgress: true };
    }
    const isUnheard = code === 'deadline' && tokensOf(outcome.usage) === tokensOf(progress.latest?.usage);
    return { state: 'later', code, afterSeconds: SHORTEST_PAUSE, ...(isUnheard && { isCondition: true }) };
  }
  if (outcome.source === 'memory') {
    const failure = failureOf(outcome.error, undefined);
    return failure.state === 'later' ? { ...failure, ...further } : failure;
  }
  const { code, retry, retryAfterMs = 0 } = outcome;
  const isDeployments = code === 'not_found_error' && message.model === undefined;
  if (KEY_REFUSED.has(code) || isDeployments) {
    return { state: 'later', code, afterSeconds: OPERATOR_PAUSE, isCondition: true, ...further };
  }
  if (retry === 'never' && !PASSING.has(code)) return { state: 'failed', code };
  const afterSeconds = Math.max(SHORTEST_PAUSE, Math.ceil(retryAfterMs / 1_000));
  const condition = NO_CONDITIONS.has(code) ? {} : ({ isCondition: true } as const);
  return { state: 'later', code, afterSeconds, ...condition, ...further };
}

/** Sums the tokens; zero for a turn that Claude has not begun to answer. */
function tokensOf(usage: TurnUsage = NO_USAGE): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}

/** Judges an error outside of Claude's part. A tenant that was shredded does not come back. */
export function failureOf(error: unknown, signal: AbortSignal | undefined): NotAnswered {
  const told = toldFailure(error);
  const { code } = told;
  const passing = { state: 'later', afterSeconds: SHORTEST_PAUSE } as const;
  if (signal?.aborted) return { ...passing, code: 'deadline', isCondition: true };
  if (CONDITIONS.has(code) && !hasReason(error, 'destroyed'))
    return { ...passing, ...told, isCondition: true };
  // Keys that were wiped beneath a call, as by a change of the tenant's root key, are there for the next one.
  const mayPass = !(error instanceof MemoryError) || error.retry !== 'never' || code === 'aborted';
  return mayPass ? { ...passing, code } : { state: 'failed', code };
}
