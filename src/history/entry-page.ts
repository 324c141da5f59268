import { checkWholeNumber, MemoryError } from '../errors.ts';
import type { HistoryEntry, HistoryListOptions } from './entries.ts';

/** @throws MemoryError `misconfigured` for another limit than a whole number from 1 on; `not_found` where `before` has gone. */
export function entryPage(
  entries: readonly HistoryEntry[],
  { limit = Number.MAX_SAFE_INTEGER, before }: Pick<HistoryListOptions, 'limit' | 'before'>,
): readonly HistoryEntry[] {
  checkWholeNumber('limit', limit, { least: 1, most: Number.MAX_SAFE_INTEGER });
  const last = before === undefined ? -1 : entries.findIndex((entry) => isSame(entry, before));
  if (before !== undefined && last < 0) {
    throw new MemoryError('not_found', 'The history has that entry no more: begin with the first page.');
  }
  return entries.slice(last + 1, last + 1 + limit);
}

/** A version is listed once, wherever it is meanwhile, and a rename or delete once with its time. */
function isSame(a: HistoryEntry, b: HistoryEntry): boolean {
  if (a.kind !== b.kind || a.version !== b.version) return false;
  return a.kind === 'written' || (a.path === b.path && a.time.getTime() === b.time.getTime());
}
