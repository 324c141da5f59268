import { hasCode, MemoryError, misconfigured } from '../errors.ts';
import type { OpenedObject } from '../format/object.ts';
import type { Layout, ObjectKey } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../format/sizes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import type { KeyringCache, LoadedKeyring } from '../keys/keyring-cache.ts';
import type { MemoryPath } from '../language/path.ts';
import type { Logger } from '../logger.ts';
import type { Stamps } from '../stamps.ts';
import type {
  DeleteFailure,
  DeleteOptions,
  ETag,
  ListedObject,
  ObjectStore,
  RequestOptions,
} from '../store/port.ts';
import type { Pause } from '../time.ts';
import type { Policy, PolicyFinding } from './admission/policy.ts';
import type { Sightings } from './sightings.ts';
import type { Touch } from './touches.ts';
import type { VersionCache } from './version-cache.ts';

/*
 * Three scopes stay apart and are never spread into one another: a `Tenant` is opened once for the life of the process,
 * a `Call` is one command's, and `Work` joins both for a command once the keyring is loaded. Functions of the tree take
 * `work` first.
 */

/** A tenant that is open in this process, on which every verb stands. Each tenant has its own. */
export interface Tenant {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly keyrings: KeyringCache;
  /**
   * The versions of the tenant's objects that this process has seen; one instance for every reader and writer of the
   * tenant in this process.
   */
  readonly sightings: Sightings;
  /** The files that this process read or wrote last. */
  readonly cache: VersionCache;
  /** The largest content that is written or read, in bytes. */
  readonly maxFileBytes: number;
  /** True where this process changes nothing in the tenant's tree: its reads note and finish nothing either. */
  readonly readOnly?: boolean | undefined;
  /** Judges every file before it is sealed. */
  readonly policy?: Policy | undefined;
  /** The limits of files and bytes, for a tenant that has some. */
  readonly quota?: Quota | undefined;
  /** The number of objects that are worked on at once. */
  readonly concurrency: number;
  /** Bytes of those objects together; a larger one is worked on alone. */
  readonly concurrentBytes: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** The times that are written down, which agree with the store's; `clock` measures waits. */
  readonly stamps: Omit<Stamps, 'observe'>;
  /** Milliseconds from any origin, never set back. */
  readonly monotonic: () => number;
  readonly random: RandomBytes;
  readonly pause: Pause;
  readonly logger: Logger;
  /** Loads the module that saves versions, for tenants that keep history. */
  readonly loadSaver: () => Promise<HistorySaver>;
  /** The records of reads, for a tenant whose unread files expire: every read is recorded. */
  readonly accessRecords?: AccessRecords | undefined;
}

/**
 * The options and listeners of one command. A command runs on without waiting for a listener, whose failure is logged
 * and changes nothing.
 */
export interface CallOptions {
  /** Ends the requests of the command. */
  readonly signal?: AbortSignal | undefined;
  /** Hears of the progress now and then while many files are renamed, deleted or verified. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Hears the findings and the number of bytes that are written instead, when the policy had something replaced;
   * perhaps more than once.
   */
  readonly onRedacted?: ((findings: readonly PolicyFinding[], bytes: number) => void) | undefined;
  /**
   * The actor of this call, for events and history: a session, a turn, a user; 1–256 characters. Takes the place of the
   * memory's own.
   */
  readonly actor?: string | undefined;
  /** Hears of each touched file and its version, once the touch is certain. A listing reads no version. */
  readonly onTouch?: ((touch: Touch) => void) | undefined;
}

/**
 * The name under which one of several calls takes effect once. The ids that the call draws bear its mark: of the version
 * that it writes, of its rename, of its delete.
 */
export interface Once {
  /** The key of the marks, the same object for all of these calls. */
  readonly key: Uint8Array;
  /** False for a call whose ids bear no mark. */
  readonly isMarked: boolean;
  /** Answers a drawn id with the mark, and with those in the id of the version that is replaced. */
  mark(drawn: Uint8Array, replaced: Uint8Array): Uint8Array;
  /** Tells whether an id, or its first six bytes, bears the mark. */
  bears(id: Uint8Array): boolean;
  /** Tells whether an id bears marks of earlier ones of these calls alone. */
  follows(id: Uint8Array): boolean;
  /** The state of things before the first of the calls; present where the call may have been made before. */
  readonly again?:
    | {
        /** The time at which the key of the marks was drawn, milliseconds since the epoch. */
        readonly since: number;
        /** The names of versions that were met before that. */
        readonly seen: ReadonlySet<string>;
      }
    | undefined;
}

/** A call of the library's own, with what no caller gives. */
export interface KeptCall extends CallOptions {
  /** The name under which a command takes effect once, although a process that died may have made it. */
  readonly once?: Once | undefined;
  /** True to refuse the call as `misconfigured` once the tenant keeps no history. */
  readonly keptOnly?: true;
}

const LONGEST_ACTOR = 256;

/**
 * Refuses anything but a text of 1 to 256 characters.
 *
 * @throws MemoryError `misconfigured`, naming `label`.
 */
