import { runTurn, type TurnRequest } from '../agent/run-turn.ts';
import type { TurnOutcome } from '../agent/turn-outcome.ts';
import type { MessagesClient } from '../agent/turn-request.ts';
import { isForTheOperator, MemoryError } from '../errors.ts';
import type { Memory } from '../tool/memory-tool.ts';
import type { JsonLog } from './json-log.ts';
import type { Receipts, TurnLease } from './receipts.ts';
import { answerOf, decodeAnswer, encodeAnswer, isFinal, type TurnAnswer } from './turn-answer.ts';
import type { TurnMessage } from './turn-message.ts';

/**
 * What came of one delivery. `later`: the same message may succeed, after so many seconds at least. `failed`: it will not until
 * something is changed by hand. `code` is fit for a log.
 */
export type Delivery =
  | { readonly state: 'answered'; readonly answer: TurnAnswer; readonly isFresh: boolean }
  | {
      readonly state: 'later';
      readonly code: string;
      readonly afterSeconds: number;
      /** The pause is known, and does not grow with the attempts. */
      readonly isExact?: true;
    }
  | { readonly state: 'failed'; readonly code: string };

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
  readonly turn: Omit<TurnRequest, 'client' | 'memory' | 'messages' | 'system' | 'signal'>;
  /** Ends the turn, in time to leave it to the next delivery. */
  readonly signal: AbortSignal;
  /** How long this process may hold the turn, in milliseconds: until its end, and a margin. */
  readonly leaseMs: number;
  /** Called when the turn is taken, before Claude is asked. */
  readonly onTaken?: ((leaseMs: number) => Promise<void>) | undefined;
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
    const claim = await place.receipts.claim(message.turn, { leaseMs, signal });
    switch (claim.state) {
      case 'answered':
        return { state: 'answered', answer: decodeAnswer(claim.answer), isFresh: false };
      case 'running':
        return {
          state: 'later',
          code: 'running',
          afterSeconds: Math.ceil(claim.freeInMs / 1_000) + CLOCK_STEPS,
          isExact: true,
        };
      case 'ours':
        await request.onTaken?.(leaseMs);
        return await runClaimed(request, claim.lease);
    }
  } catch (error) {
    return failureOf(error, signal);
  }
}

async function runClaimed(request: DeliveryRequest, lease: TurnLease): Promise<Delivery> {
  const outcome = await askClaude(request).catch((error: unknown) => failureOf(error, request.signal));
  if ('state' in outcome) {
    await releaseTurn(request, lease);
    return outcome;
  }
  if (!isFinal(outcome)) {
    await releaseTurn(request, lease);
    return unfinished(request, outcome);
  }
  // What Claude has said is kept even when the time is up meanwhile.
  const stored = await lease.finish(encodeAnswer(answerOf(outcome)));
  if (stored === undefined) return { state: 'later', code: 'taken_over', afterSeconds: SHORTEST_PAUSE };
  return { state: 'answered', answer: decodeAnswer(stored), isFresh: true };
}

/** With another key once more where the API refuses the first one. */
async function askClaude(request: DeliveryRequest): Promise<TurnOutcome | Delivery> {
  const { message, place, turn, signal, log } = request;
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
      ...(message.system !== undefined && { system: message.system }),
      ...(message.model !== undefined && { model: message.model }),
      ...(message.maxTokens !== undefined && { maxTokens: message.maxTokens }),
    });
  const client = await clientFor();
  if (client === undefined) return NO_CLIENT;
  const outcome = await run(client);
  if (outcome.outcome !== 'failed' || !KEY_REFUSED.has(outcome.code)) return outcome;
  const renewed = await clientFor(client);
  return renewed === undefined || renewed === client ? outcome : run(renewed);
}

/** A lease that cannot be released runs out by itself. */
async function releaseTurn({ log }: DeliveryRequest, lease: TurnLease): Promise<void> {
  await lease.release({ signal: AbortSignal.timeout(RELEASE_WITHIN_MS) }).catch((error: unknown) => {
    log.warn('the turn could not be released before its lease ends', { code: codeOf(error) });
  });
}

function unfinished(
  { message }: DeliveryRequest,
  outcome: Extract<TurnOutcome, { readonly outcome: 'interrupted' | 'failed' }>,
): Delivery {
  if (outcome.outcome === 'interrupted') {
    return { state: 'later', code: outcome.by, afterSeconds: SHORTEST_PAUSE };
  }
  const { code, retry, retryAfterMs = 0 } = outcome;
  const isDeployments = code === 'not_found_error' && message.model === undefined;
  if (KEY_REFUSED.has(code) || isDeployments) return { state: 'later', code, afterSeconds: OPERATOR_PAUSE };
  if (retry === 'never' && !PASSING.has(code)) return { state: 'failed', code };
  const afterSeconds = Math.max(SHORTEST_PAUSE, Math.ceil(retryAfterMs / 1_000));
  return { state: 'later', code, afterSeconds };
}

/** Of anything that went wrong before or after Claude's part. */
export function failureOf(error: unknown, signal: AbortSignal | undefined): Delivery {
  const code = codeOf(error);
  if (signal?.aborted) return { state: 'later', code: 'deadline', afterSeconds: SHORTEST_PAUSE };
  const mayPass =
    !(error instanceof MemoryError) || error.retry !== 'never' || error.code === 'outcome_unknown';
  return mayPass ? { state: 'later', code, afterSeconds: SHORTEST_PAUSE } : { state: 'failed', code };
}

export function codeOf(error: unknown): string {
  if (!(error instanceof MemoryError)) return 'unexpected';
  // A store's failure may stand behind what the library made of it.
  const { cause } = error;
  return cause instanceof MemoryError && isForTheOperator(cause) ? cause.code : error.code;
}
