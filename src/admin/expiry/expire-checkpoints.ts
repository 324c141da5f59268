import { unlessDamaged } from '../../errors.ts';
import type { Work } from '../../tree/session.ts';
import { numberOfHead, partsOf } from '../checkpoints/checkpoint-record.ts';
import { readHead } from '../checkpoints/read-checkpoint.ts';
import { deleteListed } from './delete-listed.ts';
import { type ClassExpiry, listClass, writtenLongAgo } from './expiry-records.ts';

/**
 * Deletes checkpoints that were written longer than `limitMs` ago, by the store's clock, and the remains of processes that died
 * while they wrote one. The newest checkpoint stays. Returns how many records went; in a dry run how many would. One LIST for each
 * 1,000 records, and a GET.
 */
export async function expireCheckpoints(
  work: Work,
  { migrated, limitMs, dryRun }: ClassExpiry,
): Promise<number> {
  const { objects, servedAt } = await listClass(work, 'checkpoints');
  const isOld = writtenLongAgo(migrated, { now: servedAt, limitMs });
  const late = [...objects].filter(([, object]) => isOld(object));
  if (late.length === 0) return 0;
  const newest = Math.max(0, ...[...objects.keys()].map((id) => numberOfHead(id) ?? 0));
  const head =
    newest === 0 ? undefined : await unlessDamaged(readHead(work, newest), () => 'damaged' as const);
  if (head === 'damaged') return 0;
  const old = late
    .filter(
      ([id]) => numberOfHead(id) !== newest && (head === undefined || !id.startsWith(partsOf(head.run))),
    )
    .map(([, object]) => object);
  if (dryRun) return old.length;
  return old.length - (await deleteListed(work, old)).size;
}
