import { runTurn, type TurnRequest } from '../agent/run-turn.ts';
import { NO_USAGE, type TurnOutcome, type TurnUsage } from '../agent/turn-outcome.ts';
import type { MessagesClient } from '../agent/turn-request.ts';
import { MemoryError } from '../errors.ts';
import type { Memory } from '../tool/memory-tool.ts';
import { codeOf, type JsonLog } from './json-log.ts';
import type { Receipts, TurnClaim } from './receipts.ts';
import { answerOf, decodeAnswer, encodeAnswer, isFinal, type TurnAnswer } from './turn-answer.ts';
import type { TurnLease } from './turn-lease.ts';
import { fingerprintOf, type TurnMessage } from './turn-message.ts';
import { createTurnSteps, type TurnSteps } from './turn-steps.ts';

/**
 * What came of one delivery. `later`: the same message may succeed, after so many seconds at least. `failed`: it will not
 * until something is changed by hand. `code` is fit for a log.
 */
export type Delivery =
  | { readonly state: 'answered'; readonly answer: TurnAnswer; readonly isFresh: boolean }
  | {
      readonly state: 'later';
      readonly code: string;
      readonly afterSeconds: number;
      /** The pause is known, and does not grow with the attempts. */
      readonly isExact?: true;
      /** The turn has come further, and goes on from there: this delivery was no failed attempt. */
      readonly hasProgress?: true;
    }
  | {
      readonly state: 'failed';
      readonly code: string;
      /** What the turn is called in logs, where it came so far. */
      readonly turn?: string;
    };

/** What one tenant's turn works with. */
interface TurnPlace {
  readonly memory: Pick<Memory, 'execute'>;
  readonly receipts: Receipts;
}

interface DeliveryRequest {
  readonly message: TurnMessage;
  readonly place: TurnPlace;
  /** Claude's client; asked with one whose key was refused, another one where there is a new key. */
  readonly client: (refused?: MessagesClient) => Promise<MessagesClient>;
  /** What a turn needs besides the message: the model and its limits. */
  readonly turn: Omit<
    TurnRequest,
    'client' | 'memory' | 'messages' | 'system' | 'signal' | 'from' | 'onStep'
  >;
  /** Ends the turn, in time to leave it to the next delivery. */
  readonly signal: AbortSignal;
  /** Until the signal fires. A step that would hardly fit is not begun. */
  readonly remainingMs?: () => number;
  /** How long this process may hold the turn, in milliseconds: until its end, and a margin. */
  readonly leaseMs: number;
  /** Called when the turn is taken, before Claude is asked. */
  readonly onTaken?: ((leaseMs: number) => Promise<void>) | undefined;
  /**
   * Hears once what Claude took in this delivery, however it ended, when Claude was asked; and how the API calls the
   * request that it refused.
   */
  readonly onSpent?: (usage: TurnUsage, claudeRequestId: string | undefined) => void;
  readonly log: JsonLog;
}

/** A turn that could not be finished waits so long at least, in seconds. */
const SHORTEST_PAUSE = 5;
/** What only the operator can mend, and is no fault of the message's, waits so long, in seconds. */
const OPERATOR_PAUSE = 900;
/** The key of the API is wrong, or its account may spend no more. */
const KEY_REFUSED: ReadonlySet<string> = new Set([
  'authentication_error',
  'permission_error',
  'billing_error',
  'http_401',
  'http_402',
  'http_403',
]);
/** Whatever the API advises its client: a message can wait for longer than that. */
const PASSING: ReadonlySet<string> = new Set(['rate_limit_error', 'overloaded_error', 'api_error']);
const NO_CLIENT: Delivery = { state: 'later', code: 'api_key_unavailable', afterSeconds: SHORTEST_PAUSE };
const TAKEN_OVER: Delivery = { state: 'later', code: 'taken_over', afterSeconds: SHORTEST_PAUSE };
/**
 * Stores tell ages in whole seconds, so a lease is over up to two seconds later than it seems. A message that came back
 * too early would use up one of its attempts.
 */
const CLOCK_STEPS = 2;
/** For the release of a turn after the signal has ended everything else. */
const RELEASE_WITHIN_MS = 5_000;

/**
 * Runs a turn unless it was answered before or another worker runs it, and stores the answer with its receipt. Never
 * rejects.
 */
export async function deliverTurn(request: DeliveryRequest): Promise<Delivery> {
  const { message, place, signal, leaseMs } = request;
  try {
    const wanted = { leaseMs, signal, message: fingerprintOf(message) };
    const claim = await place.receipts.claim(message.turn, wanted);
    switch (claim.state) {
      case 'answered':
        return { state: 'answered', answer: decodeAnswer(claim.answer), isFresh: false };
      case 'other_message':
        return { state: 'failed', code: 'other_message' };
      case 'running':
        return {
          state: 'later',
          code: 'running',
          afterSeconds: Math.ceil(claim.freeInMs / 1_000) + CLOCK_STEPS,
          isExact: true,
        };
      case 'ours':
        await request.onTaken?.(leaseMs);
        return await runClaimed(request, claim);
    }
  } catch (error) {
    return failureOf(error, signal);
  }
}

