import { MemoryError } from '../errors.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { Pause } from '../time.ts';
import { TAKEOVER_AGE_MS } from './guarded-delete-removal.ts';
import type { ObjectStore, SendBound, WriteResult } from './port.ts';

export interface CreateRequest {
  readonly store: ObjectStore;
  readonly key: ObjectKey;
  readonly body: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  readonly sendBy?: SendBound | undefined;
  readonly pause: Pause;
  readonly clock: () => number;
  readonly fraction: () => number;
}

/** How long a create waits for a tombstone to go, in milliseconds. */
const PATIENCE_MS = 5000;
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;

/**
 * Creates an object where nothing or only a tombstone is: waits for the tombstone to go, takes over one that a
 * crash left behind, and throws `unavailable` when neither happens in time.
 */
export async function createPastTombstones(request: CreateRequest): Promise<WriteResult> {
  const { store, key, body, signal, sendBy } = request;
  const deadline = request.clock() + PATIENCE_MS;
  for (let round = 0; ; round++) {
    const created = await store.put(key, body, { mode: 'create', signal, sendBy });
    if ('etag' in created) return created;
    const found = await store.head(key, { signal });
    if (found !== undefined && found.size !== TOMBSTONE_BYTES) return created;

    if (found !== undefined && found.servedAt - found.lastModified > TAKEOVER_AGE_MS) {
      const taken = await store.put(key, body, { mode: { ifMatch: found.etag }, signal, sendBy });
      if ('etag' in taken) return taken;
    }
    if (request.clock() >= deadline) {
      throw new MemoryError('unavailable', 'Another process has not finished deleting the object.');
    }
    await request.pause(request.fraction() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** round), signal);
  }
}
