import { MemoryError } from '../errors.ts';
import type { ETag, ObjectKey } from '../objects/object-store.ts';
import type { OpenVault } from './context.ts';
import { deleteObjects } from './delete-objects.ts';

/** A write of ours that can be taken back while nobody has built on it. */
export interface Written {
  readonly key: ObjectKey;
  readonly etag: ETag;
}

/**
 * Takes back a write of ours, and nothing else: a guarded delete of exactly the version that was written. It goes on
 * when the caller gives up, because a write that is left behind would contradict the error the caller gets.
 * `built_on`: somebody has changed the object since, so it stays. `undone` also when it is gone already.
 *
 * @throws MemoryError `outcome_unknown` when it may still be there.
 */
export async function undoPut(vault: OpenVault, written: Written): Promise<'undone' | 'built_on'> {
  const target = { key: written.key, ifMatch: written.etag };
  const [failure] = await deleteObjects(vault, [target]).catch((cause: unknown) => {
    throw notTakenBack(cause);
  });
  if (failure === undefined) return 'undone';
  if ('error' in failure) throw notTakenBack(failure.error);
  return failure.conflict === 'changed' ? 'built_on' : 'undone';
}

/**
 * Runs the checks that follow a write. When they fail the write is taken back, so that the error leaves the tree as
 * it was.
 *
 * @throws what `check` throws; MemoryError `outcome_unknown` when the write had to stay.
 */
export async function orTakeBack<T>(vault: OpenVault, written: Written, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if ((await undoPut(vault, written)) === 'undone') throw error;
    throw notTakenBack(error);
  }
}

/** What is said of a change that was begun and may have stayed. */
export function notTakenBack(cause: unknown): MemoryError {
  if (cause instanceof MemoryError && cause.code === 'outcome_unknown') return cause;
  return new MemoryError('outcome_unknown', 'a change was begun and neither finished nor taken back', {
    cause,
  });
}
