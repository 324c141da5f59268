import { MemoryError } from '../../errors.ts';
import { fromBase64url, toBase64url } from '../../format/encoding.ts';
import { NO_ID } from '../../format/wrap.ts';
import { readFile } from '../read-file.ts';
import type { Work } from '../session.ts';
import { historyRecordId } from './history-record.ts';
import { readHistoryRecord } from './read-records.ts';
import type { Version } from './versions.ts';

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
