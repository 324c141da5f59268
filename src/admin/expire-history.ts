import { isDamaged, MemoryError } from '../errors.ts';
import { objectRefused } from '../format/object.ts';
import type { ListedObject } from '../store/port.ts';
import { timeIn } from '../tree/record-values.ts';
import { decodeFields, encodeFields, readRecord } from '../tree/sealed-record.ts';
import type { Work } from '../tree/session.ts';
import { deleteListed } from './delete-listed.ts';
import { listClass, writtenLongAgo } from './expiry-records.ts';
import type { MigratedVersions } from './migrated-versions.ts';
import { writeNote } from './write-note.ts';

/** What tells a verification that a version which is not there has expired. */
const NOTE = { cls: 'journal', id: 'history' } as const;
const MAX_BYTES = 4_096;
const ATTEMPTS = 5;

/**
 * Deletes what was written into the history longer than `limitMs` ago, by the store's clock, and returns how many records;
 * of a dry run how many it would. What the files hold now is no part of it. One LIST for each 1,000 records, and a GET and
 * a PUT where some go: what is deleted is noted before, so that its absence is no finding.
 */
export async function expireHistory(
  work: Work,
  options: { readonly migrated: MigratedVersions; readonly limitMs: number; readonly dryRun: boolean },
): Promise<number> {
  const { migrated, limitMs, dryRun } = options;
  const { objects, servedAt } = await listClass(work, 'history');
  const old = [...objects.values()].filter(writtenLongAgo(migrated, { now: servedAt, limitMs }));
  if (dryRun || old.length === 0) return old.length;
  await noteExpired(work, Math.floor(servedAt - limitMs), old);
  return old.length - (await deleteListed(work, old)).size;
}

/**
 * Records of before then may have expired: milliseconds since the epoch, by the store's clock; 0 where none did. What cannot
 * be read counts as none: an attacker who damages it makes versions missing, and hides nothing.
 */
export async function expiredBefore(work: Work): Promise<number> {
  const note = await readNote(work).catch((error: unknown) => {
    if (!isDamaged(error)) throw error;
  });
  return note?.before ?? 0;
}

async function readNote(work: Work) {
  const record = await readRecord(work, { ...NOTE, maxBytes: MAX_BYTES });
  if (record === undefined) return undefined;
  return { before: decodeExpired(record.content), etag: record.etag };
}

/** @throws MemoryError `integrity` for what is malformed. */
export function decodeExpired(content: Uint8Array): number {
  const before = timeIn(decodeFields(content)?.['expiredBefore']);
  if (before === undefined) throw objectRefused();
  return before;
}

/** @throws MemoryError `unavailable` when other runs write it at every attempt. */
async function noteExpired(work: Work, before: number, leaving: readonly ListedObject[]): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const known = await readNote(work);
    if (known !== undefined && known.before >= before) return;
    const content = encodeFields({ expiredBefore: before });
    if (await writeNote(work, NOTE, { content, base: known?.etag, leaving })) return;
  }
  throw new MemoryError('unavailable', 'other runs note what expired of the history');
}
