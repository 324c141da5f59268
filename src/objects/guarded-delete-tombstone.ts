import { MemoryError } from '../errors.ts';
import type { RandomBytes } from '../sealing/random.ts';
import { createTombstone } from '../sealing/tombstone.ts';
import type { DeleteFailure, ETag, ObjectKey, ObjectStore, StoredObject } from './object-store.ts';

export interface BurialRequest {
  readonly store: ObjectStore;
  readonly target: { readonly key: ObjectKey; readonly ifMatch: ETag };
  readonly random: RandomBytes;
  readonly signal: AbortSignal | undefined;
}

/** A tombstone of ours stands in the place of the version that was to be deleted. */
export interface Burial {
  readonly buried: ObjectKey;
}

const ATTEMPTS = 3;

/** Replaces exactly one version of an object by a tombstone; `outcome_unknown` when that cannot be told. */
export async function placeTombstone(request: BurialRequest): Promise<Burial | DeleteFailure> {
  const { store, target, signal } = request;
  const { key, ifMatch } = target;
  const tombstone = createTombstone(request.random);
  for (let attempt = 1; ; attempt++) {
    let unknown: MemoryError | undefined;
    try {
      const placed = await store.put(key, tombstone, { mode: { ifMatch }, signal });
      if ('etag' in placed) return { buried: key };
      const conflict = placed.conflict === 'missing' ? 'missing' : 'changed';
      if (!placed.retried) return { key, conflict, retried: attempt > 1 };
      if (isOurs(await store.get(key, { signal }), tombstone)) return { buried: key };
      return { key, conflict, retried: true };
    } catch (error) {
      if (!(error instanceof MemoryError && error.code === 'outcome_unknown')) throw error;
      unknown = error;
    }
    const found = await store.get(key, { signal });
    if (isOurs(found, tombstone)) return { buried: key };
    const isUntouched = typeof found === 'object' && found.etag === ifMatch;
    if (!isUntouched || attempt === ATTEMPTS) throw unknown;
  }
}

function isOurs(found: StoredObject | 'not_modified' | undefined, tombstone: Uint8Array): boolean {
  if (typeof found !== 'object' || found.body.length !== tombstone.length) return false;
  return found.body.every((byte, at) => byte === tombstone[at]);
}
