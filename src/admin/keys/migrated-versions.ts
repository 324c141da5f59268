import { MemoryError, unlessDamaged } from '../../errors.ts';
import { objectRefused } from '../../format/object.ts';
import { classLogicalName, type LogicalName } from '../../format/object-keys.ts';
import { isHistoryName } from '../../history/save/history-record.ts';
import type { ETag, ObjectMeta } from '../../store/port.ts';
import { DAY_MS } from '../../time.ts';
import { throwing } from '../../tree/concurrency.ts';
import { timeIn } from '../../tree/records/record-values.ts';
import {
  decodeFields,
  encodeFields,
  readRecord,
  type StoredRecord,
} from '../../tree/records/sealed-record.ts';
import { updateRecord } from '../../tree/records/update-record.ts';
import { uncancelled, type Work } from '../../tree/tenant.ts';

/** The version that a writer made, and when, before migrations wrote it again. */
export type WrittenVersion = Pick<ObjectMeta, 'etag' | 'lastModified'>;

/** The versions that migrations wrote, with those that they replaced. */
export interface MigratedVersions {
  /** Finds the version that a writer made; the given one where no migration wrote it. */
  writtenVersion(object: WrittenVersion): WrittenVersion;
}

interface MigratedVersion extends WrittenVersion {
  /** The time at which a migration noted it, milliseconds since the epoch. */
  readonly since: number;
}

type Versions = ReadonlyMap<ETag, MigratedVersion>;

const NOTES = { cls: 'journal', id: 'swept', maxBytes: 16_777_216 } as const;
/** The most versions that are noted. Beyond them the youngest are forgotten: they count as written by the migration. */
const MOST_VERSIONS = 60_000;
const NOTE_AFTER = 1_000;
/** The longest time that a pass takes, in milliseconds. */
const FRESH_MS = DAY_MS;
const ATTEMPTS = 5;

/** Reads the notes of migrations. One GET. Without readable notes objects count as written when they were migrated. */
export async function readMigratedVersions(work: Work): Promise<MigratedVersions> {
  const versions = await unlessDamaged(readRecord(work, NOTES).then(versionsIn), ({ code }) => {
    work.tenant.logger.warn('what migrations noted cannot be read; files will expire later', { code });
  });
  return { writtenVersion: (object) => versions?.get(object.etag) ?? object };
}

/**
 * Tells whether the name of an object shows that the tenant has objects which expire: it is that of the marks of
 * expiry, or of a history record.
 */
export function saysThatObjectsExpire(name: LogicalName): boolean {
  return name === classLogicalName('journal', 'expiry') || isHistoryName(name);
}

/**
 * Notes of the versions that one pass of a migration wrote again, so that expiry can tell them from the writers' own
 * versions.
 */
interface MigrationNotes {
  /** Notes a version. Resolves at once, except for every thousandth version. */
  note(made: ETag, replaced: WrittenVersion): Promise<void>;
  /** Writes the notes that are left. */
  finish(): Promise<void>;
}

/**
 * @param listed ETags of the objects that the pass has seen: other versions are gone, except those that a migration has
 * made since.
 */
export function createMigrationNotes(work: Work, listed: ReadonlySet<ETag>): MigrationNotes {
  // Finished writes are noted even when the migration is cancelled.
  const unhurried = uncancelled(work);
  let pending = new Map<ETag, WrittenVersion>();
  let writing: Promise<void> = Promise.resolve();

  const write = async (): Promise<void> => {
    const made = pending;
    pending = new Map();
    if (made.size === 0) return;
    try {
      await merge(unhurried, made, listed);
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      work.tenant.logger.warn('what was migrated could not be noted; files will expire later', {
        code: error.code,
      });
    }
  };
  const writeInTurn = (): Promise<void> => {
    writing = writing.then(write);
    return writing;
  };

  return {
    async note(made, { etag, lastModified }) {
      pending.set(made, { etag, lastModified });
      if (pending.size >= NOTE_AFTER) await writeInTurn();
    },
    finish: writeInTurn,
  };
}

async function merge(
  work: Work,
  made: ReadonlyMap<ETag, WrittenVersion>,
  listed: ReadonlySet<ETag>,
): Promise<void> {
  const change = (found: StoredRecord | undefined) => {
    const versions = versionsIn(found);
    const replaced = new Set([...made.values()].map(({ etag }) => etag));
    const now = work.tenant.stamps.now();
    // A younger version may be another migration's, and newer than this one's listing.
    const mayBeThere = ([etag, { since }]: readonly [ETag, MigratedVersion]): boolean =>
      !replaced.has(etag) && (listed.has(etag) || now - since < FRESH_MS);
    const next = [...versions].filter(mayBeThere);
    for (const [etag, version] of made) {
      const { etag: written, lastModified } = versions.get(version.etag) ?? version;
      next.push([etag, { etag: written, lastModified, since: now }]);
    }
    next.sort(([, left], [, right]) => left.lastModified - right.lastModified);
    const list = next
      .slice(0, MOST_VERSIONS)
      .map(([etag, { etag: written, lastModified, since }]) => [
        etag,
        written,
        Math.floor(lastModified),
        since,
      ]);
    return { content: encodeFields({ versions: list }) };
  };
  const overtaken = throwing('unavailable', 'other migrations note what they wrote');
  await updateRecord(work, NOTES, change, { most: ATTEMPTS, overtaken });
}

function versionsIn(notes: StoredRecord | undefined): Versions {
  return notes === undefined ? new Map() : decodeVersions(notes.content);
}

/** Decodes the notes of migrations. @throws MemoryError `integrity` for malformed content. */
export function decodeVersions(content: Uint8Array): Versions {
  const { versions } = decodeFields(content) ?? {};
  if (!Array.isArray(versions) || versions.length > MOST_VERSIONS) throw objectRefused();
  return new Map(versions.map(parseVersion));
}

function parseVersion(entry: unknown): readonly [ETag, MigratedVersion] {
  if (!Array.isArray(entry) || entry.length !== 4) throw objectRefused();
  const [etag, written] = entry as readonly unknown[];
  const [lastModified, since] = [timeIn(entry[2]), timeIn(entry[3])];
  const isKnown = typeof etag === 'string' && typeof written === 'string';
  if (!isKnown || lastModified === undefined || since === undefined) throw objectRefused();
  return [etag as ETag, { etag: written as ETag, lastModified, since }];
}
