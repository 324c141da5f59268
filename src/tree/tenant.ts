import { MemoryError, misconfigured } from '../errors.ts';
import type { OpenedObject } from '../format/object.ts';
import type { Layout, ObjectKey } from '../format/object-keys.ts';
import type { RandomBytes } from '../format/sodium.ts';
import type { KeyringCache, LoadedKeyring } from '../keys/keyring-cache.ts';
import type { MemoryPath } from '../language/path.ts';
import type { Logger } from '../logger.ts';
import type { Stamps } from '../stamps.ts';
import type { DeleteFailure, DeleteOptions, ETag, ListedObject, ObjectStore } from '../store/port.ts';
import type { Pause } from '../time.ts';
import type { Policy, PolicyFinding } from './admission/policy.ts';
import type { Sightings } from './sightings.ts';
import type { Touch } from './touches.ts';
import type { VersionCache } from './version-cache.ts';

/*
 * Three scopes, none of which is ever spread into another: a `Tenant` is opened once for the life of the process, a
 * `Call` is one command's, and `Work` is what a command does with both once the keyring is loaded. Functions of the
 * tree take `work` first.
 */

/** A tenant that is open in this process: what every verb stands on. Never shared between tenants. */
export interface Tenant {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly keyrings: KeyringCache;
  /** The versions of the tenant's objects that this process has seen; one for all that reads and writes them in it. */
  readonly sightings: Sightings;
  /** The files that this process read or wrote last. */
  readonly cache: VersionCache;
  /** The largest content that is written or read, in bytes. */
  readonly maxFileBytes: number;
  /** Nothing of the tree is changed, not even by what reads otherwise note or finish. */
  readonly readOnly?: boolean | undefined;
  /** Judges every file before it is sealed. */
  readonly policy?: Policy | undefined;
  /** Where files and bytes of the tenant are limited. */
  readonly quota?: Quota | undefined;
  /** So many objects are worked on at once. */
  readonly concurrency: number;
  /** Bytes of those objects together; a larger one is worked on alone. */
  readonly concurrentBytes: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** The times that are written down, which agree with the store's; `clock` measures what is waited for. */
  readonly stamps: Pick<Stamps, 'now' | 'skew'>;
  /** Milliseconds from any origin, never set back. */
  readonly monotonic: () => number;
  readonly random: RandomBytes;
  readonly pause: Pause;
  readonly logger: Logger;
  /** Loads what saves versions: for tenants that keep history alone. */
  readonly loadSaver: () => Promise<HistorySaver>;
  /** Where files expire that are not read: every read is recorded. */
  readonly accessRecords?: AccessRecords | undefined;
}

/** What one command brings with it. Nobody waits for what it has called, and a failure there is logged and changes nothing. */
export interface Call {
  /** Ends the requests of the command. */
  readonly signal?: AbortSignal | undefined;
  /** Called now and then while many files are renamed, deleted or verified. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called with the bytes that are written instead when the policy had something replaced; perhaps more than once. */
  readonly onRedacted?: ((findings: readonly PolicyFinding[], bytes: number) => void) | undefined;
  /** Who asks, for events and history: a session, a turn, a user; 1–256 characters. Instead of the memory's own. */
  readonly actor?: string | undefined;
  /** Called with what was done to which file, and as which version, once that is certain. A listing reads no version. */
  readonly onTouch?: ((touch: Touch) => void) | undefined;
}

/** A call of what may delete a text before it writes it elsewhere. */
export interface KeptCall extends Call {
  /** Refused as `misconfigured` once the tenant keeps no history. */
  readonly keptOnly?: true;
}

const LONGEST_ACTOR = 256;

/** @throws MemoryError `misconfigured`, naming `label`. */
export function checkActor(actor: unknown, label: string): void {
  const isText = typeof actor === 'string' && actor !== '' && actor.length <= LONGEST_ACTOR;
  // Halves of surrogate pairs have no bytes of their own: two actors would be one.
  if (isText && actor.isWellFormed()) return;
  throw misconfigured(`${label} must be a text of 1 to ${LONGEST_ACTOR} characters.`);
}

