import { MemoryError } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import type { MemoryPath } from '../../language/path.ts';
import { readFile } from '../../tree/read-file.ts';
import { listIds } from '../../tree/records/list-ids.ts';
import { type CallOptions, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import { historyRecordId, idBytes, isRecordOf } from '../save/history-record.ts';
import type { Past, PastVersion, VersionId } from './past.ts';
import { readMeantPast, readNamed } from './read.ts';
import { readHistoryRecord } from './records.ts';
import { chosen, noVersion } from './version-name.ts';

/** The path of a version as a caller gives it, and the first characters of its name. */
export interface GivenName {
  readonly path: MemoryPath;
  readonly beginning: string;
}

/** The most looks for a version, which may be replaced between look and read: then it lies in a record. */
const ROUNDS = 4;

/**
 * Finds the version at a path by the first characters of its name, and reads its text; answers also the path that the
 * caller means.
 *
 * @throws MemoryError `not_found`; `invalid_command` where several versions begin so; `integrity` for an id that two
 * texts bear.
 */
export async function readVersion(
  tenant: Tenant,
  call: CallOptions,
  { path: given, beginning }: GivenName,
): Promise<{ readonly path: MemoryPath; readonly version: PastVersion; readonly bytes: Uint8Array }> {
  const work = await openWork(tenant, call);
  for (let round = 1; work !== undefined && round <= ROUNDS; round++) {
    const { path, past } = await readMeantPast(work, given, (at) => readNamed(work, at, beginning));
    const version = chosen(past, beginning);
    refuseTwoTexts(past, version.id);
    const bytes = await contentOf(work, version);
    if (bytes !== undefined) return { path, version, bytes };
  }
  throw noVersion();
}

/** Refuses an id that two texts share, so that neither is given out for the other. @throws MemoryError `integrity`. */
export function refuseTwoTexts({ damaged }: Past, id: VersionId): void {
  if (!damaged.versions.has(id)) return;
  throw new MemoryError('integrity', 'Two different versions bear that name, which no writer makes.');
}

/**
 * Reads the text of a version from its file, or from its record where the file was replaced since. One GET, or two.
 *
 * @returns undefined where both are gone.
 * @throws MemoryError `not_found` where the text was taken out.
 */
export async function contentOf(work: Work, version: PastVersion): Promise<Uint8Array | undefined> {
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

/** Names the record that has a version, or that will have it once it is replaced. */
export function recordOf(
  work: Work,
  { id, path, bound, record }: Pick<PastVersion, 'id' | 'path' | 'bound' | 'record'>,
): string {
  return record ?? historyRecordId(work, { path, bound, id: idBytes(id) });
}

/** Says that the text of a version was taken out. */
export function takenOut(): MemoryError {
  return new MemoryError('not_found', 'The text of that version was taken out of the history.', {
    details: { reason: 'redacted' },
  });
}

/**
 * Tells whether any record says that the text of a version was taken out: of all records, or of those whose ids have a
 * `beginning`, and of these without the one `but`. A LIST for each 1,000 of them, a GET for each of the version's.
 */
export async function isRedactedElsewhere(
  work: Work,
  id: VersionId,
  { beginning, but }: { readonly beginning?: string | undefined; readonly but?: string } = {},
): Promise<boolean> {
  for (const each of await listIds(work, 'history', beginning)) {
    if (!isRecordOf(each.id, id) || each.id === but) continue;
    const record = await readHistoryRecord(work, each.id);
    if (record?.kind === 'redacted' && toBase64url(record.version.id) === id) return true;
  }
  return false;
}
