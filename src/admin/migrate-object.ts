import { hasCode } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { readHeader } from '../format/header.ts';
import { seal } from '../format/object.ts';
import type { ETag } from '../store/port.ts';
import { bindVersion } from '../tree/bind-version.ts';
import { confirmedPut } from '../tree/confirmed-put.ts';
import type { ListedRecord } from '../tree/list-records.ts';
import type { SealedVersion } from '../tree/read-file.ts';
import { isRegister } from '../tree/rename/register.ts';
import type { OpenVault } from '../tree/session.ts';
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
  vault: OpenVault,
  record: ListedRecord,
  work: MigrationWork,
): Promise<MigratedObject | undefined> {
  const inspection = await inspectRecord(vault, record);
  if (inspection?.state !== 'whole') return inspection;
  const { version, keyVersion } = inspection;
  if (!needsWrite(version, keyVersion, work)) {
    return { state: 'settled', keyVersion, etag: version.stored.etag };
  }
  if (isYoung(version)) {
    return { state: 'young', keyVersion, contentId: toBase64url(version.contentId) };
  }
  if (await isInUse(vault, { record, version, renames: work.renames })) return { state: 'busy', keyVersion };
  const etag = await write(vault, record, { version, work });
  return etag === undefined
    ? { state: 'newer', keyVersion }
    : { state: 'rebound', keyVersion, etag, replaced: version.stored };
}

function needsWrite(
  { keys, mtime, contentId }: SealedVersion,
  keyVersion: number,
  work: MigrationWork,
): boolean {
  const { active } = keys;
  if (keyVersion !== active.version) return true;
  const mayBeOlder = mtime < active.created + CLOCK_SKEW_MS;
  return work.reencrypt && mayBeOlder && !work.sealed.has(toBase64url(contentId));
}

function isYoung({ stored: { servedAt, lastModified } }: SealedVersion): boolean {
  return servedAt - lastModified <= YOUNG_MS;
}

async function isInUse(
  vault: OpenVault,
  given: { readonly record: ListedRecord; readonly version: SealedVersion; readonly renames: RenameWatch },
): Promise<boolean> {
  const { record, version, renames } = given;
  const { servedAt, lastModified } = version.stored;
  if (record.cls === 'receipts') return servedAt - lastModified < RECEIPT_IN_USE_MS;
  if (record.cls === 'data') return renames.touches(vault, record.path);
  return isRegister(record.name) && (await renames.isUnderWay(vault));
}

/** Undefined: the object has changed since, or it cannot be told; the next pass looks again. */
async function write(
  vault: OpenVault,
  { name, object: { key } }: ListedRecord,
  { version, work }: { readonly version: SealedVersion; readonly work: MigrationWork },
): Promise<ETag | undefined> {
  const { keys, content, mtime, bound, previous, writer, origin, stored } = version;
  const [clock, { random }] = [vault.clock(), vault];
  const sealed = (): Uint8Array => {
    const object = work.reencrypt
      ? seal({ keys, name, content, mtime, clock, after: bound, previous, writer, origin, random })
      : bindVersion(vault, version, { from: name, to: name });
    const header = readHeader(object);
    if (header !== undefined) work.sealed.add(toBase64url(header.contentId));
    return object;
  };
  try {
    const outcome = await confirmedPut(vault, { key, seal: sealed, mode: { ifMatch: stored.etag } });
    return 'etag' in outcome ? outcome.etag : undefined;
  } catch (error) {
    if (hasCode(error, 'outcome_unknown') && !vault.signal?.aborted) {
      return undefined;
    }
    throw error;
  }
}
