import { objectRefused } from '../format/object.ts';
import { numberIn } from '../tree/records/record-values.ts';
import { decodeFields, encodeFields, readRecord } from '../tree/records/sealed-record.ts';
import type { Work } from '../tree/tenant.ts';
import { CLASS } from './conversation-id.ts';
import { type Lease, parseStoredText, type StoredText } from './turn-records.ts';

/**
 * The record of a conversation that is changed by If-Match alone: it tells where the conversation is, and who works on
 * it.
 */
export interface ConversationHead {
  /** The number of turns that were stored. */
  readonly version: number;
  /** The id of the receipt of the turn that was stored last; with `content`. */
  readonly turn?: string;
  /** The conversation as that turn left it. */
  readonly content?: StoredText;
  readonly held?: Hold;
}

/** The right of one turn to change the conversation. */
interface Hold extends Lease {
  /** The id of the turn's receipt. */
  readonly turn: string;
}

/** The most bytes of a head. A conversation that would make its head larger lies in a record of its own. */
export const HEAD_BYTES = 65_536;
/** The head of a conversation that has none yet. */
export const NO_HEAD: ConversationHead = { version: 0 };

/**
 * Reads the head of a conversation, which is empty where there is none. One GET. @throws MemoryError `integrity`, also
 * for malformed content.
 */
export async function readHead(work: Work, id: string): Promise<ConversationHead> {
  const record = await readRecord(work, { cls: CLASS, id, maxBytes: HEAD_BYTES });
  return record === undefined ? NO_HEAD : parseHead(record.content);
}

export function encodeHead(head: ConversationHead): Uint8Array {
  return encodeFields({ ...head });
}

/**
 * Decodes a head.
 *
 * @throws MemoryError `integrity` for malformed content.
 */
export function parseHead(bytes: Uint8Array): ConversationHead {
  const fields = decodeFields(bytes) ?? {};
  const { turn, content: stored, held: hold } = fields;
  const [version, content, held] = [numberIn(fields['version']), parseStoredText(stored), parseHold(hold)];
  if (version === undefined || (hold === undefined) !== (held === undefined)) throw objectRefused();
  const behind = typeof turn === 'string' && content !== undefined ? { turn, content } : undefined;
  if (behind === undefined && (turn !== undefined || stored !== undefined)) throw objectRefused();
  return { version, ...behind, ...(held && { held }) };
}

function parseHold(value: unknown): Hold | undefined {
  const { turn, owner, leaseMs: lease } = Object(value) as Readonly<Record<string, unknown>>;
  const leaseMs = numberIn(lease);
  const isHold = typeof turn === 'string' && typeof owner === 'string' && leaseMs !== undefined;
  return isHold ? { turn, owner, leaseMs } : undefined;
}
