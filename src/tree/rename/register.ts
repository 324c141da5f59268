import { MemoryError } from '../../errors.ts';
import { fromBase64url, toBase64url } from '../../format/encoding.ts';
import { classLogicalName, type LogicalName } from '../../format/object-keys.ts';
import { ID_BYTES } from '../../format/wrap.ts';
import { type MemoryPath, parseStoredPath } from '../../language/path.ts';
import type { ETag, WriteResult } from '../../store/port.ts';
import { decodeFields, encodeFields, readRecord, writeRecord } from '../sealed-record.ts';
import type { Work } from '../session.ts';
import type { Rename } from './rename-file.ts';

/** How far the rename of a directory has come. From `moving` on it only goes forward. */
export type RenamePhase = 'copying' | 'moving' | 'aborting';

/** One rename of a directory. */
export interface DirectoryRename extends Rename {
  /** 16 bytes; the origin of every copy the rename makes. */
  readonly id: Uint8Array;
  /**
   * Where history is kept: stands for the actor on whose behalf the rename began, also where another process finishes it; 16
   * bytes.
   */
  readonly by?: Uint8Array | undefined;
}

/** The rename that is under way in a tenant's tree, and the process that carries it out. */
export interface RenameEntry extends DirectoryRename {
  readonly phase: RenamePhase;
  /** Random name of that process; another at every takeover. */
  readonly owner: string;
}

export interface RegisterState {
  /** Undefined: no rename is under way. */
  readonly entry: RenameEntry | undefined;
  /** Undefined: the register was never written. */
  readonly etag: ETag | undefined;
  /** Milliseconds since it was written, by the server's clock. */
  readonly ageMs: number;
}

const REGISTER = { cls: 'journal', id: 'register' } as const;
const MAX_BYTES = 16_384;

/** Whether an object of that name is the register. */
export function isRegister(name: LogicalName): boolean {
  return name === classLogicalName(REGISTER.cls, REGISTER.id);
}

/** Reads the tenant's one register. @throws MemoryError `integrity`, `unsupported_format`. */
export async function readRegister(work: Work): Promise<RegisterState> {
  const record = await readRecord(work, { ...REGISTER, maxBytes: MAX_BYTES });
  if (record === undefined) return { entry: undefined, etag: undefined, ageMs: 0 };
  const { content, etag, ageMs } = record;
  return { entry: parseEntry(content), etag, ageMs };
}

/**
 * Replaces the version `base` of the register, or creates it; `entry` undefined means that no rename is under way. After
 * a conflict another process has won the race.
 */
export async function writeRegister(
  work: Work,
  entry: RenameEntry | undefined,
  base: ETag | undefined,
): Promise<WriteResult> {
  return writeRecord(work, REGISTER, { content: encodeEntry(entry), base });
}

function encodeEntry(entry: RenameEntry | undefined): Uint8Array {
  if (entry === undefined) return encodeFields({ phase: 'idle' });
  const { id, by, ...rest } = entry;
  return encodeFields({ ...rest, id: toBase64url(id), ...(by && { by: toBase64url(by) }) });
}

/** What authenticated bytes say that this version of the library does not know was written by a later one. */
function parseEntry(content: Uint8Array): RenameEntry | undefined {
  const fields = decodeFields(content);
  if (fields?.['phase'] === 'idle' && Object.keys(fields).length === 1) return undefined;
  const { phase, id, by, from, to, owner } = fields ?? {};
  const isKnown = phase === 'copying' || phase === 'moving' || phase === 'aborting';
  if (!isKnown || typeof from !== 'string' || typeof to !== 'string' || typeof owner !== 'string')
    throw unknown();
  const paths = { from: parsePath(from), to: parsePath(to) };
  return { phase, id: parseId(id), ...paths, owner, ...(by !== undefined && { by: parseId(by) }) };
}

function parseId(text: unknown): Uint8Array {
  const bytes = typeof text === 'string' ? fromBase64url(text) : undefined;
  if (bytes?.length !== ID_BYTES) throw unknown();
  return bytes;
}

function parsePath(text: string): MemoryPath {
  const path = parseStoredPath(text);
  if (path === undefined) throw unknown();
  return path;
}

function unknown(): MemoryError {
  return new MemoryError('unsupported_format', 'the register of renames is of a later version');
}
