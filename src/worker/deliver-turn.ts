import { type AskRequest, askClaude } from './ask-claude.ts';
import { codeOf } from './json-log.ts';
import type { Receipts, TurnClaim } from './receipts.ts';
import { answerOf, decodeAnswer, encodeAnswer } from './turn-answer.ts';
import type { TurnLease } from './turn-lease.ts';
import { fingerprintOf } from './turn-message.ts';
import { createTurnSteps } from './turn-steps.ts';
import { type Delivery, failureOf, runningFor, TAKEN_OVER, unfinished } from './turn-verdict.ts';

/** `signal` ends the turn in time to leave it to the next delivery. */
interface DeliveryRequest extends AskRequest {
  readonly receipts: Receipts;
  /** Until the signal fires. A step that would hardly fit is not begun. */
  readonly remainingMs?: () => number;
  /** How long this process may hold the turn, in milliseconds: until its end, and a margin. */
  readonly leaseMs: number;
  /** Called when the turn is taken, before Claude is asked. */
  readonly onTaken?: ((leaseMs: number) => Promise<void>) | undefined;
}

/** For the release of a turn after the signal has ended everything else. */
const RELEASE_WITHIN_MS = 5_000;

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
  try {
    const steps = createTurnSteps({ lease, saved, remainingMs, log });
    const outcome = await askClaude(request, steps);
    if (steps.isTakenOver) return TAKEN_OVER;
    const unanswered = 'state' in outcome ? outcome : unfinished(request.message, { outcome, steps });
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

/** A lease that cannot be released runs out by itself. */
async function releaseTurn({ log }: DeliveryRequest, lease: TurnLease): Promise<void> {
  await lease.release({ signal: AbortSignal.timeout(RELEASE_WITHIN_MS) }).catch((error: unknown) => {
    log.warn('the turn could not be released before its lease ends', { code: codeOf(error) });
  });
}
