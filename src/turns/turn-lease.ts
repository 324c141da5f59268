import { MemoryError } from '../errors.ts';
import { decodeText, encodeText } from '../language/text.ts';
import type { ETag, RequestOptions, WriteResult } from '../store/port.ts';
import { readRecord, type StoredText, writeRecord } from '../tree/records/sealed-record.ts';
import type { Work } from '../tree/tenant.ts';
import { encodeReceipt, parseReceipt, RECEIPT_BYTES, type Receipt, type Running } from './turn-records.ts';

/** The right to run one turn. */
export interface TurnLease {
  /**
   * Keeps what the next owner goes on from, a text of up to 8 MiB; a larger one is not kept. One PUT, two for more than
   * 64 KiB. False: the lease ran out, and another worker has taken the turn over.
   */
  save(progress: Uint8Array, request?: RequestOptions): Promise<boolean>;
  /**
   * Stores the answer, then closes the receipt, and gives the answer that counts: an earlier one where a process
   * died between these two steps. Undefined: the lease ran out, and another worker has taken the turn over; it will
   * find this answer.
   */
  finish(answer: Uint8Array, request?: RequestOptions): Promise<Uint8Array | undefined>;
  /** Leaves the turn, and what was saved of it, to the next delivery at once instead of after the lease. */
  release(request?: RequestOptions): Promise<void>;
}

export interface StoredReceipt {
  readonly receipt: Receipt;
  readonly etag: ETag;
  readonly ageMs: number;
}

/** What an answer, or a saved progress, may have, as stored and as read. */
export const MAX_ANSWER_BYTES = 8_388_608;
/** So often a conflict is looked into before another writer is taken to be at work. */
export const LOOKS = 8;

/** The receipt as its owner wrote it last. */
export interface Held {
  readonly id: string;
  running: Running;
  etag: ETag;
  /** Of the record with the owner's progress, if there is one. */
  besideTag: ETag | undefined;
}

export function leaseOn(work: Work, held: Held): TurnLease {
  const { id } = held;
  const { message } = held.running;
  return {
    async save(content, { signal } = {}) {
      if (content.length > MAX_ANSWER_BYTES) return true;
      const own = { ...work, call: { signal } };
      const progress = await storeProgress(own, held, content);
      const running: Running = { ...held.running, progress };
      const isOurs = await replaceOwn(own, held, { state: 'running', ...running });
      if (isOurs) held.running = running;
      return isOurs;
    },
    async finish(answer, { signal } = {}) {
      const own = { ...work, call: { signal } };
      const counting = await storeAnswer(own, id, answer);
      return (await replaceOwn(own, held, { state: 'done', message })) ? counting : undefined;
    },
    async release({ signal } = {}) {
      const { progress } = held.running;
      const free: Receipt = { state: 'free', message, ...(progress && { progress }) };
      await replaceOwn({ ...work, call: { signal } }, held, free);
    },
  };
}

export function keyedHash({ keyring }: Work, of: 'message' | 'progress' | 'tokens', text: string): string {
  return keyring.names.keyedHash('receipts', JSON.stringify([of, text]));
}

/** False: the receipt is not ours any more. */
export async function replaceOwn(work: Work, held: Held, next: Receipt): Promise<boolean> {
  for (let attempt = 0; attempt < LOOKS; attempt++) {
    const written = await writeReceipt(work, held.id, { receipt: next, base: held.etag });
    if ('etag' in written) {
      held.etag = written.etag;
      return true;
    }
    const stored = await readReceipt(work, held.id);
    if (stored?.receipt.state !== 'running' || stored.receipt.owner !== held.running.owner) return false;
    held.etag = stored.etag;
  }
  return false;
}

/** Into the receipt where it fits, else into a record that only this owner writes. */
async function storeProgress(work: Work, held: Held, content: Uint8Array): Promise<StoredText> {
  const text = decodeText(content) ?? '';
  const inline: Receipt = { state: 'running', ...held.running, progress: { text } };
  if (content.length < RECEIPT_BYTES && encodeReceipt(inline).length <= RECEIPT_BYTES) return { text };
  const name = {
    cls: 'receipts',
    id: keyedHash(work, 'progress', `${held.id} ${held.running.owner}`),
  } as const;
  for (let attempt = 0; attempt < LOOKS; attempt++) {
    const written = await writeRecord(work, name, { content, base: held.besideTag });
    if ('etag' in written) {
      held.besideTag = written.etag;
      return { record: name.id };
    }
    held.besideTag = (await readRecord(work, { ...name, maxBytes: MAX_ANSWER_BYTES }))?.etag;
  }
  throw new MemoryError('unavailable', 'the progress of the turn was changed by others at every look');
}

/** Undefined where it is gone: the turn begins again. */
export async function readProgress(work: Work, stored: StoredText): Promise<Uint8Array | undefined> {
  if ('text' in stored) return encodeText(stored.text);
  const name = { cls: 'receipts', id: stored.record, maxBytes: MAX_ANSWER_BYTES } as const;
  return (await readRecord(work, name))?.content;
}

/** The first answer that was stored counts. */
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

export async function readReceipt(work: Work, id: string): Promise<StoredReceipt | undefined> {
  const record = await readRecord(work, { cls: 'receipts', id, maxBytes: RECEIPT_BYTES });
  return record && { receipt: parseReceipt(record.content), etag: record.etag, ageMs: record.ageMs };
}

export async function writeReceipt(
  work: Work,
  id: string,
  { receipt, base }: { readonly receipt: Receipt; readonly base: ETag | undefined },
): Promise<WriteResult> {
  return writeRecord(work, { cls: 'receipts', id }, { content: encodeReceipt(receipt), base });
}
