import { open, seal } from '../../format/object.ts';
import { classKey, classLogicalName, type ObjectClass } from '../../format/object-keys.ts';
import { sealedSize } from '../../format/sizes.ts';
import { newVersion } from '../../format/version.ts';
import { decodeText, encodeText } from '../../language/text.ts';
import { ageOf, type ETag } from '../../store/port.ts';
import { type ConditionalWrite, type ConfirmedPut, confirmedPut } from '../confirmed-put.ts';
import { openStored, readSealed } from '../read-file.ts';
import type { Work } from '../tenant.ts';

/** The name of a record: an object beside the tree. */
export interface RecordName {
  readonly cls: ObjectClass;
  readonly id: string;
  /** The most bytes of content that are read. */
  readonly maxBytes: number;
}

/** One version of a record. */
export interface StoredRecord {
  readonly content: Uint8Array;
  readonly etag: ETag;
  /** Milliseconds since it was written, by the server's clock. */
  readonly ageMs: number;
  /** The time at which its content was first sealed, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
  /** The sealed bytes as they lie in the store. */
  readonly body: Uint8Array;
}

/** Reads a record. One GET. @throws MemoryError `integrity`; `limit_exceeded` when it is larger than `maxBytes`. */
export async function readRecord(work: Work, name: RecordName): Promise<StoredRecord | undefined> {
  const { cls, id, maxBytes } = name;
  const version = await readSealed(work, {
    key: classKey(work.tenant.layout, cls, id),
    name: classLogicalName(cls, id),
    maxBytes: sealedSize(maxBytes),
  });
  if (version === undefined) return undefined;
  const { content, mtime, stored } = version;
  return { content, mtime, etag: stored.etag, ageMs: ageOf(stored), body: stored.body };
}

/** Holds a version of a record, sealed, in the process's memory, instead of an earlier one. */
export function holdRecord(
  { tenant: { cache, layout } }: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  version: Pick<StoredRecord, 'etag' | 'body'>,
): void {
  cache.hold(classKey(layout, cls, id), version);
}

/**
 * Opens the version of a record that this process holds, without a request; undefined where it holds another one or
 * none. The record may have been replaced since: only a request whose condition names the ETag shows that this version
 * is the current one.
 */
export function recallRecord(
  { tenant, keyring }: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  etag: ETag,
): Uint8Array | undefined {
  const key = classKey(tenant.layout, cls, id);
  const held = tenant.cache.find(key);
  if (held?.etag !== etag) return undefined;
  try {
    return open({ keys: keyring.keys, name: classLogicalName(cls, id), object: held.body }).content;
  } catch {
    // The key of this version was retired, so the store has a newer one.
    return undefined;
  }
}

export interface RecordWrite {
  readonly content: Uint8Array;
  /** The version that is replaced; undefined: the record is created. */
  readonly base: ETag | undefined;
  /** Runs before the write is sent, and again after the process stood still. An error that it throws ends the write. */
  readonly check?: (() => void) | undefined;
}

/**
 * Replaces the version `base` of a record, or creates the record where `base` is undefined. A conflict means that
 * another process wrote it first.
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

/** Prepares the write that `writeRecord` makes, for a caller that makes several changes as one. */
export function recordWrite(
  { tenant: { layout, stamps, random }, keyring }: Work,
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
 * Seals a record as it would lie in the store, for a caller that carries it elsewhere. No migration finds it there, so
 * it opens only until its key is retired.
 */
export function sealRecord(
  { tenant: { stamps, random }, keyring: { keys } }: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  content: Uint8Array,
): Uint8Array {
  const version = newVersion({ mtime: stamps.now(), random });
  return seal({ keys, name: classLogicalName(cls, id), version, content, random });
}

/**
 * Opens a body that `sealRecord` made under this name, and tells its time.
 *
 * @throws MemoryError `integrity`.
 */
export async function openRecord(
  work: Work,
  { cls, id }: Pick<RecordName, 'cls' | 'id'>,
  body: Uint8Array,
): Promise<Pick<StoredRecord, 'content' | 'mtime'>> {
  return openStored(work, classLogicalName(cls, id), { body });
}

/** Encodes the content of a record that holds one JSON object. */
export function encodeFields(fields: Readonly<Record<string, unknown>>): Uint8Array {
  return encodeText(JSON.stringify(fields));
}

/** Decodes the JSON object of a record; undefined for any other content. */
export function decodeFields(content: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  return parseFields(decodeText(content) ?? '');
}

/** Parses one JSON object; undefined for any other text. */
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
