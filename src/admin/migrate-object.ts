import { hasCode } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { readHeader } from '../format/header.ts';
import { seal } from '../format/object.ts';
import type { ETag } from '../store/port.ts';
import { confirmedPut } from '../tree/confirmed-put.ts';
import type { ListedRecord } from '../tree/list-directory.ts';
import { bindVersion, type SealedVersion } from '../tree/read-file.ts';
import { isRegister } from '../tree/rename/register.ts';
import type { Work } from '../tree/session.ts';
import { type Inspection, inspectRecord } from './inspect-record.ts';
import type { WrittenVersion } from './migrated-versions.ts';
import type { RenameWatch } from './rename-watch.ts';

/**
 * What became of one object; the key version is the one that it was found under. `settled`: it was under the active
 * key. `rebound`: it is now. `newer`: somebody else has written it meanwhile. `busy`: left alone, because whoever
 * works with it would take the change for somebody else's. `young`: left alone for a while, because its writer may
 * still take it back, by its ETag.
 */
export type MigratedObject =
  | { readonly state: 'settled'; readonly keyVersion: number; readonly etag: ETag }
  | {
      readonly state: 'rebound';
      readonly keyVersion: number;
      readonly etag: ETag;
      /** The version that it took the place of. */
      readonly replaced: WrittenVersion;
    }
  | { readonly state: 'newer' | 'busy'; readonly keyVersion: number }
  | { readonly state: 'young'; readonly keyVersion: number; readonly contentId: string }
  | Exclude<Inspection, { readonly state: 'whole' }>;

export interface MigrationWork {
  /** Seal anew with a fresh data key, also what was only re-bound since the active key was made. */
  readonly reencrypt: boolean;
  readonly renames: RenameWatch;
  /** The content ids that this run has sealed. */
  readonly sealed: Set<string>;
}

/** A turn's worker may still hold a younger receipt by its ETag; milliseconds by the server's clock. */
const RECEIPT_IN_USE_MS = 960_000;
/** A create may be taken back after its checks; milliseconds by the server's clock, which may tell whole seconds. */
const YOUNG_MS = 60_000;
/** Clocks of writers that may sign requests to S3 at all differ by no more than this from the server's. */
const CLOCK_SKEW_MS = 900_000;

/**
 * Brings one object under the active key: GET, then PUT If-Match, confirmed. Name, content, mtime, previous, writer and origin stay.
 * Undefined: nothing is there any more.
 */
export async function migrateObject(
  work: Work,
  record: ListedRecord,
  task: MigrationWork,
): Promise<MigratedObject | undefined> {
  const inspection = await inspectRecord(work, record);
  if (inspection?.state !== 'whole') return inspection;
  const { version, keyVersion } = inspection;
  if (!needsWrite(version, keyVersion, task)) {
    return { state: 'settled', keyVersion, etag: version.stored.etag };
  }
  if (isYoung(version)) {
    return { state: 'young', keyVersion, contentId: toBase64url(version.contentId) };
  }
  if (await isInUse(work, { record, version, renames: task.renames })) return { state: 'busy', keyVersion };
  const etag = await write(work, record, { version, task });
  return etag === undefined
    ? { state: 'newer', keyVersion }
    : { state: 'rebound', keyVersion, etag, replaced: version.stored };
}

function needsWrite(
  { keys, mtime, contentId }: SealedVersion,
  keyVersion: number,
  task: MigrationWork,
): boolean {
  const { active } = keys;
  if (keyVersion !== active.version) return true;
  const mayBeOlder = mtime < active.created + CLOCK_SKEW_MS;
  return task.reencrypt && mayBeOlder && !task.sealed.has(toBase64url(contentId));
}

function isYoung({ stored: { servedAt, lastModified } }: SealedVersion): boolean {
  return servedAt - lastModified <= YOUNG_MS;
}

async function isInUse(
  work: Work,
  given: { readonly record: ListedRecord; readonly version: SealedVersion; readonly renames: RenameWatch },
): Promise<boolean> {
  const { record, version, renames } = given;
  const { servedAt, lastModified } = version.stored;
  if (record.cls === 'receipts') return servedAt - lastModified < RECEIPT_IN_USE_MS;
  if (record.cls === 'data') return renames.touches(work, record.path);
  return isRegister(record.name) && (await renames.isUnderWay(work));
}

/** Undefined: the object has changed since, or it cannot be told; the next pass looks again. */
async function write(
  work: Work,
  { name, object: { key } }: ListedRecord,
  { version, task }: { readonly version: SealedVersion; readonly task: MigrationWork },
): Promise<ETag | undefined> {
  const { keys, content, mtime, bound, previous, writer, origin, stored } = version;
  const { random } = work.session;
  const clock = work.session.clock();
  const sealed = (): Uint8Array => {
    const object = task.reencrypt
      ? seal({ keys, name, content, mtime, clock, after: bound, previous, writer, origin, random })
      : bindVersion(work, version, { from: name, to: name });
    const header = readHeader(object);
    if (header !== undefined) task.sealed.add(toBase64url(header.contentId));
    return object;
  };
  try {
    const outcome = await confirmedPut(work, { key, seal: sealed, mode: { ifMatch: stored.etag } });
    return 'etag' in outcome ? outcome.etag : undefined;
  } catch (error) {
    if (hasCode(error, 'outcome_unknown') && !work.call.signal?.aborted) {
      return undefined;
    }
    throw error;
  }
}
