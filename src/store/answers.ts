import { hasCode, MemoryError } from '../errors.ts';
import type { SendBound } from './port.ts';

const TOO_LATE = 'too_late';
const RESENT = 'resent';

/** What a store throws instead of sending a request whose bound has passed; undefined while it may be sent. */
export function lateness(bound: SendBound | undefined): MemoryError | undefined {
  if (bound === undefined || !bound.isPast()) return undefined;
  return new MemoryError('unavailable', 'A request was not sent, because it had waited for too long.', {
    details: { reason: TOO_LATE },
  });
}

/** Whether a request was not sent because its bound had passed, so that certainly nothing was executed. */
export function isTooLate(error: unknown): boolean {
  return hasCode(error, 'unavailable') && error.details['reason'] === TOO_LATE;
}

/** A condition failed after an attempt without an answer: that attempt may be what the condition met. */
export function resentConflict(): MemoryError {
  return new MemoryError('outcome_unknown', 'A request that was sent again met its condition.', {
    details: { reason: RESENT },
  });
}

/** Whether the outcome is unknown only because an earlier attempt may be what the condition met. */
export function isResentConflict(error: unknown): boolean {
  return hasCode(error, 'outcome_unknown') && error.details['reason'] === RESENT;
}