export function checkActor(actor: unknown, label: string): void {
  const isText = typeof actor === 'string' && actor !== '' && actor.length <= LONGEST_ACTOR;
  // A lone half of a surrogate pair has no bytes of its own, so that two actors would be sealed as one.
  if (isText && actor.isWellFormed()) return;
  throw misconfigured(`${label} must be a text of 1 to ${LONGEST_ACTOR} characters.`);
}

/** The number of files that a rename has copied, a delete removed or a verification read. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** A command under way: its tenant, its call, and the keyring as it was loaded for it. */
export interface Work {
  readonly tenant: Tenant;
  readonly keyring: LoadedKeyring;
  readonly call: Omit<KeptCall, 'keptOnly'>;
  /** The history's part in every write, for a tenant that keeps history. */
  readonly saver?: HistorySaver | undefined;
}

/** Makes work that reads files above the configured limit, too: those that it must move or look at as they are. */
export function withoutLimit<W extends Work>(work: W): W {
  return { ...work, tenant: { ...work.tenant, maxFileBytes: MAX_CONTENT_BYTES } };
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

/** Begins a command with a keyring that was loaded for it before. */
export async function beginWork(
  tenant: Tenant,
  keyring: LoadedKeyring,
  { signal, onProgress, actor, onTouch, once, keptOnly }: KeptCall,
): Promise<Work> {
  if (keptOnly === true) refuseToLose(keyring);
  const saver = keyring.keepsHistory ? await tenant.loadSaver() : undefined;
  return { tenant, keyring, call: { signal, onProgress, actor, onTouch, once }, saver };
}

/**
 * Refuses work for a tenant whose deleted texts would be lost.
 *
 * @throws MemoryError `misconfigured` where the tenant keeps no history.
 */
export function refuseToLose({ keepsHistory, keys }: Pick<LoadedKeyring, 'keepsHistory' | 'keys'>): void {
  if (keepsHistory) return;
  throw misconfigured(
    `The tenant keeps no history now, so nothing can be taken back: ${turningHistoryOn(keys.tenant)} keeps what is written from then on.`,
  );
}

/** Answers the command that turns a tenant's history on, in quotation marks. */
export function turningHistoryOn(tenant: string): string {
  return `"sealed-memory tenant history on --tenant ${tenant}"`;
}

/**
 * Refuses to write to a memory that was opened for reading.
 *
 * @throws MemoryError `read_only`.
 */
export function refuseWriting({ readOnly }: Tenant): void {
  if (readOnly !== true) return;
  throw new MemoryError('read_only', 'The memory was opened for reading only.');
}

/**
 * Makes the same work without the caller's call, so that no caller cancels it: for steps that must be finished, or that
 * serve several callers.
 */
export function uncancelled<W extends Work>(work: W): W {
  return { ...work, call: {} };
}

/**
 * Makes the same work with the keys that count now, for records that are held longer than one command: a change of the
 * root key wipes the keys of before. Where the keyring cannot be read at the moment, those serve as long as they may.
 */
export async function renewed(work: Work, { signal }: RequestOptions): Promise<Work> {
  const loaded = await work.tenant.keyrings.load({ signal }).catch((error: unknown) => {
    if (!hasCode(error, 'unavailable', 'timeout')) throw error;
    return undefined;
  });
  return { ...work, keyring: loaded ?? work.keyring, call: { signal } };
}

/** Room in a tenant's limits for one file; empty until `take`. */
export interface Room {
  /**
   * Takes room for the file with `size` bytes, in place of the room taken before. A size up to that of the file as it
   * is always fits, and sends no request.
   *
   * @throws MemoryError `limit_exceeded`; the errors of the listing.
   */
  take(size: number): Promise<void>;
  /** Says how the write of the file ended; `unknown` leaves the room taken. Without effect once it was closed. */
  close(outcome: 'written' | 'not_written' | 'unknown'): void;
}

/** A file to be written, and the bytes of the version that it replaces: undefined where it replaces none. */
interface QuotaPlace {
  readonly key: ObjectKey;
  readonly replaced: number | undefined;
}

/** Holds a tenant to its limits. */
export interface Quota {
  open(work: Work, place: QuotaPlace): Room;
  /**
   * Runs a write with room for it. The write counts as landed unless it throws or answers `again`.
   *
   * @throws MemoryError as `take`.
   */
  within<T>(work: Work, file: QuotaPlace & { readonly size: number }, write: () => Promise<T>): Promise<T>;
  /**
   * Answers the number of files and bytes that the tenant may still add: infinite where they are not limited, negative
   * beyond a limit.
   */
  left(work: Work): Promise<{ readonly files: number; readonly bytes: number }>;
  /** Answers why even an empty tenant may not have a file of that size; undefined where it may. */
  refusalOf(size: number): MemoryError | undefined;
  /** Notes that these files were deleted. */
  freed(files: readonly { readonly key: ObjectKey; readonly size: number }[]): void;
  /** Runs a rename, during which no count runs. */
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

/** A version of a file, and the bytes of its content. */
export interface SizedVersion {
  readonly etag: ETag;
  readonly size: number;
  /** The opened version, where it was read. */
  readonly version?: OpenedObject & { readonly etag: ETag };
}

/** A file as a listing shows it. */
export interface ListedFile extends Pick<ListedObject, 'key' | 'etag' | 'size'> {
  readonly path: MemoryPath;
}

/** The binding that ended when a file was deleted or renamed: the file's path, the id of its version, and its bound. */
export type EndedFile = readonly [path: MemoryPath, id: Uint8Array, bound: bigint];

interface NamedRename {
  readonly from: MemoryPath;
  readonly to: MemoryPath;
  /** 16 random bytes, the same for all processes that carry it out. */
  readonly id: Uint8Array;
}

/**
 * A rename that another process may finish: `by` stands for the actor on whose behalf it began; undefined without one.
 */
type LeasedRename = NamedRename & { readonly by?: Uint8Array | undefined };

/**
 * The calls of every writer of a tenant that keeps history (docs/protocols.md, "History"): a version is saved before
 * the request that replaces or deletes it, and its end is written down. All throw the errors of the store and the
 * keyring.
 */
export interface HistorySaver {
  /** Answers the bytes that stand for the call's actor in the wrap; undefined without one. */
  writerOf(work: Work): Uint8Array | undefined;
  /**
   * Writes down who the actor is, before anything is sealed on its behalf. One PUT for each actor in the life of a
   * process. `before` a delete, that PUT may take the room that a full store keeps for deletes.
   *
   * @throws MemoryError `misconfigured` for an invalid actor.
   */
  nameActor(work: Work, before?: 'delete'): Promise<void>;
  /**
   * Saves a version that is about to be replaced, or `before` a delete. One PUT. A record of it that was saved before
   * stays as it is, unless a delete now removes the version and the record does not say so.
   */
  saveReplaced(
    work: Work,
    path: MemoryPath,
    version: Omit<OpenedObject, 'origin' | 'drawnUnder'>,
    before?: 'delete',
  ): Promise<void>;
  /**
   * Looks again after it saved a version that another process replaced, renamed or deleted first: where the text was
   * redacted before this save, the save's record loses it too. One GET; where the file has another version, a LIST for
   * each 1,000 records of the path, or of all paths where the file does not tell that the version was replaced at this
   * one, and a GET for each other record of the version.
   */
  savedInVain(
    work: Work,
    path: MemoryPath,
    version: { readonly id: Uint8Array; readonly bound: bigint },
  ): Promise<void>;
  /**
   * Reads the file, of whatever size, for a writer that replaces it whole. The call only looks at an object that does
   * not open, as it does without history: the object has no text to save.
   */
  readToSave(work: Work, path: MemoryPath): Promise<SizedVersion | undefined>;
  /**
   * Saves files that are about to be deleted as they were listed, and answers those that it saved. Files that have
   * changed since, or cannot be opened, are left to the delete.
   */
  saveListed(work: Work, files: readonly ListedFile[]): Promise<readonly EndedFile[]>;
  /**
   * Saves files as they were listed, deletes exactly these versions and writes down that they are gone: all three for a
   * file, or none. Undefined where the store cannot make several changes as one: then one follows the other. Answers as
   * a delete of the store, and throws nothing.
   *
   * @param at the path that is deleted: a file's own, or that of a directory above it.
   */
  deleteListed(
    work: Work,
    files: readonly ListedFile[],
    options: { readonly at: MemoryPath } & Pick<DeleteOptions, 'sendBy' | 'onTarget'>,
  ): Promise<readonly DeleteFailure[]> | undefined;
  /**
   * Tells whether a record is of one of these ids, be it of a version at the path, of a delete or of a rename, or says
   * that such a version was moved away from the path. Undefined: the records do not reach back to `since` (milliseconds
   * since the epoch). A LIST for each 1,000 records of the path and of those of several paths, and a GET for each of the
   * latter from three days before that time on.
   *
   * @param isOne judges an id, or its first six bytes.
   */
  isRecorded(
    work: Work,
    path: MemoryPath,
    of: { readonly since: number; readonly isOne: (id: Uint8Array) => boolean },
  ): Promise<boolean | undefined>;
  /** Writes down that deleted files at or below a path are gone. A failure is logged and changes nothing. */
  noteDeleted(work: Work, at: MemoryPath, files: readonly EndedFile[]): Promise<void>;
  /** Writes down that a renamed file is gone from its old path. A failure is logged and changes nothing. */
  noteMoved(work: Work, rename: NamedRename, file: EndedFile): Promise<void>;
  /**
   * Writes down the new places of a directory's files, before the first of them is deleted at its old place: the rename
   * only goes forward from there, so that after a crash a record names each missing file. A process that takes the
   * rename over writes it again.
   */
  saveMoves(work: Work, rename: LeasedRename, files: readonly EndedFile[]): Promise<void>;
}
