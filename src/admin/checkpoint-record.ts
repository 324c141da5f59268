import { MemoryError } from '../errors.ts';
import { hashCheckpoint } from '../format/checkpoint-root.ts';
import { toBase64url } from '../format/encoding.ts';
import { KEY_BYTES } from '../format/sodium.ts';
import { NO_ID } from '../format/wrap.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { decodeText, encodeText } from '../language/text.ts';
import { boundIn, bytesIn, idIn, numberIn, pathIn, timeIn } from '../tree/record-values.ts';
import { decodeFields, encodeFields } from '../tree/sealed-record.ts';

/** What identifies a version of a file, and what it was written after. Ids are base64url of 16 bytes. */
export interface VersionFacts {
  readonly path: MemoryPath;
  readonly id: string;
  readonly bound: bigint;
  /** Milliseconds since the epoch, by its writer's clock. */
  readonly mtime: number;
  /** Bytes of content. */
  readonly size: number;
  readonly previous: string;
  readonly writer: string;
}

/** What an entry names as `previous` where the file is new, and as `writer` where no actor is known. */
export const NO_VERSION: string = toBase64url(NO_ID);

/** A file as a checkpoint found it. */
export interface CheckpointEntry extends VersionFacts {
  readonly etag: string;
  /** The keyed hash of its text, 43 characters: who once held the data key can exchange the text under an unchanged header. */
  readonly textHash: string;
  /** `young`: it was created a moment before, and its writer could still take it back. */
  readonly note: '' | 'young';
}

/** What the root of a checkpoint binds. */
export interface CheckpointFacts {
  /** From 1, one more for each checkpoint of the tenant. */
  readonly number: number;
  readonly files: number;
  /** Between these moments each entry was current, by the clock of the process; milliseconds since the epoch. */
  readonly began: number;
  readonly ended: number;
  /** Of the keyring. */
  readonly epoch: number;
  readonly keepsHistory: boolean;
}

/** The record of the class `checkpoints` that is written last. */
export interface CheckpointHead extends CheckpointFacts {
  /** In the ids of the records that hold the entries. */
  readonly run: string;
  readonly parts: number;
  /** 32 bytes: the key of the root. */
  readonly secret: Uint8Array;
}

/** A number and 43 characters of a root, as `12:…`: what is kept outside of the store. */
export interface CheckpointLine {
  readonly number: number;
  readonly root: string;
}

const LINE = /^([1-9]\d{0,11}):([A-Za-z0-9_-]{43})$/;

/** @throws MemoryError `invalid_command`. */
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

/** Undefined for the id of anything else. */
export function numberOfHead(id: string): number | undefined {
  return /^c\d{12}$/.test(id) ? Number(id.slice(1)) : undefined;
}

export function partId(run: string, part: number): string {
  return `${partsOf(run)}${String(part).padStart(PART_DIGITS, '0')}`;
}

/** What the ids of the parts of one checkpoint begin with. */
export function partsOf(run: string): string {
  return `p${run}_`;
}

/** Undefined for the id of anything but a part. */
export function runOfPart(id: string): string | undefined {
  return /^p([\w-]{22})_\d{6}$/.exec(id)?.[1];
}

/** The root of a checkpoint with parts of these digests, in base64url. */
export function rootOf({ secret, ...facts }: CheckpointHead, parts: readonly Uint8Array[]): string {
  return toBase64url(hashCheckpoint(secret, { facts: encodeFacts(facts), parts }));
}

function encodeFacts({ number, files, began, ended, epoch, keepsHistory }: CheckpointFacts): Uint8Array {
  return encodeText(JSON.stringify([number, files, began, ended, epoch, keepsHistory]));
}

export function encodeHead({ secret, ...head }: CheckpointHead): Uint8Array {
  return encodeFields({ ...head, secret: toBase64url(secret) });
}

/** Undefined for anything but a head. */
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

/** One line of a part, without its end. */
export function encodeEntry(entry: CheckpointEntry): Uint8Array {
  const { path, id, bound, mtime, size, previous, writer, etag, textHash, note } = entry;
  const facts = [path, id, String(bound), mtime, size, previous, writer];
  return encodeText(JSON.stringify([...facts, etag, textHash, note]));
}

/** Undefined for anything but the line of a file. */
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

/** The files of a part, in steps of one each; it has one at least. Undefined for anything else. */
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
