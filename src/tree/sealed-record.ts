import { open, seal } from '../format/object.ts';
import { classKey, classLogicalName, type ObjectClass } from '../format/object-keys.ts';
import { sealedSize } from '../format/sizes.ts';
import { newVersion } from '../format/version.ts';
import { decodeText, encodeText } from '../language/text.ts';
import { ageOf, type ETag } from '../store/port.ts';
import { type ConditionalWrite, type ConfirmedPut, confirmedPut } from './confirmed-put.ts';
import { openStored, readSealed } from './read-file.ts';
import type { Work } from './session.ts';

/** Which object beside the tree, and how much of it is read at most, in bytes of content. */
export interface RecordName {
  readonly cls: ObjectClass;
  readonly id: string;
  readonly maxBytes: number;
}

/** One version of a record. */
interface StoredRecord {
  readonly content: Uint8Array;
  readonly etag: ETag;
  /** Milliseconds since it was written, by the server's clock. */
  readonly ageMs: number;
  /** When its content was sealed first, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
  /** As it lies in the store. */
  readonly body: Uint8Array;
}

/** One GET. @throws MemoryError `integrity`; `limit_exceeded` when it is larger than `maxBytes`. */
export async function readRecord(work: Work, name: RecordName): Promise<StoredRecord | undefined> {
  const { cls, id, maxBytes } = name;
  const version = await readSealed(work, {
    key: classKey(work.session.layout, cls, id),
    name: classLogicalName(cls, id),
    maxBytes: sealedSize(maxBytes),
  });
  if (version === undefined) return undefined;
  const { content, mtime, stored } = version;
  return { content, mtime, etag: stored.etag, ageMs: ageOf(stored), body: stored.body };
}

/** Holds a version of a record in the session's memory, sealed, in the place of what was held of it. */
export function holdRecord(
  { session: { cache, layout } }: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  version: Pick<StoredRecord, 'etag' | 'body'>,
): void {
  cache.hold(classKey(layout, cls, id), version);
}

/**
 * The content of one version of a record as this session holds it, without a request; undefined where it does not. It may
 * have been replaced since: only a request whose condition names the ETag makes anything of it true.
 */
export function recallRecord(
  { session, keyring }: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  etag: ETag,
): Uint8Array | undefined {
  const key = classKey(session.layout, cls, id);
  const held = session.cache.find(key);
  if (held?.etag !== etag) return undefined;
  try {
    return open({ keys: keyring.keys, name: classLogicalName(cls, id), object: held.body }).content;
  } catch {
    // Its key was retired, so the object was written again: the store knows better.
    return undefined;
  }
}

interface RecordWrite {
  readonly content: Uint8Array;
  /** The version that is replaced; undefined: the record is created. */
  readonly base: ETag | undefined;
  /** Called before it is sent, and again after a process stood still: what it throws ends the write. */
  readonly check?: (() => void) | undefined;
}

/**
 * Replaces the version `base` of a record, or creates it where `base` is undefined. After a conflict another process
 * has won the race.
 *
 * @throws MemoryError `outcome_unknown` when no answer tells whether it was written.
 */
export async function writeRecord(
  work: Work,
  name: Pick<RecordName, 'cls' | 'id'>,
  write: RecordWrite,
): Promise<ConfirmedPut> {
  return confirmedPut(work, recordWrite(work, name, write));
}

/** What `writeRecord` does, for a writer that makes several changes as one. */
export function recordWrite(
  { session: { layout, stamps, random }, keyring }: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  { content, base, check }: RecordWrite,
): ConditionalWrite {
  const name = classLogicalName(cls, id);
  const version = newVersion({ mtime: stamps.now(), random });
  return {
    key: classKey(layout, cls, id),
    seal(stamp) {
      check?.();
      return seal({ ...stamp, keys: keyring.keys, name, version, content, random });
    },
    after: undefined,
    mode: base === undefined ? 'create' : { ifMatch: base },
  };
}

/**
 * A record as it would lie in the store, for what carries it elsewhere. No migration finds it there: when its key is retired
 * it does not open any more.
 */
export function sealRecord(
  { session: { stamps, random }, keyring: { keys } }: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  content: Uint8Array,
): Uint8Array {
  const version = newVersion({ mtime: stamps.now(), random });
  return seal({ keys, name: classLogicalName(cls, id), version, content, random });
}

/** What `sealRecord` made under this name, with its time. @throws MemoryError `integrity`. */
export async function openRecord(
  work: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  body: Uint8Array,
): Promise<Pick<StoredRecord, 'content' | 'mtime'>> {
  return openStored(work, classLogicalName(cls, id), { body });
}

/** The content of a record that holds one JSON object. */
export function encodeFields(fields: Readonly<Record<string, unknown>>): Uint8Array {
  return encodeText(JSON.stringify(fields));
}

/** Undefined unless the content is one JSON object. */
export function decodeFields(content: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  return parseFields(decodeText(content) ?? '');
}

/** Undefined unless the text is one JSON object. */
export function parseFields(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const fields: unknown = JSON.parse(text);
    return typeof fields === 'object' && fields !== null && !Array.isArray(fields)
      ? { ...fields }
      : undefined;
  } catch {
    return undefined;
  }
}

/** A text, or the id of the record beside that holds it because it is large. */
export type StoredText = { readonly text: string } | { readonly record: string };

/** Undefined for anything else. */
export function parseStoredText(value: unknown): StoredText | undefined {
  const { text, record } = Object(value) as Readonly<Record<string, unknown>>;
  if (typeof text === 'string' && record === undefined) return { text };
  return typeof record === 'string' && text === undefined ? { record } : undefined;
}
