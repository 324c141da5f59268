import { MemoryError } from '../../errors.ts';
import { hashCheckpoint } from '../../format/checkpoint-root.ts';
import { toBase64url } from '../../format/encoding.ts';
import { KEY_BYTES } from '../../format/sodium.ts';
import { NO_ID } from '../../format/wrap.ts';
import { MEMORY_ROOT, type MemoryPath } from '../../language/path.ts';
import { decodeText, encodeText } from '../../language/text.ts';
import { boundIn, bytesIn, idIn, numberIn, pathIn, timeIn } from '../../tree/records/record-values.ts';
import { decodeFields, encodeFields } from '../../tree/records/sealed-record.ts';

/** A file as a checkpoint found it. Ids are base64url of 16 bytes. */
export interface CheckpointEntry {
  readonly path: MemoryPath;
  readonly id: string;
  readonly bound: bigint;
  /** Milliseconds since the epoch, by its writer's clock. */
  readonly mtime: number;
  /** Bytes of content. */
  readonly size: number;
  readonly previous: string;
  readonly writer: string;
  readonly etag: string;
  /**
   * The keyed hash of its text, 43 characters: an attacker who once held the data key can exchange the text under the
   * same header.
   */
  readonly textHash: string;
  /** `young`: it was created a moment before the checkpoint, and its writer could still take it back. */
  readonly note: '' | 'young';
}

/** The `previous` of an entry whose file is new, and the `writer` of one without a known actor. */
export const NO_VERSION: string = toBase64url(NO_ID);

/** The facts that the root of a checkpoint binds. */
export interface CheckpointFacts {
  /** The number of the checkpoint: from 1, one more for each of the tenant. */
  readonly number: number;
  readonly files: number;
  /**
   * The beginning of the time in which each entry was current at some moment, by the process's clock; milliseconds
   * since the epoch.
   */
  readonly began: number;
  /** The end of that time. */
  readonly ended: number;
  /** The epoch of the keyring. */
  readonly epoch: number;
  readonly keepsHistory: boolean;
}

/** The head of a checkpoint: the record of the class `checkpoints` that is written last. */
export interface CheckpointHead extends CheckpointFacts {
  /** The name of this run, which the ids of its parts carry. */
  readonly run: string;
  readonly parts: number;
  /** 32 bytes: the key of the root. */
  readonly secret: Uint8Array;
}

/**
 * The line of a checkpoint, written `12:…`: its number and the 43 characters of its root. It is kept outside of the
 * store.
 */
export interface CheckpointLine {
  readonly number: number;
  readonly root: string;
}

const LINE = /^([1-9]\d{0,11}):([A-Za-z0-9_-]{43})$/;

/** Reads a line. @throws MemoryError `invalid_command` for anything else. */
export function parseLine(text: unknown): CheckpointLine {
  const [, number, root] = (typeof text === 'string' && LINE.exec(text.trim())) || [];
  if (number !== undefined && root !== undefined) return { number: Number(number), root };
  throw new MemoryError(
    'invalid_command',
    'That is no line of a checkpoint: a number, a colon and 43 characters are.',
  );
}

export function lineOf({ number, root }: CheckpointLine): string {
  return `${number}:${root}`;
}

const NUMBER_DIGITS = 12;
const MAX_NUMBER = 10 ** NUMBER_DIGITS - 1;
const PART_DIGITS = 6;
const MAX_PARTS = 10 ** PART_DIGITS;

export function headId(number: number): string {
  return `c${String(number).padStart(NUMBER_DIGITS, '0')}`;
}

/** Reads the number of a checkpoint out of its head's id; undefined for any other id. */
export function numberOfHead(id: string): number | undefined {
  return /^c\d{12}$/.test(id) ? Number(id.slice(1)) : undefined;
}

export function partId(run: string, part: number): string {
  return `${partsOf(run)}${String(part).padStart(PART_DIGITS, '0')}`;
}

