import {
  BASE64URL_IN_BYTE_ORDER,
  concat,
  fromBase64url,
  lengthPrefixed,
  readU32,
  toBase64url,
} from '../../format/encoding.ts';
import type { LogicalName } from '../../format/object-keys.ts';
import { NO_ID } from '../../format/wrap.ts';
import { isWithin, MEMORY_ROOT, type MemoryPath } from '../../language/path.ts';
import { encodeText } from '../../language/text.ts';
import { boundIn, idIn, numberIn, pathIn, timeIn } from '../../tree/records/record-values.ts';
import { decodeFields, encodeFields } from '../../tree/records/sealed-record.ts';
import type { EndedFile, Work } from '../../tree/tenant.ts';

/** The facts of one version of a file, as its wrap tells them. */
export interface WrapFacts {
  readonly path: MemoryPath;
  /** 16 bytes. */
  readonly id: Uint8Array;
  /** The time of the write, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
  readonly bound: bigint;
  /** The id of the version that it replaced; zeros for a new file. */
  readonly previous: Uint8Array;
  /** The keyed hash of the actor; zeros where no actor is known. */
  readonly writer: Uint8Array;
  /** Bytes of content. */
  readonly size: number;
}

/** The time of a note, by its writer's clock in milliseconds since the epoch, and its actor. */
interface Noted {
  readonly at: number;
  /** The keyed hash of the actor; zeros where no actor is known. */
  readonly by: Uint8Array;
}

/** The content of a record of the class `history` (docs/format.md, "Records"). */
export type HistoryRecord =
  /**
   * A version that a process was about to replace, or to delete where `for` says so. Other records tell whether it did.
   */
  | (Noted & {
      readonly kind: 'replaced';
      readonly for?: 'delete';
      readonly version: WrapFacts;
      readonly text: Uint8Array;
    })
  /** The remains of a `replaced` record once the text was taken out. */
  | (Noted & { readonly kind: 'redacted'; readonly version: WrapFacts })
  /** The delete of files, each named with its version and bound. */
  | (Noted & { readonly kind: 'deleted'; readonly files: readonly EndedFile[] })
  /** The rename of files at or below `from` to the same place at or below `to`. */
  | (Noted & {
      readonly kind: 'moved';
      readonly from: MemoryPath;
      readonly to: MemoryPath;
      readonly files: readonly EndedFile[];
    });

const BOUND_CHARACTERS = 11;
const CHARACTER_BITS = 6n;
/** The characters of a version's id that stand at the end of its record's id. */
export const ID_CHARACTERS = 8;

/** The path for records that concern several paths: the root, which is no file's. */
export const WHOLE_TREE: MemoryPath = MEMORY_ROOT;

/**
 * Makes the hash that stands for a path in the ids of its records. Nobody can guess it without the tenant's name key.
 */
export function historyHash({ keyring }: Pick<Work, 'keyring'>, path: MemoryPath): string {
  return keyring.names.keyedHash('history', path);
}

/**
 * Makes the id of a record: the hash of its path, its bound, and the beginning of the version's id. Ids of one path
 * sort by bound.
 */
export function historyRecordId(
  work: Pick<Work, 'keyring'>,
  record: { readonly path: MemoryPath; readonly bound: bigint; readonly id: Uint8Array },
): string {
  const { path, bound, id } = record;
  return `${historyHash(work, path)}_${sortable(bound)}_${toBase64url(id).slice(0, ID_CHARACTERS)}`;
}

const NAME = /^\/history\/[\w-]{43}_[\w-]{11}_[\w-]{8}$/;

/** Tells whether a name has the form of a history record's. */
export function isHistoryName(name: LogicalName): boolean {
  return NAME.test(name);
}

const NO_ID_TEXT = toBase64url(NO_ID);

/** Writes an id in base64url; undefined for zeros, which stand for no id. */
export function idOf(bytes: Uint8Array): string | undefined {
  const id = toBase64url(bytes);
  return id === NO_ID_TEXT ? undefined : id;
}

/** Reads an id in base64url, as `idOf` writes it; zeros for any other text. */
export function idBytes(id: string): Uint8Array {
  return fromBase64url(id) ?? NO_ID;
}

/** Tells whether a record may be of a version: a record's id carries only the beginning of the version's. */
export function isRecordOf(record: string, version: string): boolean {
  return versionOfRecord(record) === version.slice(0, ID_CHARACTERS);
}

/**
 * Takes the beginning of the version's id out of a record's id; records of one rename or delete have that of the event
 * there.
 */
export function versionOfRecord(recordId: string): string {
  return recordId.slice(-ID_CHARACTERS);
}

/** Takes the hash of the path out of a record's id. */
export function pathHashOfRecord(recordId: string): string {
  return recordId.slice(0, -(BOUND_CHARACTERS + ID_CHARACTERS + 2));
}

