import { DAY_MS } from '../../time.ts';
import type { Work } from '../../tree/tenant.ts';
import { expiredBefore } from '../expiry/history-note.ts';

/** From when on all that was replaced or ended must be in the history, and why what went before need not. */
export interface KeptFrom {
  /** Milliseconds since the epoch; infinity where the history is not kept now, or nothing tells since when. */
  readonly from: number;
  readonly otherwise: 'history_off' | 'not_kept';
  /**
   * From when on an end that a record tells of counts: what the keyring says, which the operator alone moves. Infinity where the
   * history is not kept now.
   */
  readonly since: number;
}

/**
 * What the history must have, as the keyring and the note of expired records say now: to be asked after the records were read.
 *
 * @param historyDays for how long it is kept; for good unless given.
 */
export async function readKeptFrom(
  work: Work,
  historyDays: number = Number.POSITIVE_INFINITY,
): Promise<KeptFrom> {
  const { tenant, call } = work;
  // It may have been turned off and on meanwhile.
  const keyring = await tenant.keyrings.look({ signal: call.signal });
  const since = keyring?.keepsHistory ? keyring.keptSince : undefined;
  if (since === undefined)
    return { from: Number.POSITIVE_INFINITY, otherwise: 'history_off', since: Number.POSITIVE_INFINITY };
  // A process may have stood still between the save of a version and its replacement.
  const kept = Math.max(await expiredBefore(work), tenant.clock() - historyDays * DAY_MS) + DAY_MS;
  return kept > since
    ? { from: kept, otherwise: 'not_kept', since }
    : { from: since, otherwise: 'history_off', since };
}
