import { objectRefused } from '../format/object.ts';
import { decodeText, encodeText } from '../language/text.ts';
import { numberIn } from '../tree/records/record-values.ts';
import { decodeFields, encodeFields } from '../tree/records/sealed-record.ts';
import { parseTurnTrace } from './turn-trace.ts';

/** The right of one owner to change a record, as the record holds it. */
export interface Lease {
  /** A random name, so that the owner knows its lease again after a migration has re-bound the record. */
  readonly owner: string;
  /** Milliseconds from the record's last change on, by the server's clock. */
  readonly leaseMs: number;
}

/** A text, or where it is large the id of the record that holds it. */
export type StoredText = { readonly text: string } | { readonly record: string };

/** Reads a stored text; undefined for any other value. */
export function parseStoredText(value: unknown): StoredText | undefined {
  const { text, record } = Object(value) as Readonly<Record<string, unknown>>;
  if (typeof text === 'string' && record === undefined) return { text };
  return typeof record === 'string' && text === undefined ? { record } : undefined;
}

/** The record of a turn besides its answer. `message` stands for the message that began the turn. */
export type Receipt =
  | (Running & { readonly state: 'running' })
  | (Begun & { readonly state: 'free' })
  | { readonly state: 'done'; readonly message: string };

/** A turn that was begun, and its progress. */
interface Begun {
  readonly message: string;
  readonly progress?: StoredText;
  /** The attempts that the turn has used up, that of its owner included; absent: none. */
  readonly attempts?: number;
}

/** A turn that a worker runs, until its lease ends. */
export interface Running extends Begun, Lease {}

/** The most bytes of a receipt. A progress that would make it larger lies in a record of its own. */
export const RECEIPT_BYTES = 65_536;

export function encodeReceipt(receipt: Receipt): Uint8Array {
  return encodeFields({ ...receipt });
}

/** Decodes a receipt. @throws MemoryError `integrity` for malformed content. */
export function parseReceipt(content: Uint8Array): Receipt {
  const {
    state,
    message,
    owner,
    leaseMs: lease,
    progress: stored,
    attempts: used,
  } = decodeFields(content) ?? {};
  if (typeof message !== 'string') throw objectRefused();
  if (state === 'done') return { state, message };
  const progress = parseStoredText(stored);
  if (stored !== undefined && progress === undefined) throw objectRefused();
  const attempts = numberIn(used);
  if (used !== undefined && attempts === undefined) throw objectRefused();
  const begun = { message, ...(progress && { progress }), ...(attempts && { attempts }) };
  if (state === 'free') return { state, ...begun };
  const leaseMs = numberIn(lease);
  if (state !== 'running' || typeof owner !== 'string' || leaseMs === undefined) throw objectRefused();
  return { state, owner, leaseMs, ...begun };
}

/** The tokens of one day: those that turns took, and those that turns at work have reserved. */
export interface TokenCount {
  readonly tokens: number;
  readonly reserved: number;
  /** When the last of the turns that reserved some must have ended, by the store's time; milliseconds since the epoch. */
  readonly until: number;
}

/** Decodes a count of tokens. @throws MemoryError `integrity` for malformed content. */
export function parseCount(content: Uint8Array): TokenCount {
  const { tokens: taken, reserved: some = 0, until: end = 0 } = decodeFields(content) ?? {};
  const [tokens, reserved, until] = [numberIn(taken), numberIn(some), numberIn(end)];
  if (tokens === undefined || reserved === undefined || until === undefined) throw objectRefused();
  return { tokens, reserved, until };
}

type Fields = Readonly<Record<string, unknown>>;

const OUTCOMES: ReadonlySet<unknown> = new Set(['answered', 'refused', 'truncated', 'too_large']);

/** Decodes the fields of an answer. @throws MemoryError `integrity` for malformed content. */
export function parseAnswer(content: Uint8Array): Fields {
  const fields = decodeFields(content) ?? {};
  const { outcome, reason, model, usage } = fields;
  const isAnswer = isSaid(fields) && OUTCOMES.has(outcome) && (usage === undefined || isObject(usage));
  if (isAnswer && isPerhapsText(reason) && isPerhapsText(model)) return fields;
  throw objectRefused();
}

/** Decodes the fields of a progress. @throws MemoryError `integrity` for malformed content. */
export function parseProgress(content: Uint8Array): Fields {
  const fields = decodeFields(content) ?? {};
  const { usage, version, pending } = fields;
  const isVersion = version === undefined || numberIn(version) !== undefined;
  const isKept = pending === undefined || isPending(pending);
  if (isSaid(fields) && isObject(usage) && isVersion && isKept) return fields;
  throw objectRefused();
}

/**
 * Decodes the progress of a turn in a record of the class `receipts`: a receipt that holds one, or a progress alone.
 * Undefined where the progress lies elsewhere, or is missing. Only the content tells what such a record is.
 *
 * @throws MemoryError `integrity` for malformed content.
 */
export function parseSaved(content: Uint8Array): Fields | undefined {
  const fields = decodeFields(content) ?? {};
  if ('tokens' in fields) parseCount(content);
  else if ('state' in fields) {
    const receipt = parseReceipt(content);
    const saved = 'progress' in receipt ? receipt.progress : undefined;
    return saved !== undefined && 'text' in saved ? parseProgress(encodeText(saved.text)) : undefined;
  } else return parseProgress(content);
  return undefined;
}

/** The content of a conversation's body. */
interface StoredConversation {
  readonly messages: readonly unknown[];
  readonly last: { readonly turn: string; readonly from: number; readonly answer: object };
}

/** Decodes the body of a conversation. @throws MemoryError `integrity` for malformed content. */
export function parseConversation(content: Uint8Array): StoredConversation {
  const { messages, last } = decodeFields(content) ?? {};
  const { turn, from: number, answer } = Object(last) as Fields;
  const [from, { text }] = [numberIn(number), Object(answer) as Fields];
  const isKnown = Array.isArray(messages) && typeof turn === 'string' && typeof text === 'string';
  if (isKnown && from !== undefined) return { messages, last: { turn, from, answer: Object(answer) } };
  throw objectRefused();
}

/** Decodes a prompt. @throws MemoryError `integrity` for malformed content. */
export function parsePrompt(content: Uint8Array): string {
  const prompt = decodeText(content);
  if (prompt === undefined || prompt === '') throw objectRefused();
  return prompt;
}

/** Tells whether the fields that an answer and a progress share are well formed. */
function isSaid({ messages, text, digest, trace }: Fields): boolean {
  const isTraced = trace === undefined || parseTurnTrace(trace) !== undefined;
  return Array.isArray(messages) && typeof text === 'string' && isPerhapsText(digest) && isTraced;
}

function isPending(value: unknown): boolean {
  const { reply, key, since } = Object(value) as Fields;
  const isReply = Array.isArray((Object(reply) as Fields)['content']);
  return isReply && typeof key === 'string' && numberIn(since) !== undefined;
}

function isPerhapsText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
