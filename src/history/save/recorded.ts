import { fromBase64url } from '../../format/encoding.ts';
import { MAX_CONTENT_BYTES } from '../../format/sizes.ts';
import { NO_ID, nextBound } from '../../format/wrap.ts';
import type { MemoryPath } from '../../language/path.ts';
import { DAY_MS } from '../../time.ts';
import { listIds } from '../../tree/records/list-ids.ts';
import { readRecord } from '../../tree/records/sealed-record.ts';
import type { HistorySaver, Work } from '../../tree/tenant.ts';
import {
  boundOfRecord,
  decodeHistoryRecord,
  historyHash,
  versionOfRecord,
  WHOLE_TREE,
} from './history-record.ts';

/** The age of records that are looked into: clocks that write differ by two days at most. */
const MARGIN_MS = 3 * DAY_MS;

/** See `HistorySaver.isRecorded`. */
export async function isRecorded(
  work: Work,
  path: MemoryPath,
  { since, isOne }: Parameters<HistorySaver['isRecorded']>[2],
): Promise<boolean | undefined> {
  const ids = await Promise.all(
    [path, WHOLE_TREE].map((at) => listIds(work, 'history', `${historyHash(work, at)}_`)),
  );
  if (ids.flat().some(({ id }) => isOne(fromBase64url(versionOfRecord(id)) ?? NO_ID))) return true;
  for (const { id } of ids[1] ?? []) {
    if (boundOfRecord(id) < nextBound(since - MARGIN_MS)) continue;
    const found = await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES });
    const record = found && decodeHistoryRecord(found.content);
    const isAway = record?.kind === 'moved' && record.files.some(([at, of]) => at === path && isOne(of));
    if (isAway) return true;
  }
  // Records may expire after a day.
  const { keptSince = Number.POSITIVE_INFINITY } = work.keyring;
  return keptSince <= since && work.tenant.stamps.storeTime() - since < DAY_MS ? false : undefined;
}
