import { MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { RequestOptions } from '../store/port.ts';
import { openToWrite, openWork, type Tenant, type Work } from '../tree/tenant.ts';
import {
  type Held,
  keyedHash,
  LOOKS,
  leaseOn,
  readAnswer,
  readProgress,
  readReceipt,
  replaceOwn,
  type StoredReceipt,
  type TurnLease,
  writeReceipt,
} from './turn-lease.ts';
import type { Receipt, Running } from './turn-records.ts';

/**
 * What becomes of a delivered turn. `ours`: no other worker runs it, until the lease ends; `progress` is what an earlier
 * owner saved last. `answered`: it was finished before. `running`: another worker runs it, for so many milliseconds at
 * most. `other_message`: the name was used before, for another message.
 */
export type TurnClaim =
  | { readonly state: 'ours'; readonly lease: TurnLease; readonly progress: Uint8Array | undefined }
  | { readonly state: 'answered'; readonly answer: Uint8Array }
  | { readonly state: 'running'; readonly freeInMs: number }
  | { readonly state: 'other_message' };

export interface ClaimRequest extends RequestOptions {
  readonly leaseMs: number;
  /** What the same turn has to be asked with again. */
  readonly message: string;
}

/** Proofs of what was handled, one per turn, so that a message that is delivered twice is answered once. */
export interface Receipts {
  /** What the turn is called in the store and in logs: a keyed hash. @throws as `claim`. */
  nameOf(turn: string, request?: RequestOptions): Promise<string>;
  /**
   * Takes the turn named `turn`, 1–256 characters, for `leaseMs`. A fresh turn costs one PUT.
   *
   * @throws MemoryError `misconfigured` for a name that is none; what the store and the keyring throw.
   */
  claim(turn: string, request: ClaimRequest): Promise<TurnClaim>;
  /** The answer of a finished turn; undefined before it is finished. Writes nothing. Two GETs. */
  answer(turn: string, request?: RequestOptions): Promise<Uint8Array | undefined>;
}

const OWNER_BYTES = 16;

export function createReceipts(context: Tenant): Receipts {
  return {
    async nameOf(turn, { signal } = {}) {
      return receiptId(await openToWrite(context, { signal }), turn);
    },
    async claim(turn, { leaseMs: exactMs, message: text, signal }) {
      const leaseMs = Math.ceil(exactMs);
      const work = await openToWrite(context, { signal });
      const id = receiptId(work, turn);
      const message = keyedHash(work, 'message', text);
      const owner = toBase64url(work.tenant.random(OWNER_BYTES));
      for (let look = 0; look < LOOKS; look++) {
        const stored = look === 0 ? undefined : await readReceipt(work, id);
        const verdict = stored && (await judge(work, { id, message, stored }));
        if (verdict !== undefined) return verdict;
        const saved =
          stored !== undefined && 'progress' in stored.receipt ? stored.receipt.progress : undefined;
        const running: Running = { owner, leaseMs, message, ...(saved && { progress: saved }) };
        const receipt: Receipt = { state: 'running', ...running };
        const written = await writeReceipt(work, id, { receipt, base: stored?.etag });
        if ('conflict' in written) continue;
        const held: Held = { id, running, etag: written.etag, besideTag: undefined };
        const answer = stored && (await readAnswer(work, id));
        if (answer === undefined) {
          const progress = saved && (await readProgress(work, saved));
          return { state: 'ours', lease: leaseOn(work, held), progress };
        }
        // A process died between storing the answer and closing the receipt: nothing is to be run again.
        await replaceOwn(work, held, { state: 'done', message });
        return { state: 'answered', answer };
      }
      throw new MemoryError('unavailable', 'the receipt of the turn was changed by others at every look');
    },
    async answer(turn, { signal } = {}) {
      const work = await openWork(context, { signal });
      if (work === undefined) return undefined;
      const id = receiptId(work, turn);
      const stored = await readReceipt(work, id);
      return stored?.receipt.state === 'done' ? readAnswer(work, id) : undefined;
    },
  };
}

/** A plain hash of a turn's name could be guessed. */
function receiptId({ keyring }: Work, turn: string): string {
  if (turn.length < 1 || turn.length > 256) {
    throw new MemoryError('misconfigured', 'the name of a turn has 1 to 256 characters');
  }
  return keyring.names.keyedHash('receipts', turn);
}

/** Undefined: the turn may be taken over. */
async function judge(
  work: Work,
  { id, message, stored }: { readonly id: string; readonly message: string; readonly stored: StoredReceipt },
): Promise<TurnClaim | undefined> {
  const { receipt, ageMs } = stored;
  if (receipt.message !== message) return { state: 'other_message' };
  if (receipt.state === 'done') {
    const answer = await readAnswer(work, id);
    if (answer !== undefined) return { state: 'answered', answer };
    throw new MemoryError('integrity', 'the answer of a finished turn is gone');
  }
  if (receipt.state === 'free' || ageMs > receipt.leaseMs) return undefined;
  return { state: 'running', freeInMs: receipt.leaseMs - ageMs };
}
