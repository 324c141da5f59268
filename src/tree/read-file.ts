import { hasReason, MemoryError } from '../errors.ts';
import { readHeader } from '../format/header.ts';
import { type OpenedObject, open, rebind, seal } from '../format/object.ts';
import { fileKey, type LogicalName, logicalName, type ObjectKey } from '../format/object-keys.ts';
import { sealedSize } from '../format/sizes.ts';
import { equalBytes } from '../format/sodium.ts';
import { NO_ID, type SealingKeys } from '../format/wrap.ts';
import type { MemoryPath } from '../language/path.ts';
import { ageOf, type ETag, type StoredObject } from '../store/port.ts';
import { createAges, letOthersRun } from '../time.ts';
import { BYTES_BETWEEN_TURNS } from './concurrency.ts';
import type { Stamp } from './confirmed-put.ts';
import type { ListedEntry } from './list-directory.ts';
import { identityOf, type SightingOrder } from './sightings.ts';
import type { Work } from './tenant.ts';
import type { HeldVersion } from './version-cache.ts';

/**
 * The age after which the process that put a file there has found out whether it may stay (milliseconds, the server's
 * clock).
 */
export const STAYS_AFTER_MS = 60_000;

/** One version of a sealed object: its content and fields, and the object as it is stored. */
export interface SealedVersion extends OpenedVersion<StoredObject> {}

interface OpenedVersion<S extends Pick<HeldVersion, 'body'>> extends OpenedObject {
  readonly stored: S;
  /** The keys that opened it; newer than the work's where another process has rotated them. */
  readonly keys: SealingKeys;
}

/**
 * Reads and verifies the file at `path`; undefined when there is none. One GET.
 *
 * @throws MemoryError `integrity` when the object was not sealed for this path, or is a version that this process knows
 * to be superseded; `limit_exceeded` before buffering when it is larger than the work's file limit.
 */
export async function readFile(work: Work, path: MemoryPath): Promise<SealedVersion | undefined> {
  return readListed(work, { path, key: fileKey(work.tenant.layout, work.keyring.names, path) });
}

/**
 * Reads a file that was listed as `readFile` does, at the listed key: it may be longer than any key that this library
 * makes.
 */
export async function readListed(
  work: Work,
  { path, key }: Pick<ListedEntry, 'path' | 'key'>,
): Promise<SealedVersion | undefined> {
  return readSealed(work, {
    key,
    name: logicalName(path),
    maxBytes: sealedSize(work.tenant.maxFileBytes),
  });
}

/** A version of a file, either read just now or remembered. */
export interface FileVersion extends OpenedObject {
  readonly etag: ETag;
}

/**
 * Answers the file as this process read or wrote it last, without a request. It may have been replaced or deleted
 * since: what a caller tells of it, an error above all, is true only after a request whose condition names its ETag.
 */
export function recallFile(work: Work, path: MemoryPath): FileVersion | undefined {
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  const held = findHeld(work, key);
  if (held === undefined) return undefined;
  try {
    const opened = open({ keys: work.keyring.keys, name: logicalName(path), object: held.body });
    return { ...opened, etag: held.etag };
  } catch {
    // Its key was retired, so the object has been written again since, and only the store has the current one.
    return undefined;
  }
}

/**
 * Reads the file as `readFile` does, but does not transfer a version again that the process holds. The process holds
 * the answer from then on.
 */
export async function reviewFile(work: Work, path: MemoryPath): Promise<FileVersion | undefined> {
  return reviewListed(work, { path, key: fileKey(work.tenant.layout, work.keyring.names, path) });
}

/** Reads a file that was listed as `reviewFile` does, at the listed key. */
export async function reviewListed(
  work: Work,
  { path, key }: Pick<ListedEntry, 'path' | 'key'>,
): Promise<FileVersion | undefined> {
  const { store, sightings, cache, maxFileBytes } = work.tenant;
  const held = findHeld(work, key);
  const since = sightings.begin();
  const sent = createAges(work.tenant).now();
  const answer = await store.get(key, {
    maxBytes: sealedSize(maxFileBytes),
    ifNoneMatch: held?.etag,
    signal: work.call.signal,
  });
  const stored = answer === 'not_modified' ? held : answer;
  if (stored === undefined) {
    cache.drop(key);
    sightings.sawNothing({ key, since });
    return undefined;
  }
  const version = await verified(work, { key, since, name: logicalName(path) }, stored);
  if (stored !== held) cache.hold(key, stored);
  cache.confirm(key, sent);
  return { ...version, etag: stored.etag };
}

/** Answers the version that this process holds of a key, unless it has met something else there since. */
export function findHeld({ tenant: { cache, sightings } }: Work, key: ObjectKey): HeldVersion | undefined {
  const held = cache.find(key);
  if (held === undefined || !sightings.isSuperseded({ key, version: identityOf(held.body) })) return held;
  cache.drop(key);
  return undefined;
}