async function runClaimed(
  request: DeliveryRequest,
  { lease, progress: saved }: Extract<TurnClaim, { readonly state: 'ours' }>,
): Promise<Delivery> {
  const { remainingMs = () => Number.POSITIVE_INFINITY, log } = request;
  try {
    const steps = createTurnSteps({ lease, saved, remainingMs, log });
    const outcome = await askClaude(request, steps);
    if (steps.isTakenOver) return TAKEN_OVER;
    const unanswered = 'state' in outcome ? outcome : unfinished(request, { outcome, steps });
    if (unanswered !== undefined) {
      await releaseTurn(request, lease);
      return unanswered;
    }
    // What Claude has said is kept even when the time is up meanwhile.
    const stored = await lease.finish(encodeAnswer(answerOf(outcome as Parameters<typeof answerOf>[0])));
    if (stored === undefined) return TAKEN_OVER;
    return { state: 'answered', answer: decodeAnswer(stored), isFresh: true };
  } catch (error) {
    await releaseTurn(request, lease);
    throw error;
  }
}

/** With another key once more where the API refuses the first one. */
async function askClaude(request: DeliveryRequest, steps: TurnSteps): Promise<TurnOutcome | Delivery> {
  const { message, place, turn, signal, log } = request;
  const before = steps.latest?.usage ?? NO_USAGE;
  const clientFor = async (refused?: MessagesClient): Promise<MessagesClient | undefined> =>
    request.client(refused).catch((error: unknown) => {
      log.error('there is no client of Claude', { code: codeOf(error) });
      return undefined;
    });
  const run = (client: MessagesClient): Promise<TurnOutcome> =>
    runTurn({
      ...turn,
      client,
      memory: place.memory,
      messages: message.messages,
      signal,
      onStep: (progress) => steps.onStep(progress),
      ...(steps.latest !== undefined && { from: steps.latest }),
      ...(message.system !== undefined && { system: message.system }),
      ...(message.model !== undefined && { model: message.model }),
      ...(message.maxTokens !== undefined && { maxTokens: message.maxTokens }),
    });
  const client = await clientFor();
  if (client === undefined) return NO_CLIENT;
  let outcome = await run(client);
  if (outcome.outcome === 'failed' && KEY_REFUSED.has(outcome.code)) {
    const renewed = await clientFor(client);
    if (renewed !== undefined && renewed !== client) outcome = await run(renewed);
  }
  const refused = outcome.outcome === 'failed' ? outcome.requestId : undefined;
  request.onSpent?.(difference(outcome.usage, before), refused);
  return outcome;
}

/** A lease that cannot be released runs out by itself. */
async function releaseTurn({ log }: DeliveryRequest, lease: TurnLease): Promise<void> {
  await lease.release({ signal: AbortSignal.timeout(RELEASE_WITHIN_MS) }).catch((error: unknown) => {
    log.warn('the turn could not be released before its lease ends', { code: codeOf(error) });
  });
}

/** Undefined: the turn has ended for good. */
function unfinished(
  { message }: DeliveryRequest,
  { outcome, steps }: { readonly outcome: TurnOutcome; readonly steps: TurnSteps },
): Delivery | undefined {
  if (isFinal(outcome)) return undefined;
  const progress = steps.hasProgress ? ({ hasProgress: true } as const) : {};
  if (outcome.outcome === 'interrupted') {
    const code = outcome.by === 'stopped' ? 'unfinished' : outcome.by;
    if (!steps.hasProgress) return { state: 'later', code, afterSeconds: SHORTEST_PAUSE };
    return { state: 'later', code, afterSeconds: 0, isExact: true, hasProgress: true };
  }
  const { code, retry, retryAfterMs = 0 } = outcome;
  const isDeployments = code === 'not_found_error' && message.model === undefined;
  if (KEY_REFUSED.has(code) || isDeployments) {
    return { state: 'later', code, afterSeconds: OPERATOR_PAUSE, ...progress };
  }
  if (retry === 'never' && !PASSING.has(code)) return { state: 'failed', code };
  const afterSeconds = Math.max(SHORTEST_PAUSE, Math.ceil(retryAfterMs / 1_000));
  return { state: 'later', code, afterSeconds, ...progress };
}

/** Of anything that went wrong before or after Claude's part. */
export function failureOf(error: unknown, signal: AbortSignal | undefined): Delivery {
  const code = codeOf(error);
  if (signal?.aborted) return { state: 'later', code: 'deadline', afterSeconds: SHORTEST_PAUSE };
  const mayPass =
    !(error instanceof MemoryError) || error.retry !== 'never' || error.code === 'outcome_unknown';
  return mayPass ? { state: 'later', code, afterSeconds: SHORTEST_PAUSE } : { state: 'failed', code };
}

function difference(usage: TurnUsage, before: TurnUsage): TurnUsage {
  const names = Object.keys(usage) as (keyof TurnUsage)[];
  return Object.fromEntries(names.map((name) => [name, usage[name] - before[name]])) as unknown as TurnUsage;
}
