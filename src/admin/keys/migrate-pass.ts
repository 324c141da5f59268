import { hasCode } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import type { LoadedKeyring } from '../../keys/keyring-cache.ts';
import { ageOf, type ETag } from '../../store/port.ts';
import { type SealedVersion, STAYS_AFTER_MS } from '../../tree/read-file.ts';
import { isRegister } from '../../tree/rename/register.ts';
import type { Progress, Tenant, Work } from '../../tree/tenant.ts';
import { writeAgain } from '../../tree/write-again.ts';
import { countFindings, type Finding, findingOf, sortFindings } from '../findings.ts';
import { eachRecord, type Inspection, inspectRecord, type ListedRecord, listRecords } from '../scan.ts';
import { createMigrationNotes, saysThatObjectsExpire, type WrittenVersion } from './migrated-versions.ts';
import { type RenameWatch, watchRenames } from './rename-watch.ts';

/** The result of one look at every object. */
export interface MigrationPass {
  readonly objects: number;
  readonly rebound: number;
  /** Objects that other writers wrote meanwhile. */
  readonly newer: number;
  /** Objects that others deleted or renamed meanwhile: they may lie where the listing had already passed. */
  readonly gone: number;
  readonly busy: number;
  /** Objects that were written a moment ago, and are left to a later pass. */
  readonly young: number;
  /** True: the pass ended at an object under the active key whose data key was drawn under an older one. */
  readonly needsKey: boolean;
  /** The versions of the keys that the pass found objects under. */
  readonly found: ReadonlySet<number>;
  /** The number of objects that the pass left under each version. */
  readonly left: ReadonlyMap<number, number>;
  /** The versions of the keys that damaged objects name. */
  readonly damaged: ReadonlySet<number>;
  /** Objects that were too large to be read, so that their keys are unknown. */
  readonly unread: number;
  readonly problems: readonly Finding[];
}

/** Versions of objects that are known to be under the active key, so that they are not read again in the same run. */
export type DoneObjects = Map<ObjectKey, ETag>;

interface PassRequest extends Omit<MigrationWork, 'renames'> {
  /** True to stop the pass at an object under the active key whose data key was drawn under an older one. */
  readonly endsWhereKeyIsNeeded: boolean;
  readonly tenant: Tenant;
  readonly keyring: LoadedKeyring;
  readonly done: DoneObjects;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: Progress) => void;
}

