import { DAY_MS } from '../../time.ts';
import type { Work } from '../../tree/tenant.ts';
import { expiredBefore } from '../expiry/history-note.ts';

/**
 * The time from which the history must have every version that was replaced or ended, and the reason why it may lack
 * earlier ones.
 */
export interface KeptFrom {
  /** Milliseconds since the epoch; infinity where the history is not kept now, or its beginning is unknown. */
  readonly from: number;
  readonly otherwise: 'history_off' | 'not_kept';
  /**
   * The time from which a recorded end counts, as the keyring says and the operator alone moves it. Infinity where the
   * history is not kept now.
   */
  readonly since: number;
}

/**
 * Reads the time from which on the history must be complete, by the keyring and the note of expired records as they are
 * now: call it after reading the records.
 *
 * @param historyDays the days for which the history is kept; for good unless given.
 */
export async function readKeptFrom(
  work: Work,
  historyDays: number = Number.POSITIVE_INFINITY,
): Promise<KeptFrom> {
  const { tenant, call } = work;
  // The history may have been turned off and on meanwhile.
  const keyring = await tenant.keyrings.look({ signal: call.signal });
  const since = keyring?.keepsHistory ? keyring.keptSince : undefined;
  if (since === undefined)
    return { from: Number.POSITIVE_INFINITY, otherwise: 'history_off', since: Number.POSITIVE_INFINITY };
  // A process may have stood still between the save of a version and its replacement.
  const kept = Math.max(await expiredBefore(work), tenant.stamps.storeTime() - historyDays * DAY_MS) + DAY_MS;
  return kept > since
    ? { from: kept, otherwise: 'not_kept', since }
    : { from: since, otherwise: 'history_off', since };
}
