import type { DeleteFailure, DeleteOptions, DeleteTarget } from '../store/port.ts';
import type { Work } from './session.ts';

/**
 * The port's `delete`; of what is certainly gone afterwards the work's history takes note. Every delete of a sealed
 * object goes through here.
 */
export async function deleteObjects(
  work: Work,
  targets: readonly DeleteTarget[],
  options?: DeleteOptions,
): Promise<readonly DeleteFailure[]> {
  const { store, history } = work.session;
  const since = history.begin();
  const failures = await store.delete(targets, options);
  const there = new Set(failures.flatMap((failure) => (isGone(failure) ? [] : [failure.key])));
  for (const { key } of targets) if (!there.has(key)) history.sawNothing({ key, since });
  return failures;
}

function isGone(failure: DeleteFailure): boolean {
  return 'conflict' in failure && failure.conflict === 'missing';
}
