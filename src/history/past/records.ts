import { MemoryError } from '../../errors.ts';
import { type ObjectClass, parseClassKey } from '../../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../../format/sizes.ts';
import type { ListedObject } from '../../store/port.ts';
import { pagesBelow } from '../../tree/list-objects.ts';
import { readRecord } from '../../tree/sealed-record.ts';
import type { Work } from '../../tree/session.ts';
import { decodeHistoryRecord, type HistoryRecord } from '../history-record.ts';

/** A record of a class, as a listing shows it. */
export interface ListedId {
  readonly id: string;
  readonly object: ListedObject;
}

/**
 * The records of a class whose ids begin so, in the order of their ids, page by page: the one lister of ids. One LIST for each
 * 1,000.
 */
export async function* pagesOfIds(
  work: Work,
  cls: ObjectClass,
  beginning = '',
): AsyncGenerator<readonly ListedId[]> {
  const { layout } = work.session;
  for await (const page of pagesBelow(work, { prefix: `${layout.tenantPrefix}${cls}/${beginning}` })) {
    yield page.objects.flatMap((object) => {
      const parsed = parseClassKey(layout, object.key);
      return parsed?.cls === cls ? [{ id: parsed.id, object }] : [];
    });
  }
}

/** All pages of `pagesOfIds`. */
export async function listIds(
  work: Work,
  cls: ObjectClass,
  beginning?: string,
): Promise<readonly ListedId[]> {
  const ids: ListedId[] = [];
  for await (const page of pagesOfIds(work, cls, beginning)) ids.push(...page);
  return ids;
}

/** The content of a record of the history. One GET. Undefined: it has expired. @throws MemoryError `integrity`. */
export async function readHistoryContent(work: Work, id: string): Promise<Uint8Array | undefined> {
  return (await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES }))?.content;
}

/** What it says. @throws MemoryError `integrity`, also for a content that no rule allows. */
export async function readHistoryRecord(work: Work, id: string): Promise<HistoryRecord | undefined> {
  const content = await readHistoryContent(work, id);
  const record = content && decodeHistoryRecord(content);
  if (content !== undefined && record === undefined) throw malformedRecord();
  return record;
}

export function malformedRecord(): MemoryError {
  return new MemoryError('integrity', 'A record of the history says what none may say.');
}
