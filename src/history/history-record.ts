import {
  BASE64URL_IN_BYTE_ORDER,
  concat,
  fromBase64url,
  lengthPrefixed,
  readU32,
  toBase64url,
} from '../format/encoding.ts';
import type { LogicalName } from '../format/object-keys.ts';
import { ID_BYTES, MAX_BOUND, NO_ID } from '../format/wrap.ts';
import { MEMORY_ROOT, type MemoryPath, parseStoredPath } from '../language/path.ts';
import { encodeText } from '../language/text.ts';
import { decodeFields, encodeFields } from '../tree/sealed-record.ts';
import type { EndedFile, Work } from '../tree/session.ts';

/** One version of a file, as its wrap tells it. */
export interface VersionFacts {
  readonly path: MemoryPath;
  /** 16 bytes. */
  readonly contentId: Uint8Array;
  /** When its content was written, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
  readonly bound: bigint;
  /** The content id of the version that it replaced; zeros for a new file. */
  readonly previous: Uint8Array;
  /** Zeros where no actor is known. */
  readonly writer: Uint8Array;
  /** Bytes of content. */
  readonly size: number;
}

/** When something was written down, by its writer's clock in milliseconds since the epoch, and on whose behalf. */
interface Noted {
  readonly at: number;
  /** Zeros where no actor is known. */
  readonly by: Uint8Array;
}

/** What a record of the class `history` says (docs/format.md, "Records"). */
export type HistoryRecord =
  /** A version that was about to be replaced or deleted; whether it was, others tell. */
  | (Noted & { readonly kind: 'replaced'; readonly version: VersionFacts; readonly text: Uint8Array })
  /** Stands in the place of such a version whose text was taken out. */
  | (Noted & { readonly kind: 'redacted'; readonly version: VersionFacts })
  /** These files were deleted as these versions. */
  | (Noted & { readonly kind: 'deleted'; readonly files: readonly EndedFile[] })
  /** These files, at or below `from`, were renamed to the same place at or below `to`. */
  | (Noted & {
      readonly kind: 'moved';
      readonly from: MemoryPath;
      readonly to: MemoryPath;
      readonly files: readonly EndedFile[];
    });

const BOUND_CHARACTERS = 11;
const CHARACTER_BITS = 6n;
const ID_CHARACTERS = 8;

/** The path under which what concerns several paths lies: the root, which is no file's. */
export const WHOLE_TREE: MemoryPath = MEMORY_ROOT;

/** What stands for a path in the ids of its records; without the tenant's name key it cannot be guessed. */
export function historyHash({ keyring }: Pick<Work, 'keyring'>, path: MemoryPath): string {
  return keyring.names.keyedHash('history', path);
}

/** Ids of one path sort by `bound`. The last part is the beginning of `id`, in base64url. */
export function historyRecordId(
  work: Pick<Work, 'keyring'>,
  record: { readonly path: MemoryPath; readonly bound: bigint; readonly id: Uint8Array },
): string {
  const { path, bound, id } = record;
  return `${historyHash(work, path)}_${sortable(bound)}_${toBase64url(id).slice(0, ID_CHARACTERS)}`;
}

const NAME = /^\/history\/[\w-]{43}_[\w-]{11}_[\w-]{8}$/;

/** Whether a record of the history can be called so. */
export function isHistoryName(name: LogicalName): boolean {
  return NAME.test(name);
}

const NO_ID_TEXT = toBase64url(NO_ID);

/** In base64url; undefined for zeros, which stand for none. */
export function idOf(bytes: Uint8Array): string | undefined {
  const id = toBase64url(bytes);
  return id === NO_ID_TEXT ? undefined : id;
}

/** What all records of one rename have in common, of a record's id. */
export function eventOf(id: string): string {
  return id.slice(-ID_CHARACTERS);
}

