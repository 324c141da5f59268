import { TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import { beginRemoval, type RemovalTime } from './guarded-delete-removal.ts';
import { placeTombstone } from './guarded-delete-tombstone.ts';
import type { ObjectStore } from './port.ts';

export interface OldTombstones {
  /** The store itself, without the wrapper that hides tombstones. */
  readonly store: ObjectStore;
  readonly prefix: string;
  /** Younger ones are somebody's at work. At least 180,000. */
  readonly olderThanMs: number;
  readonly random: RandomBytes;
  readonly time: RemovalTime;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Removes the tombstones that deletes left behind when their process died, and answers how many. Each is first
 * replaced by a tombstone of our own: a young one, which nobody takes over, and which nobody else deletes.
 *
 * @throws MemoryError what the store throws.
 */
export async function buryOldTombstones(request: OldTombstones): Promise<number> {
  const { store, prefix, olderThanMs, random, time, signal } = request;
  let buried = 0;
  for await (const { objects, servedAt } of store.list({ prefix, signal })) {
    for (const { key, etag, size, lastModified } of objects) {
      if (size !== TOMBSTONE_BYTES || servedAt - lastModified <= olderThanMs) continue;
      const removal = beginRemoval(store, time);
      const placed = await placeTombstone({ store, target: { key, ifMatch: etag }, random, signal });
      if (!('buried' in placed)) continue;
      const removed = await removal.remove([key]);
      if (removed === 'left') continue;
      const [failure] = removed;
      if (failure === undefined) buried++;
      else if ('error' in failure) throw failure.error;
    }
  }
  return buried;
}
