import type { TurnUsage } from '../../agent/turn-outcome.ts';
import type { RequestOptions } from '../../store/port.ts';
import { DAY_MS, pause } from '../../time.ts';
import { attempts, throwing } from '../../tree/concurrency.ts';
import {
  encodeFields,
  type RecordName,
  type StoredRecord,
  writeRecord,
} from '../../tree/records/sealed-record.ts';
import { updateRecord } from '../../tree/records/update-record.ts';
import { openToWrite, type Tenant, type Work } from '../../tree/tenant.ts';
import { parseCount, type TokenCount } from '../../turns/turn-records.ts';
import { keyedHash } from '../leases/turn-lease.ts';
import { type Delivery, TOKENS_RESERVED } from './delivery.ts';

/**
 * The tokens of Claude that one tenant may take on a day (UTC, by the time of the store). The count is a sealed record,
 * which all workers share.
 */
export interface TokenBudget {
  /**
   * Reserves tokens for a turn that runs for `leaseMs` at most, or answers the delivery of one that may not run: it waits
   * until the next day where the tokens are spent, and for a while where turns at work have reserved what is left. A
   * turn that nothing else is reserved beside runs as long as one token is left. One GET and one PUT, repeated where
   * another worker counts at the same time.
   *
   * @throws MemoryError the errors of the store and the keyring.
   */
  reserve(
    tokens: number,
    request: RequestOptions & { readonly leaseMs: number },
  ): Promise<TokenReservation | { readonly heldBack: Delivery }>;
}

/** Tokens that a turn has reserved. What is never settled counts as taken when the turn's lease has ended. */
export interface TokenReservation {
  /** Counts what the turn took in place of what it reserved. One PUT, or as many requests as `reserve`. */
  settle(usage: TurnUsage, request: RequestOptions): Promise<void>;
}

const MAX_BYTES = 1_024;
/** One writer of a round succeeds: without pauses between the rounds most of many writers would lose all of theirs. */
const MOST_ATTEMPTS = 64;
const LONGEST_PAUSE_MS = 200;

export function createTokenBudget(
  tenant: Tenant,
  { tokensPerDay }: { readonly tokensPerDay: number },
): TokenBudget {
  const now = (): number => tenant.stamps.now();

  /** Changes the count of a day, however many others change it. */
  const change = (work: Work, name: RecordName, next: (count: TokenCount) => NextCount) => {
    const overtaken = async (): Promise<'again'> => {
      await pause(Math.random() * LONGEST_PAUSE_MS, work.call.signal);
      return 'again';
    };
    const write = (found: StoredRecord | undefined): NextCount => next(countIn(found, now()));
    return attempts(
      MOST_ATTEMPTS,
      () => updateRecord(work, name, write, { most: 1, overtaken }),
      throwing('unavailable', 'the count of tokens was changed by others at every look'),
    );
  };

  return {
    async reserve(wanted, { leaseMs, signal }) {
      const work = await openToWrite(tenant, { signal });
      const day = Math.floor(now() / DAY_MS);
      const name = nameOf(work, day);
      const reserved = await change(work, name, (count) => {
        if (count.tokens >= tokensPerDay) return { ended: tomorrow(day, now()) };
        const isAlone = count.reserved === 0;
        if (!isAlone && count.tokens + count.reserved + wanted > tokensPerDay)
          return { ended: TOKENS_RESERVED };
        const until = Math.max(count.until, Math.ceil(now() + leaseMs));
        return written({ ...count, reserved: count.reserved + wanted, until });
      });
      if ('ended' in reserved) return { heldBack: reserved.ended };
      return {
        async settle({ inputTokens, cacheWriteTokens, outputTokens }, request) {
          const taken = inputTokens + cacheWriteTokens + outputTokens;
          const settled = ({ tokens, reserved: all, until }: TokenCount) =>
            written({ tokens: tokens + taken, reserved: Math.max(0, all - wanted), until });
          const own = await openToWrite(tenant, request);
          const put = await writeRecord(own, name, { ...settled(reserved.count), base: reserved.etag });
          if (!('etag' in put)) await change(own, name, settled);
        },
      };
    },
  };
}

/** The count to be written, or the delivery of a turn that leaves it as it is. */
type NextCount = { readonly count: TokenCount; readonly content: Uint8Array } | { readonly ended: Delivery };

function written(count: TokenCount): Extract<NextCount, { readonly count: TokenCount }> {
  return { count, content: encodeFields({ ...count }) };
}

/** Makes the delivery of a turn that waits until the end of a day. */
function tomorrow(day: number, nowMs: number): Delivery {
  const afterSeconds = Math.ceil(((day + 1) * DAY_MS - nowMs) / 1_000);
  return { state: 'later', code: 'tokens_per_day', afterSeconds, isExact: true, isCondition: true };
}

function nameOf(work: Work, day: number): RecordName {
  return { cls: 'receipts', id: keyedHash(work, 'tokens', String(day)), maxBytes: MAX_BYTES };
}

/** Reads a count. What is still reserved when the last turn must have ended was reserved by workers that died. */
function countIn(record: Pick<StoredRecord, 'content'> | undefined, nowMs: number): TokenCount {
  if (record === undefined) return { tokens: 0, reserved: 0, until: 0 };
  const { tokens, reserved, until } = parseCount(record.content);
  return nowMs > until ? { tokens: tokens + reserved, reserved: 0, until } : { tokens, reserved, until };
}
