import { MemoryError } from '../../errors.ts';
import type { HistoryEntry } from '../../history/past/entries.ts';
import { inNfc, isWithin, type MemoryPath, parseGivenPath } from '../../language/path.ts';
import type { AdminRun } from '../run/admin.ts';

/**
 * The thing that a person named: an actor, whose words for people are `shown`, or a path with all below it; all where
 * `below` is undefined.
 */
export type Named =
  | { readonly writer: string; readonly shown: string }
  | { readonly below: string | undefined };

/**
 * Tells a name of which the history knows nothing from one for which there is nothing to do. Reads the whole history,
 * and returns its entries, and the actor as they name it.
 *
 * @throws MemoryError `not_found`, in the first case.
 */
export async function requireKnown(
  { admin, report, signal }: AdminRun,
  named: Named,
): Promise<{ readonly entries: readonly HistoryEntry[]; readonly writer?: string | undefined }> {
  const entriesBy = (writer?: string): Promise<readonly HistoryEntry[]> =>
    report.during('reading the history', () =>
      admin.history.list(undefined, { signal, ...(writer !== undefined && { writer }) }),
    );
  const entries = await entriesBy();
  if ('writer' in named) {
    const [known] = await entriesBy(named.writer);
    if (known !== undefined) return { entries, writer: known.writer };
  } else if (entries.some(isBelow(named.below))) return { entries };
  if (entries.length === 0)
    throw unknown(`The history of the tenant ${admin.tenant} has no entry; is its name right?`);
  throw unknown(
    'writer' in named
      ? `The history knows nothing of ${named.shown}: "log" names the writers.`
      : `The history knows of no file at or below ${named.below}: "log" names the paths.`,
  );
}

function isBelow(path: string | undefined): (entry: HistoryEntry) => boolean {
  if (path === undefined) return () => true;
  const given = parseGivenPath(path);
  const isIn = (at = ''): boolean =>
    [given, inNfc(given)].some((below) => at === below || isWithin(at as MemoryPath, below));
  return (entry) => isIn(entry.path) || (entry.kind !== 'written' && isIn(entry.to));
}

function unknown(message: string): MemoryError {
  return new MemoryError('not_found', message);
}
