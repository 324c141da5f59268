import { toBase64url } from '../../format/encoding.ts';
import { objectRefused } from '../../format/object.ts';
import { classLogicalName, type LogicalName } from '../../format/object-keys.ts';
import type { ETag, WriteResult } from '../../store/port.ts';
import { idIn, pathIn } from '../records/record-values.ts';
import { decodeFields, encodeFields, readRecord, writeRecord } from '../records/sealed-record.ts';
import type { Work } from '../tenant.ts';
import type { FileRename } from './rename-file.ts';

/** The age (milliseconds, the server's clock) from which another process may take a register over. */
export const LEASE_MS = 10_000;

/** The progress of a directory's rename. From `moving` on it only goes forward. */
export type RenamePhase = 'copying' | 'moving' | 'aborting';

/** One rename of a directory. */
export interface DirectoryRename extends FileRename {
  /** 16 bytes; the origin of every copy the rename makes. */
  readonly id: Uint8Array;
  /**
   * 16 bytes that stand for the actor on whose behalf the rename began, where history is kept; the same when another
   * process finishes the rename.
   */
  readonly by?: Uint8Array | undefined;
}

/** The rename that is under way in a tenant's tree, and the process that carries it out. */
export interface RenameEntry extends DirectoryRename {
  readonly phase: RenamePhase;
  /** A random name of that process; another one at every takeover. */
  readonly owner: string;
}

export interface RegisterState {
  /** The rename under way; undefined when there is none. */
  readonly entry: RenameEntry | undefined;
  /** The version of the register; undefined when it was never written. */
  readonly etag: ETag | undefined;
  /** Milliseconds since it was written, by the server's clock. */
  readonly ageMs: number;
  /** True while the process that carries the rename out has its lease. */
  readonly isLeased: boolean;
}

const REGISTER = { cls: 'journal', id: 'register' } as const;
const MAX_BYTES = 16_384;

/** Tells whether an object of that name is the register. */
export function isRegister(name: LogicalName): boolean {
  return name === classLogicalName(REGISTER.cls, REGISTER.id);
}

/**
 * Reads the tenant's one register. One GET.
 *
 * @throws MemoryError `integrity`, also when the register is malformed.
 */
export async function readRegister(work: Work): Promise<RegisterState> {
  const record = await readRecord(work, { ...REGISTER, maxBytes: MAX_BYTES });
  if (record === undefined) return { entry: undefined, etag: undefined, ageMs: 0, isLeased: false };
  const { content, etag, ageMs } = record;
  const entry = parseEntry(content);
  return { entry, etag, ageMs, isLeased: entry !== undefined && ageMs <= LEASE_MS };
}

/**
 * Replaces the version `base` of the register, or creates it; `entry` undefined means that no rename is under way.
 * After a conflict another process has won the race.
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

/**
 * Reads the entry; undefined when no rename is under way.
 *
 * @throws MemoryError `integrity` when it is malformed.
 */
function parseEntry(content: Uint8Array): RenameEntry | undefined {
  const { phase, owner, ...fields } = decodeFields(content) ?? {};
  if (phase === 'idle') return undefined;
  const [from, to] = [pathIn(fields['from']), pathIn(fields['to'])];
  const [id, by] = [idIn(fields['id']), idIn(fields['by'])];
  const isPhase = phase === 'copying' || phase === 'moving' || phase === 'aborting';
  if (!isPhase || typeof owner !== 'string' || from === undefined || to === undefined) throw objectRefused();
  if (id === undefined || (by === undefined && fields['by'] !== undefined)) throw objectRefused();
  return { phase, id, from, to, owner, ...(by && { by }) };
}
