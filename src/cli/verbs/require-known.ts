import { MemoryError } from '../../errors.ts';
import { isWithin, type MemoryPath, parseMemoryPath } from '../../language/path.ts';
import type { HistoryEntry } from '../../tree/history/entries.ts';
import type { AdminRun } from './operate.ts';

/** What was named: an actor, whose words for people are `shown`, or what lies at or below a path; neither: all. */
export type Named =
  | { readonly writer: string; readonly shown: string }
  | { readonly below: string | undefined };

/**
 * Tells a name of which the history knows nothing from one for which there is nothing to do. Reads the whole history, and returns its
 * entries.
 *
 * @throws MemoryError `not_found`, in the first case.
 */
export async function requireKnown(
  { admin, report, signal }: AdminRun,
  named: Named,
): Promise<readonly HistoryEntry[]> {
  const entries = await report.during('reading the history', () => admin.history.list(undefined, { signal }));
  if (entries.some(isMeant(named))) return entries;
  if (entries.length === 0)
    throw unknown(`The history of the tenant ${admin.tenant} has no entry; is its name right?`);
  throw unknown(
    'writer' in named
      ? `The history knows nothing of ${named.shown}: "log" names the writers.`
      : `The history knows of no file at or below ${named.below}: "log" names the paths.`,
  );
}

function isMeant(named: Named): (entry: HistoryEntry) => boolean {
  if ('writer' in named) return ({ writer }) => writer === named.writer;
  if (named.below === undefined) return () => true;
  const below = parseMemoryPath(named.below);
  const isIn = (path = ''): boolean => path === below || isWithin(path as MemoryPath, below);
  return (entry) => isIn(entry.path) || (entry.kind !== 'written' && isIn(entry.to));
}

function unknown(message: string): MemoryError {
  return new MemoryError('not_found', message);
}
