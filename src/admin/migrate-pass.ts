import { hasCode } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { readHeader } from '../format/header.ts';
import { seal } from '../format/object.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import type { LoadedKeyring } from '../keys/keyring-cache.ts';
import { ageOf, type ETag } from '../store/port.ts';
import { confirmedPut } from '../tree/confirmed-put.ts';
import { countFindings, type Finding, findingOf, sortFindings } from '../tree/findings.ts';
import { bindVersion, type SealedVersion } from '../tree/read-file.ts';
import { isRegister } from '../tree/rename/register.ts';
import { eachRecord, type Inspection, inspectRecord, type ListedRecord, listRecords } from '../tree/scan.ts';
import type { Progress, Session, Work } from '../tree/session.ts';
import {
  createMigrationNotes,
  NO_NOTES,
  saysThatObjectsExpire,
  type WrittenVersion,
} from './migrated-versions.ts';
import { type RenameWatch, watchRenames } from './rename-watch.ts';

/** One look at every object. */
export interface MigrationPass {
  readonly objects: number;
  readonly rebound: number;
  /** Other writers wrote them meanwhile. */
  readonly newer: number;
  readonly busy: number;
  /** Content ids of those that were written a moment ago, and are left to a later pass. */
  readonly young: readonly string[];
  /** The versions of the keys that the pass found objects under. */
  readonly found: ReadonlySet<number>;
  /** How many objects the pass left under which version. */
  readonly left: ReadonlyMap<number, number>;
  /** The versions of the keys that damaged objects name. */
  readonly damaged: ReadonlySet<number>;
  /** Objects that were too large to be read, so that their keys are not known. */
  readonly unread: number;
  readonly problems: readonly Finding[];
}

/** Versions of objects that are known to be under the active key, so that they are not read again in the same run. */
export type SettledVersions = Map<ObjectKey, ETag>;

interface PassRequest extends Omit<MigrationWork, 'renames'> {
  readonly context: Session;
  readonly keyring: LoadedKeyring;
  readonly settled: SettledVersions;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: Progress) => void;
}

/** Looks at every object once, several at a time, and brings under the active key what is not. */
export async function migrateOnce(request: PassRequest): Promise<MigrationPass> {
  const { context, signal, settled, onProgress } = request;
  const { active } = request.keyring.keys;
  const work: Work = { session: context, keyring: request.keyring, call: { signal, onProgress } };
  const { records, ...counted } = await listRecords(work);
  // Looks later than the listing: a rename that is under way is known by then if a copy of it was listed.
  const task = { ...request, renames: watchRenames({ includeExpiredLeases: request.reencrypt }) };
  const notes = records.some(({ name }) => saysThatObjectsExpire(name))
    ? createMigrationNotes(work, new Set(records.map(({ object }) => object.etag)))
    : NO_NOTES;
  const [found, damaged, left] = [new Set<number>(), new Set<number>(), new Map<number, number>()];
  const counts = { rebound: 0, newer: 0, busy: 0, too_large: 0 };
  const young: string[] = [];
  const problems: Finding[] = [];

  const note = (record: ListedRecord, migrated: MigratedObject): void => {
    const { state } = migrated;
    if (state in counts) counts[state as keyof typeof counts]++;
    if (state === 'young') young.push(migrated.contentId);
    if ('etag' in migrated) settled.set(record.object.key, migrated.etag);
    const finding = isUnopened(migrated) ? findingOf(record, migrated) : undefined;
    if (finding !== undefined) problems.push(finding);
    const keyVersion = 'keyVersion' in migrated ? migrated.keyVersion : undefined;
    if (keyVersion === undefined) return;
    found.add(keyVersion);
    if (state === 'damaged') damaged.add(keyVersion);
    count(left, state === 'rebound' ? active.version : keyVersion);
  };

  const migrateOne = async (record: ListedRecord): Promise<void> => {
    const { key, etag } = record.object;
    if (settled.get(key) === etag) return count(left, active.version);
    // From the cache within its time to live: a machine that slept must not continue with a keyring that is too old.
    await context.keyrings.load({ signal });
    const migrated = await migrateObject(work, record, task);
    if (migrated === undefined) return;
    note(record, migrated);
    if (migrated.state === 'rebound') await notes.note(migrated.etag, migrated.replaced);
  };
  try {
    await eachRecord(work, records, migrateOne);
  } finally {
    await notes.finish();
  }
  const { too_large: unread, ...written } = counts;
  problems.push(...countFindings(counted));
  return {
    objects: records.length,
    ...written,
    young,
    found,
    left,
    damaged,
    unread,
    problems: sortFindings(problems),
  };
}

function count(counts: Map<number, number>, keyVersion: number): void {
  counts.set(keyVersion, (counts.get(keyVersion) ?? 0) + 1);
}

/**
 * What became of one object; the key version is the one that it was found under. `settled`: it was under the active
 * key. `rebound`: it is now. `newer`: another writer has written it meanwhile. `busy`: left alone, because its
 * user would take the change for another writer's. `young`: left alone for a while, because its writer may
 * still take it back, by its ETag.
 */
type MigratedObject =
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

interface MigrationWork {
  /** Seal again with a fresh data key, also what was only re-bound since the active key was made. */
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
async function migrateObject(
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
  if (ageOf(version.stored) <= YOUNG_MS) {
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

async function isInUse(
  work: Work,
  given: { readonly record: ListedRecord; readonly version: SealedVersion; readonly renames: RenameWatch },
): Promise<boolean> {
  const { record, version, renames } = given;
  if (record.cls === 'receipts') return ageOf(version.stored) < RECEIPT_IN_USE_MS;
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
    if (hasCode(error, 'outcome_unknown') && !work.call.signal?.aborted) return undefined;
    throw error;
  }
}

function isUnopened(migrated: MigratedObject): migrated is Exclude<Inspection, { readonly state: 'whole' }> {
  return migrated.state === 'damaged' || migrated.state === 'unknown_key' || migrated.state === 'too_large';
}
