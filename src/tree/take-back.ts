import { MemoryError } from '../errors.ts';
import { eachConcurrently } from './concurrency.ts';
import { isRefusal, type LeftFile } from './rename/left-behind.ts';
import type { Work } from './session.ts';
import { undoPut, type Written } from './undo.ts';

/** Copies that stay although the rename was taken back. */
export interface KeptCopies {
  /** Somebody has built on at least one. */
  readonly builtOn: boolean;
  /** The server refuses to let them go. */
  readonly left: readonly LeftFile[];
}

/**
 * Removes copies that nobody has changed since, and answers which stay.
 *
 * @throws MemoryError `outcome_unknown` when one of them may still be there; the others are removed all the same.
 */
export async function takeBack(work: Work, copies: readonly Written[]): Promise<KeptCopies> {
  let [builtOn, failure]: [boolean, unknown] = [false, undefined];
  const left: LeftFile[] = [];
  await eachConcurrently(work.session, copies, async (copy) => {
    try {
      if ((await undoPut(work, copy)) === 'built_on') builtOn = true;
    } catch (error) {
      // What was not taken back says so first; why is behind it.
      const cause = error instanceof MemoryError ? error.cause : undefined;
      if (!isRefusal(cause)) failure ??= error;
      else if (await isSeen(work, copy)) left.push({ path: copy.path, cause });
    }
  });
  if (failure !== undefined) throw failure;
  return { builtOn, left };
}

/** False where only the tombstone may not be removed. What cannot be seen may be there. */
async function isSeen(work: Work, { key }: Written): Promise<boolean> {
  const found = await work.session.store.head(key).catch(() => 'unseen' as const);
  return found !== undefined;
}
