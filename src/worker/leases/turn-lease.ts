import { MemoryError } from '../../errors.ts';
import { decodeText, encodeText } from '../../language/text.ts';
import type { ETag, RequestOptions } from '../../store/port.ts';
import { throwing } from '../../tree/concurrency.ts';
import { readRecord, type StoredRecord, writeRecord } from '../../tree/records/sealed-record.ts';
import { rewriteRecord } from '../../tree/records/update-record.ts';
import { renewed, type Work } from '../../tree/tenant.ts';
import {
  encodeReceipt,
  parseReceipt,
  RECEIPT_BYTES,
  type Receipt,
  type Running,
  type StoredText,
} from '../../turns/turn-records.ts';
import { type LeasedKind, type LeasedRecord, replaceLeased } from './leased-record.ts';

/** The receipts, each of which one worker at a time may change. */
export const RECEIPT: LeasedKind<Receipt> = {
  cls: 'receipts',
  maxBytes: RECEIPT_BYTES,
  decode: parseReceipt,
  leaseIn: (receipt) => (receipt.state === 'running' ? receipt : undefined),
};

/** The right to run one turn. */
export interface TurnLease {
  /**
   * The attempts that the turn has used up, this one included, since it last came further: the claim counts it, so that
   * a worker that dies leaves it counted. None once a progress was saved.
   */
  readonly attempts: number;
  /**
   * Keeps the progress from which the next owner goes on, a text of up to 8 MiB; a larger one is not kept. One PUT, two
   * for more than 64 KiB. False: the lease ran out, and another worker has taken the turn over.
   */
  save(progress: Uint8Array, request?: RequestOptions): Promise<boolean>;
  /**
   * Stores the answer, then closes the receipt, and answers the one that counts: an earlier one where a process died
   * between these two steps. Undefined: the lease ran out, and another worker has taken the turn over; it will find
   * this answer.
   */
  finish(answer: Uint8Array, request?: RequestOptions): Promise<Uint8Array | undefined>;
  /**
   * Leaves the turn and its saved progress to the next delivery at once instead of after the lease.
   *
   * @param request.attempts The attempts that the turn has used up then; none unless given.
   */
  release(request?: RequestOptions & { readonly attempts?: number }): Promise<void>;
}

/** A number of attempts whose text is at least as long as that of any that a claim writes beside a progress. */
const LONG_ATTEMPTS = 999_999;
/** The most bytes that an answer, or a saved progress, may have, as stored and as read. */
export const MAX_ANSWER_BYTES = 8_388_608;

/** A receipt to which a worker has the lease, and what the worker wrote into it and beside it. */
export interface OwnReceipt extends LeasedRecord {
  running: Running;
  /** The version of the record with the owner's progress, if there is one. */
  besideTag: ETag | undefined;
}

export function leaseOn(work: Work, own: OwnReceipt): TurnLease {
  const { id } = own;
  const { message } = own.running;
  return {
    get attempts() {
      return own.running.attempts ?? 0;
    },
    async save(content, request = {}) {
      if (content.length > MAX_ANSWER_BYTES) return true;
      const now = await renewed(work, request);
      const progress = await storeProgress(now, own, content);
      const { attempts: _, ...rest } = own.running;
      const running: Running = { ...rest, progress };
      const isOurs = await replaceOwn(now, own, { state: 'running', ...running });
      if (isOurs) own.running = running;
      return isOurs;
    },
    async finish(answer, request = {}) {
      const now = await renewed(work, request);
      const counting = await storeAnswer(now, id, answer);
      return (await replaceOwn(now, own, { state: 'done', message })) ? counting : undefined;
    },
    async release({ attempts, ...request } = {}) {
      const { progress } = own.running;
      const free: Receipt = {
        state: 'free',
        message,
        ...(progress && { progress }),
        ...(attempts && { attempts }),
      };
      await replaceOwn(await renewed(work, request), own, free);
    },
  };
}

/** Writes a receipt of ours. False: it is not ours any longer. */
export async function replaceOwn(work: Work, own: OwnReceipt, next: Receipt): Promise<boolean> {
  const etag = await replaceLeased(work, { kind: RECEIPT, leased: own }, { next });
  own.etag = etag ?? own.etag;
  return etag !== undefined;
}

export function keyedHash({ keyring }: Work, of: 'message' | 'progress' | 'tokens', text: string): string {
  return keyring.names.keyedHash('receipts', JSON.stringify([of, text]));
}

/** Stores a progress in the receipt where it fits, else in a record that only this owner writes. */
async function storeProgress(work: Work, own: OwnReceipt, content: Uint8Array): Promise<StoredText> {
  const text = decodeText(content) ?? '';
  const inline: Receipt = { state: 'running', ...own.running, progress: { text }, attempts: LONG_ATTEMPTS };
  if (content.length < RECEIPT_BYTES && encodeReceipt(inline).length <= RECEIPT_BYTES) return { text };
  const id = keyedHash(work, 'progress', `${own.id} ${own.owner}`);
  const name = { cls: 'receipts', id, maxBytes: MAX_ANSWER_BYTES } as const;
  const known = { content, base: own.besideTag };
  const change = (found: StoredRecord | undefined) => {
    own.besideTag = found?.etag;
    return { content };
  };
  const overtaken = throwing('unavailable', 'the progress of the turn was changed by others at every look');
  own.besideTag = await rewriteRecord(work, name, known, change, overtaken);
  return { record: id };
}

/** Reads a stored progress; undefined where it is gone: the turn begins again. */
export async function readProgress(work: Work, stored: StoredText): Promise<Uint8Array | undefined> {
  if ('text' in stored) return encodeText(stored.text);
  const name = { cls: 'receipts', id: stored.record, maxBytes: MAX_ANSWER_BYTES } as const;
  return (await readRecord(work, name))?.content;
}

/** Stores the answer, unless one was stored before: the first counts, and is the one that this returns. */
export async function storeAnswer(work: Work, id: string, answer: Uint8Array): Promise<Uint8Array> {
  if (answer.length > MAX_ANSWER_BYTES) {
    throw new MemoryError('limit_exceeded', 'the answer is larger than an answer may be', {
      details: { limit: 'answer_bytes', value: answer.length, max: MAX_ANSWER_BYTES },
    });
  }
  const created = await writeRecord(work, { cls: 'answers', id }, { content: answer, base: undefined });
  if ('etag' in created) return answer;
  return (await readAnswer(work, id)) ?? answer;
}

export async function readAnswer(work: Work, id: string): Promise<Uint8Array | undefined> {
  const record = await readRecord(work, { cls: 'answers', id, maxBytes: MAX_ANSWER_BYTES });
  return record?.content;
}
