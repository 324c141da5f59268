import type { TurnUsage } from '../../agent/turn-outcome.ts';
import type { RequestOptions } from '../../store/port.ts';
import { DAY_MS, pause } from '../../time.ts';
import { attempts, throwing } from '../../tree/concurrency.ts';
import {
  encodeFields,
  type RecordName,
  readRecord,
  type StoredRecord,
} from '../../tree/records/sealed-record.ts';
import { updateRecord } from '../../tree/records/update-record.ts';
import { openToWrite, type Tenant, type Work } from '../../tree/tenant.ts';
import { parseCount } from '../../turns/turn-records.ts';
import { keyedHash } from '../leases/turn-lease.ts';
import type { Delivery } from './delivery.ts';

/**
 * The tokens of Claude that one tenant may take on a day (UTC, by the time of the store). The count is a sealed record,
 * which all workers share.
 */
export interface TokenBudget {
  /**
   * Answers the delivery of a turn for which no tokens are left: it waits until the next day. Undefined: it may run.
   * Turns that run at the same time do not see one another's tokens, so a day may exceed the bound by as much as these
   * take. One GET.
   */
  refusal(request: RequestOptions): Promise<Delivery | undefined>;
  /** Counts the tokens of a delivery. One GET and one PUT, repeated where another worker counts at the same time. */
  count(usage: TurnUsage, request: RequestOptions): Promise<void>;
}

const MAX_BYTES = 1_024;
/** One writer of a round succeeds: without pauses between the rounds most of many writers would lose all of theirs. */
const MOST_ATTEMPTS = 64;
const LONGEST_PAUSE_MS = 200;

export function createTokenBudget(
  context: Tenant,
  { tokensPerDay }: { readonly tokensPerDay: number },
): TokenBudget {
  const today = (): number => Math.floor(context.stamps.now() / DAY_MS);
  return {
    async refusal({ signal }) {
      const work = await openToWrite(context, { signal });
      const record = await readRecord(work, nameOf(work, today()));
      if (tokensIn(record) < tokensPerDay) return undefined;
      const untilTomorrow = (today() + 1) * DAY_MS - context.stamps.now();
      const afterSeconds = Math.ceil(untilTomorrow / 1_000);
      return { state: 'later', code: 'tokens_per_day', afterSeconds, isExact: true, isCondition: true };
    },
    async count({ inputTokens, cacheWriteTokens, outputTokens }, { signal }) {
      const taken = inputTokens + cacheWriteTokens + outputTokens;
      if (taken === 0) return;
      const work = await openToWrite(context, { signal });
      const overtaken = async (): Promise<'again'> => {
        await pause(Math.random() * LONGEST_PAUSE_MS, signal);
        return 'again';
      };
      const add = (found: StoredRecord | undefined) => {
        return { content: encodeFields({ tokens: tokensIn(found) + taken }) };
      };
      await attempts(
        MOST_ATTEMPTS,
        () => updateRecord(work, nameOf(work, today()), add, { most: 1, overtaken }),
        throwing('unavailable', 'the count of tokens was changed by others at every look'),
      );
    },
  };
}

function nameOf(work: Work, day: number): RecordName {
  return { cls: 'receipts', id: keyedHash(work, 'tokens', String(day)), maxBytes: MAX_BYTES };
}

function tokensIn(record: Pick<StoredRecord, 'content'> | undefined): number {
  return record === undefined ? 0 : parseCount(record.content);
}
