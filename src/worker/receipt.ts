import { MemoryError } from '../errors.ts';
import { decodeFields, encodeFields, parseStoredText, type StoredText } from '../tree/sealed-record.ts';

/** What is stored of a turn besides its answer. `message` stands for the message that it was begun with. */
export type Receipt =
  | (Running & { readonly state: 'running' })
  | (Begun & { readonly state: 'free' })
  | { readonly state: 'done'; readonly message: string };

export interface Begun {
  readonly message: string;
  readonly progress?: StoredText;
}

export interface Running extends Begun {
  /** A random name, so that its owner knows the receipt again after a migration has re-bound it. */
  readonly owner: string;
  readonly leaseMs: number;
}

/** A progress that would make the receipt larger lies in a record of its own. */
export const RECEIPT_BYTES = 65_536;

export function encodeReceipt(receipt: Receipt): Uint8Array {
  return encodeFields({ ...receipt });
}

/**
 * @throws MemoryError `unsupported_format`: what authenticated bytes say that this version of the library does not know
 * was written by a later one.
 */
export function parseReceipt(content: Uint8Array): Receipt {
  const { state, message, owner, leaseMs, progress: stored, ...rest } = decodeFields(content) ?? {};
  const progress = parseStoredText(stored);
  const isWhole = (progress === undefined) === (stored === undefined);
  const isKnown = isWhole && Object.keys(rest).length === 0 && typeof message === 'string';
  if (isKnown && state === 'running' && typeof owner === 'string' && Number.isSafeInteger(leaseMs)) {
    return { state, message, owner, leaseMs: leaseMs as number, ...(progress && { progress }) };
  }
  if (isKnown && owner === undefined && leaseMs === undefined) {
    if (state === 'free') return { state, message, ...(progress && { progress }) };
    if (state === 'done' && progress === undefined) return { state, message };
  }
  throw ofLaterVersion();
}

function ofLaterVersion(): MemoryError {
  return new MemoryError('unsupported_format', 'the receipt of a turn is of a later version');
}