/** Takes the bound out of a record's id. */
export function boundOfRecord(recordId: string): bigint {
  const end = recordId.length - ID_CHARACTERS - 1;
  let bound = 0n;
  for (const digit of recordId.slice(end - BOUND_CHARACTERS, end))
    bound = (bound << CHARACTER_BITS) | BigInt(BASE64URL_IN_BYTE_ORDER.indexOf(digit));
  return bound;
}

/** Writes a bound in 11 characters that sort as the numbers do. */
function sortable(bound: bigint): string {
  let text = '';
  for (let rest = bound, digits = 0; digits < BOUND_CHARACTERS; digits++) {
    text = BASE64URL_IN_BYTE_ORDER.charAt(Number(rest & 63n)) + text;
    rest >>= CHARACTER_BITS;
  }
  return text;
}

export function encodeHistoryRecord(record: HistoryRecord): Uint8Array {
  const { kind, at } = record;
  const noted = { kind, at, by: toBase64url(record.by) };
  switch (record.kind) {
    case 'replaced':
      return withText({ ...noted, ...encodeVersion(record.version), for: record.for }, record.text);
    case 'redacted':
      return withText({ ...noted, ...encodeVersion(record.version) });
    case 'deleted':
      return withText({ ...noted, files: record.files.map(encodeEnded) });
    case 'moved':
      return withText({ ...noted, from: record.from, to: record.to, files: record.files.map(encodeEnded) });
  }
}

/** Joins a length-prefixed JSON object and the text. */
function withText(fields: Readonly<Record<string, unknown>>, text = encodeText('')): Uint8Array {
  return concat(lengthPrefixed(encodeFields(fields)), text);
}

function encodeVersion({ path, id, mtime, bound, previous, writer, size }: WrapFacts) {
  return {
    path,
    mtime,
    size,
    id: toBase64url(id),
    bound: String(bound),
    previous: toBase64url(previous),
    writer: toBase64url(writer),
  };
}

function encodeEnded([path, id, bound]: EndedFile): readonly [string, string, string] {
  return [path, toBase64url(id), String(bound)];
}

/** Decodes a record by the grammar of docs/format.md, "History". Undefined: it is malformed. */
export function decodeHistoryRecord(content: Uint8Array): HistoryRecord | undefined {
  const end = content.length < 4 ? Number.POSITIVE_INFINITY : 4 + readU32(content, 0);
  if (end > content.length) return undefined;
  const fields = decodeFields(content.subarray(4, end));
  const [kind, at, by] = [fields?.['kind'], timeIn(fields?.['at']), idIn(fields?.['by'])];
  if (fields === undefined || at === undefined || by === undefined) return undefined;
  const text = content.subarray(end);
  const noted = { at, by };
  if (kind === 'replaced' || kind === 'redacted') {
    const version = decodeVersion(fields);
    if (version === undefined || text.length !== (kind === 'replaced' ? version.size : 0)) return undefined;
    if (kind === 'redacted') return { ...noted, kind, version };
    const purpose = fields['for'];
    if (purpose === undefined) return { ...noted, kind, version, text };
    return purpose === 'delete' ? { ...noted, kind, for: purpose, version, text } : undefined;
  }
  const files = endedIn(fields['files']);
  if (files === undefined || text.length > 0) return undefined;
  if (kind === 'deleted') return { ...noted, kind, files };
  const [from, to] = [pathIn(fields['from']), pathIn(fields['to'])];
  if (kind !== 'moved' || from === undefined || to === undefined) return undefined;
  if (!files.every(([path]) => path === from || isWithin(path, from))) return undefined;
  return { ...noted, kind, from, to, files };
}

function decodeVersion(fields: Readonly<Record<string, unknown>>): WrapFacts | undefined {
  const [path, id] = [pathIn(fields['path']), idIn(fields['id'])];
  const [previous, writer] = [idIn(fields['previous']), idIn(fields['writer'])];
  const [mtime, size] = [numberIn(fields['mtime']), numberIn(fields['size'])];
  const bound = boundIn(fields['bound']);
  if (path === undefined || id === undefined || previous === undefined || writer === undefined)
    return undefined;
  if (mtime === undefined || size === undefined || bound === undefined) return undefined;
  return { path, id, mtime, bound, previous, writer, size };
}

function endedIn(value: unknown): readonly EndedFile[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const files: EndedFile[] = [];
  for (const entry of value as readonly unknown[]) {
    if (!Array.isArray(entry) || entry.length !== 3) return undefined;
    const [path, id, bound] = [pathIn(entry[0]), idIn(entry[1]), boundIn(entry[2])];
    if (path === undefined || id === undefined || bound === undefined) return undefined;
    files.push([path, id, bound]);
  }
  return files;
}
