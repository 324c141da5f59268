import { hasCode, MemoryError } from '../errors.ts';
import type { SendBound } from './port.ts';

const TOO_LATE = 'too_late';

/** What a store throws instead of sending a request whose bound has passed; undefined while it may be sent. */
export function lateness(bound: SendBound | undefined): MemoryError | undefined {
  if (bound === undefined || !bound.isPast()) return undefined;
  return new MemoryError('unavailable', 'A request was not sent, because it waited for too long before.', {
    details: { reason: TOO_LATE },
  });
}

/** Whether the error says that a request was not sent, because its bound had passed, and nothing was executed. */
export function isTooLate(error: unknown): boolean {
  return hasCode(error, 'unavailable') && error.details['reason'] === TOO_LATE;
}
