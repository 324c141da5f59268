import { hasCode, MemoryError } from '../errors.ts';
import { hasBytesAt } from '../format/encoding.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import { createTombstone, isTombstone } from '../format/tombstone.ts';
import type { DeleteFailure, ETag, ObjectStore, SendBound, StoredObject, WriteResult } from './port.ts';

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

const ATTEMPTS = 3;

/**
 * Replaces exactly one version of an object by a tombstone. Where a tombstone of somebody else's lies the object is
 * missing, as it is for every other verb.
 *
 * @throws MemoryError `outcome_unknown` when it cannot be told whether the version was replaced.
 */
export async function placeTombstone(request: BurialRequest): Promise<Burial | DeleteFailure> {
  const { key, ifMatch } = request.target;
  const tombstone = createTombstone(request.random);
  let mayHaveLanded = false;
  for (let attempt = 1; ; attempt++) {
    const placed = await send(request, tombstone, mayHaveLanded);
    if ('etag' in placed) return { buried: key };
    mayHaveLanded ||= placed instanceof MemoryError || placed.retried;
    if (!mayHaveLanded && 'conflict' in placed) {
      const isGone = placed.conflict === 'missing' || (await isAbsent(request));
      return { key, conflict: isGone ? 'missing' : 'changed', retried: false };
    }
    const found = await readBack(request);
    if (found !== undefined && isOurs(found, tombstone)) return { buried: key };
    if (found?.etag === ifMatch && attempt < ATTEMPTS) continue;
    if (placed instanceof MemoryError) throw placed;
    const isThere = found !== undefined && !isTombstone(found.body);
    return { key, conflict: isThere ? 'changed' : 'missing', retried: mayHaveLanded };
  }
}

/** The answer, or the error when none tells whether the tombstone was placed. */
async function send(
  { store, target, signal, sendBy }: BurialRequest,
  tombstone: Uint8Array,
  mayHaveLanded: boolean,
): Promise<WriteResult | MemoryError> {
  try {
    return await store.put(target.key, tombstone, { mode: { ifMatch: target.ifMatch }, signal, sendBy });
  } catch (error) {
    if (hasCode(error, 'outcome_unknown')) return error;
    throw mayHaveLanded ? unknownOutcome(error) : error;
  }
}

async function isAbsent({ store, target, signal }: BurialRequest): Promise<boolean> {
  const found = await store.head(target.key, { signal });
  return found === undefined || found.size === TOMBSTONE_BYTES;
}

async function readBack({ store, target, signal }: BurialRequest): Promise<StoredObject | undefined> {
  try {
    const found = await store.get(target.key, { signal });
    return found === 'not_modified' ? undefined : found;
  } catch (error) {
    throw unknownOutcome(error);
  }
}

function unknownOutcome(cause: unknown): MemoryError {
  return new MemoryError('outcome_unknown', 'No answer tells whether a version was deleted.', { cause });
}

function isOurs(found: StoredObject, tombstone: Uint8Array): boolean {
  return found.body.length === tombstone.length && hasBytesAt(found.body, 0, tombstone);
}