/** Reads and verifies any object of the tenant; undefined when there is none. One GET. */
export async function readSealed(
  work: Work,
  object: { readonly key: ObjectKey; readonly name: LogicalName; readonly maxBytes: number },
): Promise<SealedVersion | undefined> {
  const { key, name, maxBytes } = object;
  const { store, sightings } = work.tenant;
  const { signal } = work.call;
  const since = sightings.begin();
  const stored = await store.get(key, { maxBytes, signal });
  if (typeof stored !== 'object') {
    sightings.sawNothing({ key, since });
    return undefined;
  }
  return verified(work, { key, since, name }, stored);
}

/** Tells whether the object has just been transferred, and so tells its age. */
function isDated(stored: HeldVersion | StoredObject): stored is StoredObject {
  return 'servedAt' in stored;
}

/** Tells whether an edit wrote the version, which is never taken back: it followed on a version that stays. */
function isEdit({ previous, origin }: OpenedObject): boolean {
  return !equalBytes(previous, NO_ID) && equalBytes(origin, NO_ID);
}

/** Opens the object that a request which began at `since` met, unless the process knows it to be superseded. */
async function verified<S extends HeldVersion>(
  work: Work,
  met: { readonly key: ObjectKey; readonly since: SightingOrder; readonly name: LogicalName },
  stored: S,
): Promise<OpenedVersion<S>> {
  const { key, since, name } = met;
  const version = await openStored(work, name, stored);
  if (stored.body.length >= BYTES_BETWEEN_TURNS) await letOthersRun();
  const { sightings } = work.tenant;
  const identity = identityOf(stored.body);
  sightings.saw({ key, since, version: identity, etag: stored.etag });
  if (isEdit(version) || (isDated(stored) && ageOf(stored) > STAYS_AFTER_MS)) {
    sightings.noteStays({ key, etag: stored.etag, version: identity });
  }
  return version;
}

/**
 * Opens a stored object. A key id that the cached keyring lacks may belong to a rotation of another process: the
 * keyring is read once more.
 *
 * @throws MemoryError `unavailable` when the keyring was read a moment ago and is not read again yet: the object may be
 * whole.
 */
export async function openStored<S extends Pick<HeldVersion, 'body'>>(
  work: Work,
  name: LogicalName,
  stored: S,
): Promise<OpenedVersion<S>> {
  const { keys } = work.keyring;
  try {
    return { ...open({ keys, name, object: stored.body }), stored, keys };
  } catch (error) {
    if (!hasReason(error, 'unknown_key')) throw error;
    const { keyId } = readHeader(stored.body) ?? {};
    if (keyId === undefined) throw error;
    const found = await work.tenant.keyrings.lookFor(keyId, { signal: work.call.signal });
    if (found === 'no_keyring') throw error;
    if (found === 'withheld') {
      throw new MemoryError(
        'unavailable',
        'an object names a key that this process has not seen, and the keyring was read a moment ago: try again',
        { details: { reason: 'unknown_key' } },
      );
    }
    return { ...open({ keys: found.keys, name, object: stored.body }), stored, keys: found.keys };
  }
}

interface BindRequest extends Stamp {
  readonly from: LogicalName;
  readonly to: LogicalName;
  /** 16 bytes; when absent, the version's own is kept. */
  readonly origin?: Uint8Array | undefined;
}

/**
 * Makes the object of `version` bound to another name, the active key or another origin. Where the key of that version
 * was retired since it was read, its data key is out of reach, and the same version is sealed again.
 */
export function bindVersion(work: Work, version: SealedVersion, binding: BindRequest): Uint8Array {
  const { from, to, ...sealing } = sealingOf(work, version, binding);
  try {
    return rebind({ ...sealing, object: version.stored.body, from, to });
  } catch (error) {
    if (!hasReason(error, 'unknown_key')) throw error;
    return seal({ ...sealing, name: to, version, content: version.content });
  }
}

/**
 * Makes the object of `version` for another place, or with an origin of its own at the same one. A data key that was
 * drawn under an older key than the active one is drawn anew: a migration that encrypts again may have passed that
 * place already.
 */
export function copyVersion(work: Work, version: SealedVersion, binding: BindRequest): Uint8Array {
  if (version.drawnUnder === version.keys.active.version) return bindVersion(work, version, binding);
  const { from: _, to, ...sealing } = sealingOf(work, version, binding);
  return seal({ ...sealing, name: to, version, content: version.content });
}

function sealingOf(work: Work, version: SealedVersion, binding: BindRequest) {
  const { random } = work.tenant;
  const { keys, bound, origin } = version;
  return { keys, random, ...binding, origin: binding.origin ?? origin, after: laterOf(bound, binding.after) };
}

export function laterOf(bound: bigint, other: bigint | undefined): bigint {
  return other !== undefined && other > bound ? other : bound;
}
