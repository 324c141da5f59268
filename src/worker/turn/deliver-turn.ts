import { toldFailure } from '../json-log.ts';
import type { ConversationLease } from '../leases/conversation-lease.ts';
import type { Conversations } from '../leases/conversations.ts';
import type { Receipts, TurnClaim } from '../leases/receipts.ts';
import type { TurnLease } from '../leases/turn-lease.ts';
import { type AskRequest, askClaude } from './ask-claude.ts';
import {
  CONVERSATION_BUSY,
  countAttempts,
  type Delivery,
  exhausted,
  failureOf,
  runningFor,
  TAKEN_OVER,
  unfinished,
} from './delivery.ts';
import {
  answerOf,
  decodeAnswer,
  encodeAnswer,
  type FinalOutcome,
  type TurnAnswer,
  tooLarge,
} from './turn-answer.ts';
import { countBefore, findBasis, refuseTooLarge, type TurnBasis, traceName } from './turn-basis.ts';
import { fingerprintOf } from './turn-message.ts';
import { createDeliveryProgress } from './turn-progress.ts';

/** The request for one delivery; `signal` ends the turn in time to leave it to the next delivery. */
interface DeliveryRequest extends AskRequest {
  readonly receipts: Receipts;
  readonly conversations: Conversations;
  /** Answers the milliseconds until the signal fires. A step that would hardly fit is not begun. */
  readonly remainingMs?: () => number;
  /** The time for which this process may hold the turn, in milliseconds: until its end, and a margin. */
  readonly leaseMs: number;
  /** Runs when the turn is taken, before Claude is asked. */
  readonly onTaken?: ((leaseMs: number) => Promise<void>) | undefined;
}

/** The time for the release of a turn after the signal has ended everything else (milliseconds). */
const RELEASE_WITHIN_MS = 5_000;
/** The time within which a turn that comes back at once finds its conversation as it left it (milliseconds). */
const HELD_MS = 60_000;

/**
 * Runs a turn unless it was answered before or another worker runs it, and stores the answer with its receipt. Never
 * rejects.
 */
export async function deliverTurn(request: DeliveryRequest): Promise<Delivery> {
  const { message, receipts, signal, leaseMs } = request;
  try {
    const wanted = { leaseMs, signal, message: fingerprintOf(message) };
    const claim = await receipts.claim(message.turn, wanted);
    switch (claim.state) {
      case 'answered':
        return { state: 'answered', answer: decodeAnswer(claim.answer), isFresh: false };
      case 'other_message':
        return { state: 'failed', code: 'other_message' };
      case 'running':
        return runningFor(claim.freeInMs);
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
  let conversation: ConversationLease | undefined;
  const end = (unanswered: Delivery): Promise<Delivery> =>
    releaseTurn(request, { lease, conversation, unanswered });
  try {
    const spent = exhausted(lease.attempts);
    if (spent !== undefined) return await end(spent);
    const found = await findBasis(request, {
      ...request,
      name: await request.receipts.nameOf(request.message.turn, request),
    });
    // An earlier delivery stored the answer in the conversation, and died before it stored it beside the receipt.
    if (found.state === 'carried') return await finishTurn(lease, found.answer);
    if (found.state === 'busy') return await end(CONVERSATION_BUSY);
    const { basis } = found;
    conversation = basis.lease;
    refuseTooLarge(basis);
    const name = traceName(request.message, basis);
    const progress = createDeliveryProgress({ lease, saved, basis, name, remainingMs, log });
    const outcome = await askClaude(request, { basis, progress });
    if (progress.isTakenOver) return TAKEN_OVER;
    const unanswered = 'state' in outcome ? outcome : unfinished(request.message, { outcome, progress });
    if (unanswered !== undefined) return await end(unanswered);
    return await endTurn(request, { lease, basis, answer: answerOf(outcome as FinalOutcome, name) });
  } catch (error) {
    return end(failureOf(error, request.signal));
  }
}

/**
 * Ends the turn: stores the conversation before the answer, because the worker that comes next answers from the
 * conversation.
 */
async function endTurn(
  request: DeliveryRequest,
  {
    lease,
    basis,
    answer,
  }: { readonly lease: TurnLease; readonly basis: TurnBasis; readonly answer: TurnAnswer },
): Promise<Delivery> {
  const { lease: conversation } = basis;
  if (conversation === undefined) return finishTurn(lease, answer);
  const from = countBefore(basis, answer.messages);
  const kept = answer.outcome === 'refused' ? 'refused' : await conversation.keep(from, answer);
  if (kept === 'taken_over') return releaseTurn(request, { lease, unanswered: TAKEN_OVER });
  if (typeof kept === 'object') return finishTurn(lease, kept);
  const own = { ...answer, messages: answer.messages.slice(from) };
  const ended = await finishTurn(lease, kept === 'refused' ? own : tooLarge(own, 'conversation_bytes'));
  await releaseConversation(request, conversation);
  return ended;
}

/** Stores the answer, even when the time is up meanwhile, so that Claude's words are kept. */
async function finishTurn(lease: TurnLease, answer: TurnAnswer): Promise<Delivery> {
  const stored = await lease.finish(encodeAnswer(answer));
  if (stored === undefined) return TAKEN_OVER;
  return { state: 'answered', answer: decodeAnswer(stored), isFresh: true };
}

interface Held {
  readonly lease: TurnLease;
  readonly conversation?: ConversationLease | undefined;
  readonly unanswered: Delivery;
}

/**
 * Releases the conversation and the turn, and answers how the delivery ends by the turn's attempts. A lease that cannot
 * be released runs out by itself, and leaves the attempt counted.
 */
async function releaseTurn(
  request: DeliveryRequest,
  { lease, conversation, unanswered }: Held,
): Promise<Delivery> {
  const { delivery, attempts } = countAttempts(unanswered, lease.attempts);
  await releaseConversation(request, conversation, delivery);
  const signal = AbortSignal.timeout(RELEASE_WITHIN_MS);
  await lease.release({ signal, attempts }).catch((error: unknown) => {
    request.log.warn('the turn could not be released before its lease ends', toldFailure(error));
  });
  return delivery;
}

async function releaseConversation(
  { log }: DeliveryRequest,
  conversation: ConversationLease | undefined,
  unanswered?: Delivery,
): Promise<void> {
  // The turn goes on at once, and its progress so far would be worthless after another turn.
  const isGoingOn = unanswered?.state === 'later' && unanswered.hasProgress && unanswered.afterSeconds === 0;
  const signal = AbortSignal.timeout(RELEASE_WITHIN_MS);
  await conversation?.release({ signal, ...(isGoingOn && { heldMs: HELD_MS }) }).catch((error: unknown) => {
    log.warn('the conversation could not be released before its lease ends', toldFailure(error));
  });
}
