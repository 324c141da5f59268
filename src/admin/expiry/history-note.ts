import { unlessDamaged } from '../../errors.ts';
import { objectRefused } from '../../format/object.ts';
import type { ListedObject } from '../../store/port.ts';
import { attempts, throwing } from '../../tree/concurrency.ts';
import { timeIn } from '../../tree/records/record-values.ts';
import { decodeFields, encodeFields, readRecord } from '../../tree/records/sealed-record.ts';
import { writeBeforeDelete } from '../../tree/records/write-before-delete.ts';
import type { Work } from '../../tree/tenant.ts';

/** The record that tells a verification up to which time missing versions have expired. */
const NOTE = { cls: 'journal', id: 'history' } as const;
const MAX_BYTES = 4_096;
const ATTEMPTS = 5;

/**
 * Reads the time before which records may have expired: milliseconds since the epoch, by the store's clock; 0 where
 * none have. A damaged note counts as missing: an attacker who damages it only makes expired versions show as missing.
 */
export async function expiredBefore(work: Work): Promise<number> {
  return (await unlessDamaged(readNote(work)))?.before ?? 0;
}

async function readNote(work: Work) {
  const record = await readRecord(work, { ...NOTE, maxBytes: MAX_BYTES });
  if (record === undefined) return undefined;
  return { before: decodeExpired(record.content), etag: record.etag };
}

/**
 * Decodes the note of the expired history.
 *
 * @throws MemoryError `integrity` for malformed content.
 */
export function decodeExpired(content: Uint8Array): number {
  const before = timeIn(decodeFields(content)?.['expiredBefore']);
  if (before === undefined) throw objectRefused();
  return before;
}

/**
 * Writes the note, unless it already has that time or a later one. One GET and a PUT. `leaving`: the records that the
 * run deletes next.
 *
 * @throws MemoryError `unavailable` when other runs write it at every attempt.
 */
export async function noteExpired(
  work: Work,
  before: number,
  leaving: readonly ListedObject[],
): Promise<void> {
  const content = encodeFields({ expiredBefore: before });
  const attempt = async (): Promise<'noted' | 'again'> => {
    const earlier = await readNote(work);
    if (earlier !== undefined && earlier.before >= before) return 'noted';
    const isWritten = await writeBeforeDelete(work, NOTE, { content, base: earlier?.etag, leaving });
    return isWritten ? 'noted' : 'again';
  };
  await attempts(ATTEMPTS, attempt, throwing('unavailable', 'other runs note what expired of the history'));
}
