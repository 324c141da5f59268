import type { Work } from '../tree/session.ts';
import { deleteListed } from './delete-listed.ts';
import { listClass } from './expiry-records.ts';
import type { MigratedVersions } from './migrated-versions.ts';

/**
 * Deletes what was written into the history longer than `limitMs` ago, by the store's clock, and returns how many records;
 * of a dry run how many it would. What the files hold now is no part of it. One LIST for each 1,000 records.
 */
export async function expireHistory(
  work: Work,
  options: { readonly migrated: MigratedVersions; readonly limitMs: number; readonly dryRun: boolean },
): Promise<number> {
  const { migrated, limitMs, dryRun } = options;
  const { objects, servedAt } = await listClass(work, 'history');
  const old = [...objects.values()].filter(
    (object) => servedAt - migrated.writtenVersion(object).lastModified > limitMs,
  );
  if (dryRun) return old.length;
  const left = await deleteListed(work, old);
  return old.length - left.size;
}
