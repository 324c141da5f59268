import { MemoryError } from '../../errors.ts';
import { MAX_CONTENT_BYTES } from '../../format/sizes.ts';
import { readRecord } from '../../tree/records/sealed-record.ts';
import type { Work } from '../../tree/tenant.ts';
import { decodeHistoryRecord, type HistoryRecord } from '../save/history-record.ts';

/**
 * Reads the content of a record of the history. One GET. Undefined: it has expired. @throws MemoryError `integrity`.
 */
export async function readHistoryContent(work: Work, id: string): Promise<Uint8Array | undefined> {
  return (await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES }))?.content;
}

/** Reads and decodes a record of the history. @throws MemoryError `integrity`, also for malformed content. */
export async function readHistoryRecord(work: Work, id: string): Promise<HistoryRecord | undefined> {
  const content = await readHistoryContent(work, id);
  const record = content && decodeHistoryRecord(content);
  if (content !== undefined && record === undefined) throw malformedRecord();
  return record;
}

export function malformedRecord(): MemoryError {
  return new MemoryError('integrity', 'A record of the history says what none may say.');
}
