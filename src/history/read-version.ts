import { MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { MemoryPath } from '../language/path.ts';
import { listIds } from '../tree/list-ids.ts';
import { readFile } from '../tree/read-file.ts';
import { type Call, openWork, type Session, type Work } from '../tree/session.ts';
import { historyRecordId, idBytes, isRecordOf } from './history-record.ts';
import type { Past, Version, VersionId } from './past/past.ts';
import { readMeantPast, readNamed } from './past/read.ts';
import { readHistoryRecord } from './past/records.ts';
import { beginningOf, chosen, noVersion } from './version-name.ts';

/** A version may be replaced between the look for it and the read of it: then it lies in a record. */
const ROUNDS = 4;

/**
 * The version at a path that is named by its first characters, its text, and the path as it is meant.
 *
 * @throws MemoryError `not_found`; `invalid_command` for what names no version, or several; `integrity` for an id that two texts
 * bear.
 */
export async function readVersion(
  session: Session,
  call: Call,
  { path: given, named }: { readonly path: MemoryPath; readonly named: unknown },
): Promise<{ readonly path: MemoryPath; readonly version: Version; readonly bytes: Uint8Array }> {
  const beginning = beginningOf(named);
  const work = await openWork(session, call);
  for (let round = 1; work !== undefined && round <= ROUNDS; round++) {
    const { path, past } = await readMeantPast(work, given, (at) => readNamed(work, at, beginning));
    const version = chosen(past, beginning);
    refuseTwoTexts(past, version.id);
    const bytes = await contentOf(work, version);
    if (bytes !== undefined) return { path, version, bytes };
  }
  throw noVersion();
}

/** @throws MemoryError `integrity` for an id that two texts bear: none of them is given out for the other. */
export function refuseTwoTexts({ damaged }: Past, id: VersionId): void {
  if (!damaged.versions.has(id)) return;
  throw new MemoryError('integrity', 'Two different versions bear that name, which no writer makes.');
}

/**
 * The text of a version, from its file, or from its record where it was replaced since it was found. One GET, or two.
 *
 * @returns undefined where it is neither here nor there any more.
 * @throws MemoryError `not_found` where the text was taken out.
 */
export async function contentOf(work: Work, version: Version): Promise<Uint8Array | undefined> {
  const { id, path } = version;
  if (version.text === 'current') {
    const file = await readFile(work, path);
    if (file !== undefined && toBase64url(file.id) === id) return file.content;
  }
  const record = await readHistoryRecord(work, recordOf(work, version));
  if (record?.kind === 'replaced') return record.text;
  if (record === undefined) return undefined;
  throw takenOut();
}

/** The id of the record that has a version, or would have it as it is bound. */
export function recordOf(
  work: Work,
  { id, path, bound, record }: Pick<Version, 'id' | 'path' | 'bound' | 'record'>,
): string {
  return record ?? historyRecordId(work, { path, bound, id: idBytes(id) });
}

/** Says that the text of a version is not to be had any more. */
export function takenOut(): MemoryError {
  return new MemoryError('not_found', 'The text of that version was taken out of the history.', {
    details: { reason: 'redacted' },
  });
}

/** Tells whether any record says that the text of a version was taken out. A LIST for each 1,000 records, a GET for each of its own. */
export async function isRedactedElsewhere(work: Work, id: VersionId): Promise<boolean> {
  for (const each of await listIds(work, 'history')) {
    if (!isRecordOf(each.id, id)) continue;
    const record = await readHistoryRecord(work, each.id);
    if (record?.kind === 'redacted' && toBase64url(record.version.id) === id) return true;
  }
  return false;
}