/** How many files a rename has copied, a delete removed or a verification read. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** A command under way: its tenant, its call, and the keyring as it was loaded for it. */
export interface Work {
  readonly tenant: Tenant;
  readonly keyring: LoadedKeyring;
  readonly call: Call;
  /** Where the tenant keeps history: what every writer calls. */
  readonly saver?: HistorySaver | undefined;
}

/** Loads the keyring for a command; undefined for a tenant that has none. */
export async function openWork(tenant: Tenant, call: KeptCall): Promise<Work | undefined> {
  const keyring = await tenant.keyrings.load({ signal: call.signal });
  return keyring && beginWork(tenant, keyring, call);
}

/** Loads the keyring for a command that writes, and creates it for a tenant that has none. */
export async function openToWrite(tenant: Tenant, call: KeptCall): Promise<Work> {
  const keyring = await tenant.keyrings.load({ create: true, signal: call.signal });
  if (keyring === undefined) throw new MemoryError('key_unavailable', 'the keyring was not created');
  return beginWork(tenant, keyring, call);
}

/** A command with a keyring that was loaded for it before. */
export async function beginWork(
  tenant: Tenant,
  keyring: LoadedKeyring,
  { signal, onProgress, actor, onTouch, keptOnly }: KeptCall,
): Promise<Work> {
  if (keptOnly === true) refuseToLose(keyring);
  const saver = keyring.keepsHistory ? await tenant.loadSaver() : undefined;
  return { tenant, keyring, call: { signal, onProgress, actor, onTouch }, saver };
}

/** @throws MemoryError `misconfigured` where the tenant keeps no history. */
export function refuseToLose({ keepsHistory, keys }: Pick<LoadedKeyring, 'keepsHistory' | 'keys'>): void {
  if (keepsHistory) return;
  throw misconfigured(
    `The tenant keeps no history now, so nothing can be taken back: ${turningHistoryOn(keys.tenant)} keeps what is written from then on.`,
  );
}

/** The command that has a tenant keep its history. */
export function turningHistoryOn(tenant: string): string {
  return `"sealed-memory tenant history on --tenant ${tenant}"`;
}

/** @throws MemoryError `read_only`. */
export function refuseWriting({ readOnly }: Tenant): void {
  if (readOnly !== true) return;
  throw new MemoryError('read_only', 'The memory was opened for reading only.');
}

/** The same work for what has to be finished, or is done for several callers: no caller cancels it. */
export function uncancelled<W extends Work>(work: W): W {
  return { ...work, call: {} };
}

/** Room in a tenant's limits for one file; nothing is held before it is taken. */
export interface Room {
  /**
   * Takes room for the file with so many bytes, in the place of what was taken before. What is not larger than the file is
   * always fits, and is not asked for.
   *
   * @throws MemoryError `limit_exceeded`; what the listing fails with.
   */
  take(size: number): Promise<void>;
  /** Says what became of the file; `unknown` leaves the room taken. Without effect once it was settled. */
  settle(outcome: 'written' | 'not_written' | 'unknown'): void;
}

/** A file to be written, and the bytes of what it replaces: undefined where nothing is. */
interface QuotaPlace {
  readonly key: ObjectKey;
  readonly replaced: number | undefined;
}

/** Holds a tenant to its limits. */
export interface Quota {
  open(work: Work, place: QuotaPlace): Room;
  /** Runs a write with room for it; it has written unless it throws or answers `again`. @throws MemoryError as `take`. */
  within<T>(work: Work, file: QuotaPlace & { readonly size: number }, write: () => Promise<T>): Promise<T>;
  /** How many files and bytes more the tenant may hold: infinite where they are not limited, negative beyond a limit. */
  left(work: Work): Promise<{ readonly files: number; readonly bytes: number }>;
  /** Why a tenant that holds nothing may not have a file of that size; undefined where it may. */
  refusalOf(size: number): MemoryError | undefined;
  /** These were deleted. */
  freed(files: readonly { readonly key: ObjectKey; readonly size: number }[]): void;
  /** Runs a rename, during which nothing is counted. */
  beside<T>(rename: () => Promise<T>): Promise<T>;
}

/** Remembers, in the store, on which days a file was read, so that expiry can tell which files are unused. */
export interface AccessRecords {
  /**
   * Records that the file was read today, by UTC. The first read of a file on a day costs one PUT, the others of
   * this process nothing. Resolves when the record lies in the store.
   */
  record(work: Work, path: MemoryPath): Promise<void>;
}

