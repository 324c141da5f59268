import { MemoryError } from '../errors.ts';
import { fromBase64url, toBase64url } from '../format/encoding.ts';
import { NO_ID } from '../format/wrap.ts';
import type { MemoryPath } from '../language/path.ts';
import { readFile } from '../tree/read-file.ts';
import { type Call, openWork, type Session, type Work } from '../tree/session.ts';
import { historyRecordId } from './history-record.ts';
import { readHistoryRecord } from './read-records.ts';
import { beginningOf, chosen, noVersion } from './version-name.ts';
import { readMeantPast, type Version } from './versions.ts';

/** A version may be replaced between the look for it and the read of it: then it lies in a record. */
const ROUNDS = 4;

/**
 * The version at a path that is named by its first characters, its text, and the path as it is meant.
 *
 * @throws MemoryError `not_found`; `invalid_command` for what names no version, or several.
 */
export async function readVersion(
  session: Session,
  call: Call,
  { path: given, named }: { readonly path: MemoryPath; readonly named: unknown },
): Promise<{ readonly path: MemoryPath; readonly version: string; readonly bytes: Uint8Array }> {
  const beginning = beginningOf(named);
  const work = await openWork(session, call);
  for (let round = 1; work !== undefined && round <= ROUNDS; round++) {
    const { path, past } = await readMeantPast(work, given);
    const version = chosen(past, beginning);
    const bytes = await contentOf(work, version);
    if (bytes !== undefined) return { path, version: version.id, bytes };
  }
  throw noVersion();
}

/**
 * The text of a version, from its file, or from its record where it was replaced since it was found. One GET, or two.
 *
 * @returns undefined where it is neither here nor there any more.
 * @throws MemoryError `not_found` where the text was taken out.
 */
export async function contentOf(work: Work, version: Version): Promise<Uint8Array | undefined> {
  const { id, path, bound } = version;
  if (version.text === 'current') {
    const file = await readFile(work, path);
    if (file !== undefined && toBase64url(file.contentId) === id) return file.content;
  }
  const saved = version.record ?? historyRecordId(work, { path, bound, id: fromBase64url(id) ?? NO_ID });
  const record = await readHistoryRecord(work, saved);
  if (record?.kind === 'replaced') return record.text;
  if (record === undefined) return undefined;
  throw new MemoryError('not_found', 'The text of that version was taken out of the history.', {
    details: { reason: 'redacted' },
  });
}
