import { MemoryError } from '../errors.ts';
import { fromBase64url, toBase64url } from '../format/encoding.ts';
import { createHashTree, hashLeaf, hashRoot, saltOf } from '../format/hash-tree.ts';
import { ID_BYTES, MAX_BOUND } from '../format/wrap.ts';
import { isWithin, MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { decodeText, encodeText } from '../language/text.ts';
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

/** A file as a checkpoint found it. */
export interface CheckpointEntry extends VersionFacts {
  readonly etag: string;
  /**
   * `young`: it was created a moment before, and its writer could still take it back. `accepted`: what the history says
   * against this version was on purpose.
   */
  readonly note: '' | 'young' | 'accepted';
}

/** What the root of a checkpoint binds. */
export interface CheckpointFacts {
  /** From 1, one more for each checkpoint of the tenant. */
  readonly number: number;
  readonly files: number;
  /** Root of the hash tree over the entries, base64url. */
  readonly tree: string;
  /** Between these moments each entry was current, by the clock of the process; milliseconds since the epoch. */
  readonly began: number;
  readonly ended: number;
  /** Of the keyring. */
  readonly epoch: number;
  readonly keepsHistory: boolean;
  /** The line of the checkpoint whose findings it accepts. */
  readonly accepts: string | undefined;
}

/** The record of the class `checkpoints` that is written last. */
export interface CheckpointHead extends CheckpointFacts {
  /** In the ids of the records that hold the entries. */
  readonly run: string;
  readonly parts: number;
  /** 32 bytes, of which the salts are made. */
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
const PART_DIGITS = 6;

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

/** Of the record that names the checkpoint which accepted what was found against the one with this number. */
export function acceptanceId(number: number): string {
  return `a${headId(number).slice(1)}`;
}

export function isAcceptance(id: string): boolean {
  return /^a\d{12}$/.test(id);
}

/** What a proof shows of a checkpoint, and what its root is a hash of. */
export function encodeFacts(facts: CheckpointFacts): Uint8Array {
  const { number, files, tree, began, ended, epoch, keepsHistory, accepts = null } = facts;
  return encodeText(JSON.stringify([number, files, tree, began, ended, epoch, keepsHistory, accepts]));
}

export function rootOf({ secret, ...facts }: CheckpointFacts & Pick<CheckpointHead, 'secret'>): string {
  return toBase64url(hashRoot(saltOf(secret, facts.files), encodeFacts(facts)));
}

export function encodeHead({ secret, ...head }: CheckpointHead): Uint8Array {
  return encodeFields({ ...head, secret: toBase64url(secret) });
}

/** Undefined for what this version of the library does not know. */
export function decodeHead(content: Uint8Array): CheckpointHead | undefined {
  const fields = decodeFields(content);
  if (fields === undefined) return undefined;
  const { number, files, tree, began, ended, epoch, keepsHistory, accepts, run, parts } = fields;
  const secret = typeof fields['secret'] === 'string' ? fromBase64url(fields['secret']) : undefined;
  if (![number, files, began, ended, epoch, parts].every(isCount) || secret?.length !== 32) return undefined;
  if (typeof tree !== 'string' || typeof run !== 'string' || typeof keepsHistory !== 'boolean')
    return undefined;
  if (accepts !== undefined && typeof accepts !== 'string') return undefined;
  const counts = { number, files, began, ended, epoch, parts } as Record<'number', number> & CheckpointHead;
  return { ...counts, tree, run, keepsHistory, accepts, secret };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** One line of a part, without its end; these bytes are a leaf of the tree. */
export function encodeEntry(entry: CheckpointEntry): Uint8Array {
  const { path, id, bound, mtime, size, previous, writer, etag, note } = entry;
  return encodeText(JSON.stringify([path, id, String(bound), mtime, size, previous, writer, etag, note]));
}

/** Undefined for what this version of the library does not know. */
export function decodeEntry(line: string): CheckpointEntry | undefined {
  try {
    const fields: unknown = JSON.parse(line);
    if (!Array.isArray(fields) || fields.length !== 9) return undefined;
    const [path, id, bound, mtime, size, previous, writer, etag, note] = fields as readonly unknown[];
    if (![id, previous, writer].every(isId) || !isCount(mtime) || !isCount(size)) return undefined;
    if (!isPath(path) || typeof bound !== 'string' || !/^\d{1,19}$/.test(bound)) return undefined;
    if (BigInt(bound) > MAX_BOUND || typeof etag !== 'string') return undefined;
    if (note !== '' && note !== 'young' && note !== 'accepted') return undefined;
    const ids = { id, previous, writer } as Record<'id' | 'previous' | 'writer', string>;
    return { path, bound: BigInt(bound), mtime, size, ...ids, etag, note };
  } catch {
    return undefined;
  }
}

/** As a listing had it, which may be what no command would take. */
function isPath(value: unknown): value is MemoryPath {
  return typeof value === 'string' && isWithin(value as MemoryPath, MEMORY_ROOT);
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && fromBase64url(value)?.length === ID_BYTES;
}

/** The lines of a part. Undefined when it is no text. */
export function linesOf(content: Uint8Array): readonly string[] | undefined {
  const text = decodeText(content);
  return text === undefined ? undefined : text.split('\n');
}

/** Hashes entries in their order, as they are written or read. */
export function createEntryTree(secret: Uint8Array): {
  add(line: Uint8Array): void;
  readonly files: () => number;
  readonly tree: () => string;
} {
  const tree = createHashTree();
  let files = 0;
  return {
    add(line) {
      tree.add(hashLeaf(saltOf(secret, files++), line));
    },
    files: () => files,
    tree: () => toBase64url(tree.root()),
  };
}
