import { MemoryError } from '../errors.ts';
import type { LogicalName, ObjectKey } from '../format/object-keys.ts';
import type { LoadedKeyring } from '../keys/keyring-cache.ts';
import type { ETag } from '../store/port.ts';
import { throwIfAborted } from '../time.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { type ListedRecord, listRecords } from '../tree/list-directory.ts';
import type { Progress, Session, Work } from '../tree/session.ts';
import { type MigratedObject, type MigrationWork, migrateObject } from './migrate-object.ts';
import { createMigrationNotes, NO_NOTES, saysThatFilesExpire } from './migrated-versions.ts';
import { watchRenames } from './rename-watch.ts';

/** What a migration leaves as it is, because it cannot be opened. */
export type MigrationProblem =
  /** Not what was sealed under its name. `keyVersion`: of the tenant key that it names, which cannot be retired. */
  | { readonly kind: 'damaged'; readonly name: LogicalName; readonly keyVersion: number | undefined }
  /** It names a key that the keyring does not hold. */
  | { readonly kind: 'unknown_key'; readonly name: LogicalName }
  /** Larger than the file limit, so its key is not known: no key can be retired. */
  | { readonly kind: 'too_large'; readonly name: LogicalName }
  /** Objects whose names no writer of this tenant made, among the files and beside them. */
  | { readonly kind: 'foreign' | 'orphan'; readonly objects: number };

/** One look at every object. */
export interface MigrationPass {
  readonly objects: number;
  readonly rebound: number;
  /** Somebody else wrote them meanwhile. */
  readonly newer: number;
  readonly busy: number;
  /** Content ids of those that were written a moment ago, and are left to a later pass. */
  readonly young: readonly string[];
  /** By the version of the key that the objects were found under. */
  readonly found: ReadonlyMap<number, number>;
  /** The same, as the pass left them. */
  readonly left: ReadonlyMap<number, number>;
  readonly problems: readonly MigrationProblem[];
}

/** Versions of objects that are known to be under the active key, so that they are not read again in the same run. */
export type SettledVersions = Map<ObjectKey, ETag>;

export interface PassRequest extends Omit<MigrationWork, 'renames'> {
  readonly context: Session;
  readonly keyring: LoadedKeyring;
  readonly settled: SettledVersions;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: Progress) => void;
}

/** Looks at every object once and brings under the active key what is not, side by side. */
export async function migrateOnce(request: PassRequest): Promise<MigrationPass> {
  const { context, signal, settled, onProgress } = request;
  const { active } = request.keyring.keys;
  const work: Work = { session: context, keyring: request.keyring, call: { signal } };
  const { records, foreign, orphans } = await listRecords(work);
  // Looks later than the listing: a rename that is under way is known by then if a copy of it was listed.
  const task = { ...request, renames: watchRenames({ deadToo: request.reencrypt }) };
  const notes = records.some(({ name }) => saysThatFilesExpire(name))
    ? createMigrationNotes(work, new Set(records.map(({ object }) => object.etag)))
    : NO_NOTES;
  const [found, left] = [new Map<number, number>(), new Map<number, number>()];
  const counts = { rebound: 0, newer: 0, busy: 0 };
  const young: string[] = [];
  const problems: MigrationProblem[] = [];
  let done = 0;

  const note = (record: ListedRecord, migrated: MigratedObject): void => {
    const problem = problemOf(record.name, migrated);
    if (problem !== undefined) problems.push(problem);
    const keyVersion = 'keyVersion' in migrated ? migrated.keyVersion : undefined;
    if (keyVersion !== undefined) {
      count(found, keyVersion);
      count(left, migrated.state === 'rebound' ? active.version : keyVersion);
    }
    if (migrated.state === 'rebound' || migrated.state === 'newer' || migrated.state === 'busy')
      counts[migrated.state]++;
    if (migrated.state === 'young') young.push(migrated.contentId);
    if ('etag' in migrated) settled.set(record.object.key, migrated.etag);
    else settled.delete(record.object.key);
  };

  const migrateOne = async (record: ListedRecord): Promise<void> => {
    throwIfAborted(signal);
    const { key, etag } = record.object;
    if (settled.get(key) === etag) {
      count(found, active.version);
      count(left, active.version);
    } else {
      const keyring = await freshKeyring(context, signal);
      const migrated = await migrateObject({ ...work, keyring }, record, task);
      if (migrated !== undefined) note(record, migrated);
      if (migrated?.state === 'rebound') await notes.note(migrated.etag, migrated.replaced);
    }
    onProgress({ done: ++done, total: records.length });
  };
  try {
    await eachConcurrently(work.session, records, migrateOne, ({ object }) => object.size);
  } finally {
    await notes.finish();
  }
  problems.sort(byKindAndName);
  if (foreign > 0) problems.push({ kind: 'foreign', objects: foreign });
  if (orphans > 0) problems.push({ kind: 'orphan', objects: orphans });
  return { objects: records.length, ...counts, young, found, left, problems };
}

/** From the cache within its time to live: a long pass must not go on with keys that are not the newest any more. */
async function freshKeyring(context: Session, signal: AbortSignal | undefined): Promise<LoadedKeyring> {
  const keyring = await context.keyrings.load({ signal });
  if (keyring === undefined) throw new MemoryError('key_unavailable', 'the keyring is gone');
  return keyring;
}

function problemOf(name: LogicalName, migrated: MigratedObject): MigrationProblem | undefined {
  switch (migrated.state) {
    case 'damaged':
      return { kind: 'damaged', name, keyVersion: migrated.keyVersion };
    case 'unknown_key':
    case 'too_large':
      return { kind: migrated.state, name };
    default:
      return undefined;
  }
}

function count(counts: Map<number, number>, keyVersion: number): void {
  counts.set(keyVersion, (counts.get(keyVersion) ?? 0) + 1);
}

function byKindAndName(a: MigrationProblem, b: MigrationProblem): number {
  const [left, right] = [a, b].map((problem) => [problem.kind, 'name' in problem ? problem.name : ''].join());
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