/** Makes the beginning that the ids of one checkpoint's parts share. */
export function partsOf(run: string): string {
  return `p${run}_`;
}

/** Reads the run out of the id of a part; undefined for any other id. */
export function runOfPart(id: string): string | undefined {
  return /^p([\w-]{22})_\d{6}$/.exec(id)?.[1];
}

/** Makes the root of a checkpoint from its head and the digests of its parts, in base64url. */
export function rootOf({ secret, ...facts }: CheckpointHead, parts: readonly Uint8Array[]): string {
  return toBase64url(hashCheckpoint(secret, { facts: encodeFacts(facts), parts }));
}

function encodeFacts({ number, files, began, ended, epoch, keepsHistory }: CheckpointFacts): Uint8Array {
  return encodeText(JSON.stringify([number, files, began, ended, epoch, keepsHistory]));
}

export function encodeHead({ secret, ...head }: CheckpointHead): Uint8Array {
  return encodeFields({ ...head, secret: toBase64url(secret) });
}

/** Decodes a head; undefined for any other content. */
export function decodeHead(content: Uint8Array): CheckpointHead | undefined {
  const fields = decodeFields(content);
  if (fields === undefined) return undefined;
  const { keepsHistory, run } = fields;
  const [number, files] = [numberIn(fields['number']), numberIn(fields['files'])];
  const [began, ended] = [timeIn(fields['began']), timeIn(fields['ended'])];
  const [epoch, parts] = [numberIn(fields['epoch']), numberIn(fields['parts'])];
  const secret = bytesIn(fields['secret'], KEY_BYTES);
  if (number === undefined || number === 0 || number > MAX_NUMBER || files === undefined) return undefined;
  if (parts === undefined || parts > MAX_PARTS || began === undefined || ended === undefined)
    return undefined;
  if (epoch === undefined || typeof keepsHistory !== 'boolean' || secret === undefined) return undefined;
  if (!isId(run)) return undefined;
  return { number, files, began, ended, epoch, keepsHistory, run, parts, secret };
}

function isId(value: unknown): value is string {
  return idIn(value) !== undefined;
}

/** Encodes an entry as one line of a part, without its end. */
export function encodeEntry(entry: CheckpointEntry): string {
  const { path, id, bound, mtime, size, previous, writer, etag, textHash, note } = entry;
  return JSON.stringify([path, id, String(bound), mtime, size, previous, writer, etag, textHash, note]);
}

/** Decodes one line of a part; undefined for any other text. */
function decodeEntry(line: string): CheckpointEntry | undefined {
  const fields = parseArray(line);
  if (fields?.length !== 10) return undefined;
  const [, id, , , , previous, writer, etag, textHash, note] = fields;
  const [path, bound] = [pathIn(fields[0]), boundIn(fields[2])];
  const [mtime, size] = [numberIn(fields[3]), numberIn(fields[4])];
  if (path === undefined || path === MEMORY_ROOT || bound === undefined) return undefined;
  if (mtime === undefined || size === undefined || typeof etag !== 'string') return undefined;
  if (!isId(id) || !isId(previous) || !isId(writer)) return undefined;
  if (typeof textHash !== 'string' || bytesIn(textHash, KEY_BYTES) === undefined) return undefined;
  if (note !== '' && note !== 'young') return undefined;
  return { path, bound, id, mtime, size, previous, writer, etag, textHash, note };
}

function parseArray(line: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Decodes the entries of a part, one at least, in a step for each; undefined for any other content. */
export function* decodePart(content: Uint8Array): Generator<void, readonly CheckpointEntry[] | undefined> {
  const entries: CheckpointEntry[] = [];
  for (const line of decodeText(content)?.split('\n') ?? []) {
    const entry = decodeEntry(line);
    if (entry === undefined) return undefined;
    entries.push(entry);
    yield;
  }
  return entries.length === 0 ? undefined : entries;
}
