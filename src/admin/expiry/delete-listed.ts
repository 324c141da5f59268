import { isMissing, isTooLate, type ListedObject, type SendBound } from '../../store/port.ts';
import { deleteObjects } from '../../tree/confirmed-put.ts';
import type { Work } from '../../tree/session.ts';

/** The versions that were listed, and no others; returns the keys of those that stay: all of them past the bound. */
export async function deleteListed(
  work: Work,
  objects: readonly ListedObject[],
  sendBy?: SendBound,
): Promise<ReadonlySet<string>> {
  const targets = objects.map(({ key, etag }) => ({ key, ifMatch: etag }));
  if (targets.length === 0) return new Set();
  try {
    const failures = await deleteObjects(work, targets, { signal: work.call.signal, sendBy });
    return new Set(failures.flatMap((failure) => (isMissing(failure) ? [] : [failure.key])));
  } catch (error) {
    if (!isTooLate(error)) throw error;
    return new Set(targets.map(({ key }) => key));
  }
}
