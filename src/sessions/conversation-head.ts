import { MemoryError } from '../errors.ts';
import type { ETag } from '../store/port.ts';
import type { ConfirmedPut } from '../tree/confirmed-put.ts';
import {
  decodeFields,
  encodeFields,
  parseStoredText,
  readRecord,
  type StoredText,
  writeRecord,
} from '../tree/sealed-record.ts';
import type { Work } from '../tree/session.ts';
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

/** One GET. @throws MemoryError `integrity`; `unsupported_format` for one that a later version wrote. */
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

function parseHead(bytes: Uint8Array): ConversationHead {
  const { version, turn, content: stored, held: hold, ...rest } = decodeFields(bytes) ?? {};
  const content = parseStoredText(stored);
  const held = parseHold(hold);
  const isKnown =
    Object.keys(rest).length === 0 &&
    isCount(version) &&
    (typeof turn === 'string') === (content !== undefined) &&
    (stored === undefined) === (content === undefined) &&
    (hold === undefined) === (held === undefined);
  if (!isKnown) throw new MemoryError('unsupported_format', 'the conversation is of a later version');
  return {
    version,
    ...(typeof turn === 'string' && { turn }),
    ...(content && { content }),
    ...(held && { held }),
  };
}

function parseHold(value: unknown): Hold | undefined {
  const { turn, owner, leaseMs, ...rest } = Object(value) as Readonly<Record<string, unknown>>;
  const isKnown = Object.keys(rest).length === 0 && typeof turn === 'string' && typeof owner === 'string';
  return isKnown && isCount(leaseMs) ? { turn, owner, leaseMs } : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