/** A version of a file, and its bytes of content. */
export interface SizedVersion {
  readonly etag: ETag;
  readonly size: number;
  /** Where it was read. */
  readonly version?: OpenedObject & { readonly etag: ETag };
}

/** A file as a listing shows it. */
export interface ListedFile extends Pick<ListedObject, 'key' | 'etag' | 'size'> {
  readonly path: MemoryPath;
}

/** The binding that ended when a file was deleted or renamed: where it lay, the id of its version, and its bound. */
export type EndedFile = readonly [path: MemoryPath, id: Uint8Array, bound: bigint];

interface NamedRename {
  readonly from: MemoryPath;
  readonly to: MemoryPath;
  /** 16 random bytes, the same for all processes that carry it out. */
  readonly id: Uint8Array;
}

/** One that another process may finish: `by` stands for the actor on whose behalf it began; undefined without one. */
type LeasedRename = NamedRename & { readonly by?: Uint8Array | undefined };

/**
 * What every writer of a tenant that keeps history calls (docs/protocols.md, "History"): a version is saved before the
 * request that replaces or deletes it, and its end is written down. All throw what the store and the keyring fail with.
 */
export interface HistorySaver {
  /** What stands for the actor of the call in the wrap; undefined without one. */
  writerOf(work: Work): Uint8Array | undefined;
  /**
   * Writes down who the actor is, before anything is sealed on its behalf. One PUT for each actor in the life of a process.
   * `before` a delete that PUT may take the room that a full store keeps for deletes.
   *
   * @throws MemoryError `misconfigured` for what is no actor.
   */
  nameActor(work: Work, before?: 'delete'): Promise<void>;
  /**
   * Saves a version that is about to be replaced, or `before` a delete. One PUT; where it was saved before, it stays as it is,
   * unless it now goes by a delete and the record does not say so.
   */
  saveReplaced(
    work: Work,
    path: MemoryPath,
    version: Omit<OpenedObject, 'origin' | 'drawnUnder'>,
    before?: 'delete',
  ): Promise<void>;
  /**
   * Looks again after a version was saved that another process was first to replace, rename or delete: where its text was
   * redacted before it was saved here, it is taken out of this record too. A GET; where the file has another version, a LIST
   * for each 1,000 records of the path, or of all paths where the file does not tell that the version was replaced at this one,
   * and a GET for each other record of the version.
   */
  savedInVain(
    work: Work,
    path: MemoryPath,
    version: { readonly id: Uint8Array; readonly bound: bigint },
  ): Promise<void>;
  /**
   * The file, of whatever size, for a writer that replaces it whole. What cannot be opened has no text that could be saved:
   * it is only looked at, as where no history is kept.
   */
  readToSave(work: Work, path: MemoryPath): Promise<SizedVersion | undefined>;
  /**
   * Saves files that are about to be deleted as they were listed, and returns those that were; what has changed since, or
   * cannot be opened, is left to the delete.
   */
  saveListed(work: Work, files: readonly ListedFile[]): Promise<readonly EndedFile[]>;
  /**
   * Saves files as they were listed, deletes exactly these versions and writes down that they are gone: of each file all of it
   * or nothing. Undefined where the store cannot make several changes as one: then one follows the other. Answers as a
   * delete of the store, and throws nothing.
   *
   * @param at the path that is deleted: a file's own, or that of a directory above it.
   */
  deleteListed(
    work: Work,
    files: readonly ListedFile[],
    options: { readonly at: MemoryPath } & Pick<DeleteOptions, 'sendBy' | 'onTarget'>,
  ): Promise<readonly DeleteFailure[]> | undefined;
  /** Writes down that files at or below a path are gone, which they are: a failure is logged and changes nothing. */
  noteDeleted(work: Work, at: MemoryPath, files: readonly EndedFile[]): Promise<void>;
  /** The same of a file that was renamed. */
  noteMoved(work: Work, rename: NamedRename, file: EndedFile): Promise<void>;
  /**
   * Writes down where the files of a directory go, before the first of them is deleted at its old place: the rename only
   * goes forward from there, so a crash leaves no file that is gone and named nowhere. A takeover writes it again.
   */
  saveMoves(work: Work, rename: LeasedRename, files: readonly EndedFile[]): Promise<void>;
}
