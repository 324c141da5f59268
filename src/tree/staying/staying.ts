import { hasCode } from '../../errors.ts';
import { fileKey, type ObjectKey } from '../../format/object-keys.ts';
import { contentLength } from '../../format/sizes.ts';
import type { MemoryPath } from '../../language/path.ts';
import { ageOf, type DatedMeta, type ETag } from '../../store/port.ts';
import { createAges } from '../../time.ts';
import {
  type FileVersion,
  findHeld,
  readFile,
  recallFile,
  reviewFile,
  type SealedVersion,
  STAYS_AFTER_MS,
} from '../read-file.ts';
import { identityOf } from '../sightings.ts';
import type { SizedVersion, Work } from '../tenant.ts';
import { versionName } from '../touches.ts';
import type { HeldVersion } from '../version-cache.ts';
import { findClash, patiently } from './clashes.ts';

/*
 * A writer builds on a file only once its creator, or the rename that put it there, cannot take it back any more. When
 * another process put the file there within the last minute and it has not been edited since, each of these functions
 * looks for clashes, and reads the file again while there is one. They throw `unavailable` when that takes longer than
 * 10 s, and the errors of the read.
 */

/** Reads the file as `readFile` does, once it stays. */
export function readStaying(work: Work, path: MemoryPath): Promise<SealedVersion | undefined> {
  const look = (): Promise<SealedVersion | undefined> => readFile(work, path);
  return onceStaying(work, path, { look, stays: (key, { stored }) => isStaying(work, key, stored.etag) });
}

/**
 * Reads the file as `reviewFile` does, once it stays. A held version that may still be taken back is transferred again,
 * for its age.
 */
export function reviewStaying(work: Work, path: MemoryPath): Promise<FileVersion | undefined> {
  const key = keyOf(work, path);
  const held = findHeld(work, key);
  if (held !== undefined && !isStaying(work, key, held.etag)) work.tenant.cache.drop(key);
  const look = (): Promise<FileVersion | undefined> => reviewFile(work, path);
  return onceStaying(work, path, { look, stays: (_, { etag }) => isStaying(work, key, etag) });
}

/** Looks at the file, once it stays, for a writer that replaces it unread. One HEAD. */
function headStaying(work: Work, path: MemoryPath): Promise<DatedMeta | undefined> {
  const { signal } = work.call;
  const look = (): Promise<DatedMeta | undefined> => work.tenant.store.head(keyOf(work, path), { signal });
  const stays = (key: ObjectKey, found: DatedMeta): boolean =>
    ageOf(found) > STAYS_AFTER_MS || isStaying(work, key, found.etag);
  return onceStaying(work, path, { look, stays });
}

/** A file that was read, as a writer replaces it. */
export function sizedOf(found: FileVersion | undefined): SizedVersion | undefined {
  return found && { etag: found.etag, size: found.content.length, version: found };
}

/**
 * Reads a file as a writer replaces it, once it stays. One that cannot be opened is replaced unread. @throws MemoryError
 * as `reviewStaying`, except `integrity`.
 */
export async function readSized(work: Work, path: MemoryPath): Promise<SizedVersion | undefined> {
  try {
    return sizedOf(await reviewStaying(work, path));
  } catch (error) {
    if (!hasCode(error, 'integrity')) throw error;
    return headSized(work, path);
  }
}

/** A file as a writer replaces it unread; undefined where there is none. One HEAD. */
export async function headSized(work: Work, path: MemoryPath): Promise<SizedVersion | undefined> {
  const found = await headStaying(work, path);
  return found && { etag: found.etag, size: contentLength(found.size) ?? 0 };
}

/** Waits while the version that a writer is about to replace may still be taken back. */
export async function untilStaysAs(work: Work, path: MemoryPath, version: ETag): Promise<void> {
  if (!isStaying(work, keyOf(work, path), version)) await headStaying(work, path);
}

/**
 * The age (milliseconds) from which a held version is no longer saved into the history without a request: it may have
 * expired there, or its text may have been redacted, and another process may have replaced it. Five minutes are enough
 * for edits in a row, and short beside the days of a history; a text that was redacted within them is looked for when a
 * save was in vain.
 */
const CONFIRMED_MS = 300_000;

/**
 * Answers the held file as `recallFile` does, without a request. Undefined where only a request tells whether the file
 * stays or, where history is kept, whether it is still the held version.
 */
export function recallStaying(work: Work, path: MemoryPath): FileVersion | undefined {
  const held = recallFile(work, path);
  if (held === undefined) return undefined;
  const key = keyOf(work, path);
  if (work.saver !== undefined && !isConfirmed(work, key)) return undefined;
  return isStaying(work, key, held.etag) ? held : undefined;
}

function isConfirmed({ tenant }: Work, key: ObjectKey): boolean {
  const at = tenant.cache.confirmedAt(key);
  return at !== undefined && createAges(tenant).isWithin(at, CONFIRMED_MS);
}

/** Holds new content of a file as `keep` does, and tells the caller's `onTouch`. */
export function keepWritten(work: Work, path: MemoryPath, written: HeldVersion): void {
  keep(work, keyOf(work, path), written);
  work.call.onTouch?.({ kind: 'written', path, version: versionName(written) });
}

/** Holds a version that this process wrote and will not take back. */
export function keep(work: Work, key: ObjectKey, written: HeldVersion): void {
  work.tenant.sightings.noteStays({ key, etag: written.etag, version: identityOf(written.body) });
  work.tenant.cache.hold(key, written);
  work.tenant.cache.confirm(key, createAges(work.tenant).now());
}

async function onceStaying<T>(
  work: Work,
  path: MemoryPath,
  { look, stays }: { look(): Promise<T | undefined>; stays(key: ObjectKey, found: T): boolean },
): Promise<T | undefined> {
  const key = keyOf(work, path);
  return patiently(work, async () => {
    const found = await look();
    if (found === undefined || stays(key, found)) return found;
    return (await findClash(work, path)) === undefined ? found : 'again';
  });
}

function isStaying({ tenant: { sightings } }: Work, key: ObjectKey, etag: ETag): boolean {
  return sightings.stays({ key, etag });
}

function keyOf({ tenant: { layout }, keyring }: Work, path: MemoryPath): ObjectKey {
  return fileKey(layout, keyring.names, path);
}