/** As many characters for each, in byte order as the numbers are. */
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
      return withText({ ...noted, ...encodeVersion(record.version) }, record.text);
    case 'redacted':
      return withText({ ...noted, ...encodeVersion(record.version) });
    case 'deleted':
      return withText({ ...noted, files: record.files.map(encodeEnded) });
    case 'moved':
      return withText({ ...noted, from: record.from, to: record.to, files: record.files.map(encodeEnded) });
  }
}

/** lp(one JSON object), then the text. */
function withText(fields: Readonly<Record<string, unknown>>, text = encodeText('')): Uint8Array {
  return concat(lengthPrefixed(encodeFields(fields)), text);
}

function encodeVersion({ path, contentId, mtime, bound, previous, writer, size }: VersionFacts) {
  return {
    ...{ path, mtime, size },
    contentId: toBase64url(contentId),
    bound: String(bound),
    previous: toBase64url(previous),
    writer: toBase64url(writer),
  };
}

function encodeEnded([path, contentId]: EndedFile): readonly [string, string] {
  return [path, toBase64url(contentId)];
}

/** Undefined for what this version of the library does not know: authentic, so a later one wrote it. */
export function decodeHistoryRecord(content: Uint8Array): HistoryRecord | undefined {
  const end = content.length < 4 ? Number.POSITIVE_INFINITY : 4 + readU32(content, 0);
  if (end > content.length) return undefined;
  const fields = decodeFields(content.subarray(4, end));
  const [kind, at, by] = [fields?.['kind'], numberIn(fields?.['at']), idIn(fields?.['by'])];
  if (fields === undefined || at === undefined || by === undefined) return undefined;
  const text = content.subarray(end);
  const noted = { at, by };
  if (kind === 'replaced' || kind === 'redacted') {
    const version = decodeVersion(fields);
    if (version === undefined || text.length !== (kind === 'replaced' ? version.size : 0)) return undefined;
    return kind === 'replaced' ? { ...noted, kind, version, text } : { ...noted, kind, version };
  }
  const files = endedIn(fields['files']);
  if (files === undefined || text.length > 0) return undefined;
  if (kind === 'deleted') return { ...noted, kind, files };
  const [from, to] = [pathIn(fields['from']), pathIn(fields['to'])];
  if (kind !== 'moved' || from === undefined || to === undefined) return undefined;
  return { ...noted, kind, from, to, files };
}

function decodeVersion(fields: Readonly<Record<string, unknown>>): VersionFacts | undefined {
  const [path, contentId] = [pathIn(fields['path']), idIn(fields['contentId'])];
  const [previous, writer] = [idIn(fields['previous']), idIn(fields['writer'])];
  const [mtime, size] = [numberIn(fields['mtime']), numberIn(fields['size'])];
  const bound = boundIn(fields['bound']);
  if (path === undefined || contentId === undefined || previous === undefined || writer === undefined)
    return undefined;
  if (mtime === undefined || size === undefined || bound === undefined) return undefined;
  return { path, contentId, mtime, bound, previous, writer, size };
}

function endedIn(value: unknown): readonly EndedFile[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const files: EndedFile[] = [];
  for (const entry of value as readonly unknown[]) {
    if (!Array.isArray(entry) || entry.length !== 2) return undefined;
    const [path, contentId] = [pathIn(entry[0]), idIn(entry[1])];
    if (path === undefined || contentId === undefined) return undefined;
    files.push([path, contentId]);
  }
  return files;
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function idIn(value: unknown): Uint8Array | undefined {
  const bytes = typeof value === 'string' ? fromBase64url(value) : undefined;
  return bytes?.length === ID_BYTES ? bytes : undefined;
}

function boundIn(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !/^(0|[1-9]\d{0,18})$/.test(value)) return undefined;
  const bound = BigInt(value);
  return bound <= MAX_BOUND ? bound : undefined;
}

function pathIn(value: unknown): MemoryPath | undefined {
  return typeof value === 'string' ? parseStoredPath(value) : undefined;
}
