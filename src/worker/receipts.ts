import { MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { ETag, RequestOptions, WriteResult } from '../store/port.ts';
import { decodeFields, encodeFields, readRecord, writeRecord } from '../tree/sealed-record.ts';
import { openWork, type Session, type Work } from '../tree/session.ts';

/**
 * What becomes of a delivered turn. `ours`: no other worker runs it, until the lease ends. `answered`: it was finished
 * before. `running`: another worker runs it, for so many milliseconds at most.
 */
export type TurnClaim =
  | { readonly state: 'ours'; readonly lease: TurnLease }
  | { readonly state: 'answered'; readonly answer: Uint8Array }
  | { readonly state: 'running'; readonly freeInMs: number };

/** The right to run one turn. */
export interface TurnLease {
  /**
   * Stores the answer, then closes the receipt, and gives the answer that counts: an earlier one where a process
   * died between these two steps. Undefined: the lease ran out, and another worker has taken the turn over; it will
   * find this answer.
   */
  finish(answer: Uint8Array, request?: RequestOptions): Promise<Uint8Array | undefined>;
  /** Leaves the turn to the next delivery at once instead of after the lease. */
  release(request?: RequestOptions): Promise<void>;
}

/** Proofs of what was handled, one per turn, so that a message that is delivered twice is answered once. */
export interface Receipts {
  /**
   * Takes the turn named `turn`, 1–256 characters, for `leaseMs`. A fresh turn costs one PUT.
   *
   * @throws MemoryError `misconfigured` for a name that is none; what the store and the keyring throw.
   */
  claim(turn: string, request: RequestOptions & { readonly leaseMs: number }): Promise<TurnClaim>;
  /** The answer of a finished turn; undefined before it is finished. Writes nothing. Two GETs. */
  answer(turn: string, request?: RequestOptions): Promise<Uint8Array | undefined>;
}

type Receipt =
  /** `owner` is a random name, so that its owner knows the receipt again after a migration has re-bound it. */
  | { readonly state: 'running'; readonly owner: string; readonly leaseMs: number }
  | { readonly state: 'free' }
  | { readonly state: 'done' };
type Running = Extract<Receipt, { state: 'running' }>;

interface StoredReceipt {
  readonly receipt: Receipt;
  readonly etag: ETag;
  readonly ageMs: number;
}

const OWNER_BYTES = 16;
const RECEIPT_BYTES = 1_024;
/** What an answer may have, as stored and as read. */
export const MAX_ANSWER_BYTES = 8_388_608;
const LOOKS = 8;

export function createReceipts(context: Session): Receipts {
  return {
    async claim(turn, { leaseMs: exactMs, signal }) {
      const leaseMs = Math.ceil(exactMs);
      const work = await openWork(context, { signal }, { create: true });
      if (work === undefined) throw new MemoryError('key_unavailable', 'the keyring was not created');
      const id = receiptId(work, turn);
      const running: Running = {
        state: 'running',
        owner: toBase64url(work.session.random(OWNER_BYTES)),
        leaseMs,
      };
      for (let look = 0; look < LOOKS; look++) {
        const stored = look === 0 ? undefined : await readReceipt(work, id);
        const verdict = stored && (await judge(work, id, stored));
        if (verdict !== undefined) return verdict;
        const written = await writeReceipt(work, id, { receipt: running, base: stored?.etag });
        if ('conflict' in written) continue;
        const { etag } = written;
        const answer = stored && (await readAnswer(work, id));
        if (answer === undefined) return { state: 'ours', lease: leaseOn(work, { id, running, etag }) };
        // A process died between storing the answer and closing the receipt: nothing is to be run again.
        await replaceOwn(work, { id, running, etag }, { state: 'done' });
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
async function judge(work: Work, id: string, stored: StoredReceipt): Promise<TurnClaim | undefined> {
  const { receipt, ageMs } = stored;
  if (receipt.state === 'done') {
    const answer = await readAnswer(work, id);
    if (answer !== undefined) return { state: 'answered', answer };
    throw new MemoryError('integrity', 'the answer of a finished turn is gone');
  }
  if (receipt.state === 'free' || ageMs > receipt.leaseMs) return undefined;
  return { state: 'running', freeInMs: receipt.leaseMs - ageMs };
}

interface Held {
  readonly id: string;
  readonly running: Running;
  readonly etag: ETag;
}

function leaseOn(work: Work, held: Held): TurnLease {
  return {
    async finish(answer, { signal } = {}) {
      const own = { ...work, call: { signal } };
      const counting = await storeAnswer(own, held.id, answer);
      return (await replaceOwn(own, held, { state: 'done' })) ? counting : undefined;
    },
    async release({ signal } = {}) {
      await replaceOwn({ ...work, call: { signal } }, held, { state: 'free' });
    },
  };
}

/** False: the receipt is not ours any more. */
async function replaceOwn(work: Work, { id, running, etag }: Held, next: Receipt): Promise<boolean> {
  let base = etag;
  for (let attempt = 0; attempt < LOOKS; attempt++) {
    if ('etag' in (await writeReceipt(work, id, { receipt: next, base }))) return true;
    const stored = await readReceipt(work, id);
    if (stored?.receipt.state !== 'running' || stored.receipt.owner !== running.owner) return false;
    base = stored.etag;
  }
  return false;
}

/** The first answer that was stored counts. */
async function storeAnswer(work: Work, id: string, answer: Uint8Array): Promise<Uint8Array> {
  if (answer.length > MAX_ANSWER_BYTES) {
    throw new MemoryError('limit_exceeded', 'the answer is larger than an answer may be', {
      details: { limit: 'answer_bytes', value: answer.length, max: MAX_ANSWER_BYTES },
    });
  }
  const created = await writeRecord(work, { cls: 'answers', id }, { content: answer, base: undefined });
  if ('etag' in created) return answer;
  return (await readAnswer(work, id)) ?? answer;
}

async function readAnswer(work: Work, id: string): Promise<Uint8Array | undefined> {
  const record = await readRecord(work, { cls: 'answers', id, maxBytes: MAX_ANSWER_BYTES });
  return record?.content;
}

async function readReceipt(work: Work, id: string): Promise<StoredReceipt | undefined> {
  const record = await readRecord(work, { cls: 'receipts', id, maxBytes: RECEIPT_BYTES });
  return record && { receipt: parseReceipt(record.content), etag: record.etag, ageMs: record.ageMs };
}

async function writeReceipt(
  work: Work,
  id: string,
  { receipt, base }: { readonly receipt: Receipt; readonly base: ETag | undefined },
): Promise<WriteResult> {
  return writeRecord(work, { cls: 'receipts', id }, { content: encodeFields(receipt), base });
}

/** What authenticated bytes say that this version of the library does not know was written by a later one. */
function parseReceipt(content: Uint8Array): Receipt {
  const { state, owner, leaseMs, ...rest } = decodeFields(content) ?? {};
  const isKnown = Object.keys(rest).length === 0;
  if (isKnown && state === 'running' && typeof owner === 'string' && Number.isSafeInteger(leaseMs)) {
    return { state, owner, leaseMs: leaseMs as number };
  }
  if (isKnown && (state === 'done' || state === 'free') && owner === undefined && leaseMs === undefined) {
    return { state };
  }
  throw new MemoryError('unsupported_format', 'the receipt of a turn is of a later version');
}
