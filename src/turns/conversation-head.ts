import { objectRefused } from '../format/object.ts';
import type { ETag } from '../store/port.ts';
import type { ConfirmedPut } from '../tree/confirmed-put.ts';
import { numberIn } from '../tree/records/record-values.ts';
import {
  decodeFields,
  encodeFields,
  parseStoredText,
  readRecord,
  type StoredText,
  writeRecord,
} from '../tree/records/sealed-record.ts';
import type { Work } from '../tree/tenant.ts';
import { CLASS } from './conversation-id.ts';

/** The record of a conversation that is changed by If-Match alone: where it is, and who works on it. */
export interface ConversationHead {
  /** How many turns were stored. */
  readonly version: number;
  /** The id of the receipt of the turn that was stored last; with `content`. */
  readonly turn?: string;
  /** The conversation behind that turn. */
  readonly content?: StoredText;
  readonly held?: Hold;
}

/** The right of one turn to change the conversation. */
export interface Hold {
  /** The id of its receipt. */
  readonly turn: string;
  /** A random name of the worker, so that it knows its hold again after a migration has re-bound it. */
  readonly owner: string;
  /** From the head's last change on, by the server's clock. */
  readonly leaseMs: number;
}

interface StoredHead {
  readonly head: ConversationHead;
  /** Undefined: there is none so far. */
  readonly etag: ETag | undefined;
  readonly ageMs: number;
}

/** A conversation that would make its head larger lies in a record of its own. */
export const HEAD_BYTES = 65_536;

/** One GET. @throws MemoryError `integrity`, also for what is malformed. */
export async function readHead(work: Work, id: string): Promise<StoredHead> {
  const record = await readRecord(work, { cls: CLASS, id, maxBytes: HEAD_BYTES });
  if (record === undefined) return { head: { version: 0 }, etag: undefined, ageMs: 0 };
  return { head: parseHead(record.content), etag: record.etag, ageMs: record.ageMs };
}

/** Replaces the head of that version, or creates it. What `check` throws before it is sent ends the write. */
export async function writeHead(
  work: Work,
  id: string,
  write: {
    readonly head: ConversationHead;
    readonly base: ETag | undefined;
    readonly check?: (() => void) | undefined;
  },
): Promise<ConfirmedPut> {
  const { head, ...rest } = write;
  return writeRecord(work, { cls: CLASS, id }, { content: encodeHead(head), ...rest });
}

export function encodeHead(head: ConversationHead): Uint8Array {
  return encodeFields({ ...head });
}

/** @throws MemoryError `integrity` for what is malformed. */
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
