import type { ObjectKey } from '../format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import { createTombstone } from '../format/tombstone.ts';
import { resentConflict } from './answers.ts';
import type { DeleteFailure, ETag, ObjectStore, SendBound } from './port.ts';
import { settlePut } from './settle.ts';

export interface BurialRequest {
  readonly store: ObjectStore;
  readonly target: { readonly key: ObjectKey; readonly ifMatch: ETag };
  readonly random: RandomBytes;
  readonly signal?: AbortSignal | undefined;
  readonly sendBy?: SendBound | undefined;
}

/** A tombstone of ours stands in the place of the version that was to be deleted. */
export interface Burial {
  readonly buried: ObjectKey;
}

/**
 * Replaces exactly one version of an object by a tombstone. Below another process's tombstone the object is missing,
 * as it is for every other verb.
 *
 * @throws MemoryError `outcome_unknown` when it cannot be told whether the version was replaced; `isResentConflict` knows
 * the case where another version, or none, is there by now.
 */
export async function placeTombstone(request: BurialRequest): Promise<Burial | DeleteFailure> {
  const { store, target, random, signal, sendBy } = request;
  const { key, ifMatch } = target;
  const body = { bytes: createTombstone(random), sendBy };
  const placed = await settlePut(store, { key, mode: { ifMatch }, body, signal });
  if (placed === 'replaced') throw resentConflict();
  if ('etag' in placed) return { buried: key };
  const isGone = placed.conflict === 'missing' || (await isAbsent(request));
  return { key, conflict: isGone ? 'missing' : 'changed' };
}

async function isAbsent({ store, target, signal }: BurialRequest): Promise<boolean> {
  const found = await store.head(target.key, { signal });
  return found === undefined || found.size === TOMBSTONE_BYTES;
}