/** Looks at every object once, several at a time, and brings those under other keys under the active one. */
export async function migrateOnce(request: PassRequest): Promise<MigrationPass> {
  const { tenant, signal, done, onProgress } = request;
  const { active } = request.keyring.keys;
  const work: Work = { tenant, keyring: request.keyring, call: { signal, onProgress } };
  const { records, ...counted } = await listRecords(work);
  // The watch looks later than the listing, so it knows each rename whose copies were listed.
  const task = { ...request, renames: watchRenames() };
  const notes = records.some(({ name }) => saysThatObjectsExpire(name))
    ? createMigrationNotes(work, new Set(records.map(({ object }) => object.etag)))
    : undefined;
  const [found, damaged, left] = [new Set<number>(), new Set<number>(), new Map<number, number>()];
  const counts = { rebound: 0, newer: 0, gone: 0, busy: 0, young: 0, too_large: 0 };
  let needsKey = false;
  const problems: Finding[] = [];

  const note = (record: ListedRecord, migrated: MigratedObject): void => {
    const { state } = migrated;
    if (state in counts) counts[state as keyof typeof counts]++;
    if ('etag' in migrated) done.set(record.object.key, migrated.etag);
    const finding = isUnopened(migrated) ? findingOf(record, migrated) : undefined;
    if (finding !== undefined) problems.push(finding);
    const keyVersion = 'keyVersion' in migrated ? migrated.keyVersion : undefined;
    if (keyVersion === undefined) return;
    found.add(keyVersion);
    if (state === 'damaged') damaged.add(keyVersion);
    count(left, state === 'rebound' ? active.version : keyVersion);
  };

  const migrateOne = async (record: ListedRecord): Promise<void> => {
    if (needsKey) return;
    const { key, etag } = record.object;
    if (done.get(key) === etag && !tenant.sightings.knowsOther(record.object))
      return count(left, active.version);
    // The load takes the keyring from the cache within its time to live: a machine that slept must not continue with a
    // keyring that is too old.
    await tenant.keyrings.load({ signal });
    const migrated = await migrateObject(work, record, task);
    if (migrated === 'needs_key') {
      needsKey = true;
      return;
    }
    if (migrated === undefined) {
      counts.gone++;
      return;
    }
    note(record, migrated);
    if (migrated.state === 'rebound') await notes?.note(migrated.etag, migrated.replaced);
  };
  try {
    await eachRecord(work, records, migrateOne);
  } finally {
    await notes?.finish();
  }
  const { too_large: unread, ...written } = counts;
  problems.push(...countFindings(counted));
  return {
    objects: records.length,
    ...written,
    needsKey,
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
 * The outcome for one object, with the key version that it was found under. `done`: it was under the active key
 * already. `rebound`: this pass brought it there. `newer`: another writer has written it meanwhile. `busy`: left alone,
 * because its user would take the change for another writer's. `young`: left alone for a while, because its writer may
 * still take it back by its ETag.
 */
type MigratedObject =
  | { readonly state: 'done'; readonly keyVersion: number; readonly etag: ETag }
  | {
      readonly state: 'rebound';
      readonly keyVersion: number;
      readonly etag: ETag;
      /** The version that was replaced. */
      readonly replaced: WrittenVersion;
    }
  | { readonly state: 'newer' | 'busy' | 'young'; readonly keyVersion: number }
  | Exclude<Inspection, { readonly state: 'whole' }>;

interface MigrationWork {
  /** True to seal objects again whose data key was drawn under an older key than the active one. */
  readonly reencrypt: boolean;
  readonly renames: RenameWatch;
}

/** The age below which a worker may still hold a receipt by its ETag; milliseconds by the server's clock. */
const RECEIPT_IN_USE_MS = 960_000;

/**
 * Brings one object under the active key: GET, then PUT If-Match, confirmed. Name, version and origin stay. Undefined:
 * the object is gone. `needs_key`: the pass must end here.
 */
async function migrateObject(
  work: Work,
  record: ListedRecord,
  task: MigrationWork & Pick<PassRequest, 'endsWhereKeyIsNeeded'>,
): Promise<MigratedObject | 'needs_key' | undefined> {
  const inspection = await inspectRecord(work, record);
  if (inspection?.state !== 'whole') return inspection;
  const { version, keyVersion } = inspection;
  if (!needsWrite(version, keyVersion, task)) {
    return { state: 'done', keyVersion, etag: version.stored.etag };
  }
  if (task.endsWhereKeyIsNeeded && keyVersion === version.keys.active.version) return 'needs_key';
  if (ageOf(version.stored) <= STAYS_AFTER_MS) return { state: 'young', keyVersion };
  if (await isInUse(work, { record, version, renames: task.renames })) return { state: 'busy', keyVersion };
  const etag = await write(work, record, { version, task });
  return etag === undefined
    ? { state: 'newer', keyVersion }
    : { state: 'rebound', keyVersion, etag, replaced: version.stored };
}

function needsWrite(
  { keys: { active }, drawnUnder }: SealedVersion,
  keyVersion: number,
  { reencrypt }: MigrationWork,
): boolean {
  return keyVersion !== active.version || (reencrypt && drawnUnder < active.version);
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

/** Writes the object again. Undefined: it has changed since, or no answer tells; the next pass looks again. */
async function write(
  work: Work,
  { name, object: { key } }: ListedRecord,
  { version, task }: { readonly version: SealedVersion; readonly task: MigrationWork },
): Promise<ETag | undefined> {
  const dataKey = task.reencrypt ? 'renewed' : 'kept';
  try {
    return await writeAgain(work, version, { key, name, base: version.stored.etag, dataKey });
  } catch (error) {
    if (hasCode(error, 'outcome_unknown') && !work.call.signal?.aborted) return undefined;
    throw error;
  }
}

function isUnopened(migrated: MigratedObject): migrated is Exclude<Inspection, { readonly state: 'whole' }> {
  return migrated.state === 'damaged' || migrated.state === 'unknown_key' || migrated.state === 'too_large';
}
