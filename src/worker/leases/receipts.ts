import { MemoryError } from '../../errors.ts';
import type { ETag, RequestOptions } from '../../store/port.ts';
import { throwing } from '../../tree/concurrency.ts';
import { writeRecord } from '../../tree/records/sealed-record.ts';
import { MOST_ATTEMPTS } from '../../tree/records/update-record.ts';
import { openToWrite, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import { encodeReceipt, type Receipt, type Running } from '../../turns/turn-records.ts';
import {
  type LeasedVersion,
  newLease,
  readLeased,
  remainingMs,
  type Take,
  type TakenRecord,
  takeLeased,
} from './leased-record.ts';
import {
  keyedHash,
  leaseOn,
  type OwnReceipt,
  RECEIPT,
  readAnswer,
  readProgress,
  replaceOwn,
  type TurnLease,
} from './turn-lease.ts';

/**
 * The state of a delivered turn for its worker. `ours`: no other worker runs it, until the lease ends; `progress` is
 * the last one that an earlier owner saved. `answered`: it was finished before. `running`: another worker runs it, for
 * `freeInMs` milliseconds at most. `other_message`: the name was used before, for another message.
 */
export type TurnClaim =
  | { readonly state: 'ours'; readonly lease: TurnLease; readonly progress: Uint8Array | undefined }
  | { readonly state: 'answered'; readonly answer: Uint8Array }
  | { readonly state: 'running'; readonly freeInMs: number }
  | { readonly state: 'other_message' };

interface ClaimRequest extends RequestOptions {
  readonly leaseMs: number;
  /** The message that began the turn; each later claim of the turn must bring the same one. */
  readonly message: string;
}

/** Proofs of handled turns, one per turn, so that a message that is delivered twice is answered once. */
export interface Receipts {
  /**
   * Computes the name of the turn in the store and in logs: a keyed hash.
   *
   * @throws MemoryError as `claim`.
   */
  nameOf(turn: string, request?: RequestOptions): Promise<string>;
  /**
   * Takes the turn named `turn`, 1–256 characters, for `leaseMs`, which is an attempt. A fresh turn costs one PUT.
   *
   * @throws MemoryError `misconfigured` for an invalid name; the errors of the store and the keyring.
   */
  claim(turn: string, request: ClaimRequest): Promise<TurnClaim>;
  /** Reads the answer of a finished turn; undefined before it is finished. Writes nothing. Two GETs. */
  answer(turn: string, request?: RequestOptions): Promise<Uint8Array | undefined>;
}

export function createReceipts(tenant: Tenant): Receipts {
  return {
    async nameOf(turn, { signal } = {}) {
      return receiptId(await openToWrite(tenant, { signal }), turn);
    },
    async claim(turn, { leaseMs, message: text, signal }) {
      const work = await openToWrite(tenant, { signal });
      const id = receiptId(work, turn);
      const message = keyedHash(work, 'message', text);
      const running = { state: 'running', ...newLease(work, leaseMs), message, attempts: 1 } as const;
      // Most turns are fresh.
      const fresh = { content: encodeReceipt(running), base: undefined };
      const created = await writeRecord(work, { cls: RECEIPT.cls, id }, fresh);
      if ('etag' in created) return ours(work, id, { taken: running, etag: created.etag });
      const most = MOST_ATTEMPTS - 1;
      const overtaken = throwing(
        'unavailable',
        'the receipt of the turn was changed by others at every look',
      );
      const take = async (found: LeasedVersion<Receipt> | undefined): Promise<TakeTurn> => {
        const ended = found && (await judge(work, { id, message, found }));
        if (ended !== undefined) return { ended };
        const saved = found !== undefined && 'progress' in found.content && found.content.progress;
        const used = (found !== undefined && 'attempts' in found.content && found.content.attempts) || 0;
        return { content: { ...running, attempts: used + 1, ...(saved && { progress: saved }) } };
      };
      const taken = await takeLeased(work, { kind: RECEIPT, id, most, overtaken }, take);
      return 'ended' in taken ? taken.ended : ours(work, id, taken);
    },
    async answer(turn, { signal } = {}) {
      const work = await openWork(tenant, { signal });
      if (work === undefined) return undefined;
      const id = receiptId(work, turn);
      const stored = await readLeased(work, RECEIPT, id);
      return stored?.content.state === 'done' ? readAnswer(work, id) : undefined;
    },
  };
}

/**
 * Computes the id of a turn's receipt, keyed, since a plain hash of the name could be guessed.
 *
 * @throws MemoryError `misconfigured` for an invalid name.
 */
function receiptId({ keyring }: Work, turn: string): string {
  if (turn.length < 1 || turn.length > 256) {
    throw new MemoryError('misconfigured', 'the name of a turn has 1 to 256 characters');
  }
  return keyring.names.keyedHash('receipts', turn);
}

/** The receipt of a turn that the caller runs from now on, or the claim of a turn that is not to be run. */
type TakeTurn = Take<Extract<Receipt, { readonly state: 'running' }>, TurnClaim>;

/** Makes the claim of a receipt that was taken. */
async function ours(
  work: Work,
  id: string,
  {
    taken: running,
    etag,
    found,
  }: Partial<TakenRecord<Receipt, Running>> & { readonly taken: Running; readonly etag: ETag },
): Promise<TurnClaim> {
  const own: OwnReceipt = { id, owner: running.owner, etag, running, besideTag: undefined };
  const answer = found && (await readAnswer(work, id));
  if (answer === undefined) {
    const { progress: saved } = running;
    const progress = saved && (await readProgress(work, saved));
    return { state: 'ours', lease: leaseOn(work, own), progress };
  }
  // A process died between storing the answer and closing the receipt: nothing is to be run again.
  await replaceOwn(work, own, { state: 'done', message: running.message });
  return { state: 'answered', answer };
}

/** Judges whether a turn is to be run; undefined: it may be taken over. */
async function judge(
  work: Work,
  {
    id,
    message,
    found,
  }: { readonly id: string; readonly message: string; readonly found: LeasedVersion<Receipt> },
): Promise<TurnClaim | undefined> {
  const { content: receipt, ageMs } = found;
  if (receipt.message !== message) return { state: 'other_message' };
  if (receipt.state === 'done') {
    const answer = await readAnswer(work, id);
    if (answer !== undefined) return { state: 'answered', answer };
    throw new MemoryError('integrity', 'the answer of a finished turn is gone');
  }
  const freeInMs = remainingMs(RECEIPT.leaseIn(receipt), ageMs);
  return freeInMs === undefined ? undefined : { state: 'running', freeInMs };
}
