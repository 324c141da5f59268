import { hasCode, MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { encodeText } from '../language/text.ts';
import { once, untilAborted } from '../time.ts';
import { osRandom } from './os-random.ts';
import {
  type DeleteOptions,
  type DeleteTarget,
  isResentConflict,
  type ObjectStore,
  type PutOptions,
} from './port.ts';

/** Stores that were seen to honour a condition, whichever tenant's probe showed it. */
const proven = new WeakSet<ObjectStore>();

const SCRATCH_BYTES = 9;

const PROBE_BODY: Uint8Array = encodeText('Shows whether the store honours If-None-Match.\n');

/**
 * Holds conditional writes back until the store has been seen to honour conditions: it must refuse a put-if-absent of
 * the probe while the probe exists, and accept one after the probe was deleted. Costs three requests per process, four
 * when the probe did not exist yet. A store that fails at either, or a proxy before it, is `misconfigured`. With
 * credentials that may not delete, the second half is left out. `store` must be the plain store, below the tombstones
 * of guarded deletes, which are conditional writes too.
 */
export function checkConditions(store: ObjectStore, probe: ObjectKey): ObjectStore {
  // The check belongs to all who wait for it, so no single caller's signal ends it.
  const proveOnce = once(() => proveConditions(store, probe));

  const prove = (signal: AbortSignal | undefined): Promise<void> | undefined => {
    if (proven.has(store)) return undefined;
    return untilAborted(proveOnce(), signal);
  };

  return {
    get: (key, options) => store.get(key, options),
    head: (key, options) => store.head(key, options),
    put: async (key: ObjectKey, body: Uint8Array, options: PutOptions) => {
      if (options.mode !== 'overwrite') await prove(options.signal);
      return store.put(key, body, options);
    },
    delete: async (targets: readonly DeleteTarget[], options?: DeleteOptions) => {
      if (targets.some((target) => target.ifMatch !== undefined)) await prove(options?.signal);
      return store.delete(targets, options);
    },
    list: (options) => store.list(options),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function proveConditions(store: ObjectStore, probe: ObjectKey): Promise<void> {
  try {
    // Other processes try the probe as well and may come between; a key that nobody else knows decides.
    const isProven = (await tryConditions(store, probe)) === 'kept';
    const verdict = isProven ? 'kept' : await tryConditionsAlone(store, probe);
    if (verdict !== 'kept') throw new MemoryError('misconfigured', FAULTS[verdict]);
    proven.add(store);
  } catch (error) {
    // The caller's own write was not sent, so nothing about it is unknown.
    if (!hasCode(error, 'outcome_unknown')) throw error;
    throw new MemoryError(
      'unavailable',
      'The object store did not answer the check of its conditional writes.',
      {
        cause: error,
      },
    );
  }
}

type Verdict = 'kept' | keyof typeof FAULTS;

const FAULTS = {
  ignored:
    'The store ignores If-None-Match, or a proxy before it removes the header: concurrent writers would overwrite each other. Use a store with conditional writes, or let the proxy pass the If-* headers.',
  not_created_again:
    'The store refuses to create an object where one was deleted, as some do in a bucket with versioning: a path could be used once only. Use a bucket on which versioning was never turned on, or another store.',
} as const;

/** Creates the object, creates it again, deletes it, and creates it once more. */
async function tryConditions(store: ObjectStore, key: ObjectKey): Promise<Verdict> {
  const isThere = (await create(store, key)) === 'refused';
  if (!isThere && (await create(store, key)) === 'created') return 'ignored';
  if (!(await isDeletable(store, key))) return 'kept';
  if ((await create(store, key)) === 'created') return 'kept';
  // Another process, or an attempt of ours that brought no answer, has created it again.
  return (await store.head(key)) !== undefined ? 'kept' : 'not_created_again';
}

async function tryConditionsAlone(store: ObjectStore, probe: ObjectKey): Promise<Verdict> {
  const key = `${probe}-${toBase64url(osRandom(SCRATCH_BYTES))}` as ObjectKey;
  const verdict = await tryConditions(store, key);
  await store.delete([{ key }]).catch(() => {});
  return verdict;
}

async function create(store: ObjectStore, key: ObjectKey): Promise<'created' | 'refused'> {
  const result = await store.put(key, PROBE_BODY, { mode: 'create' }).catch((error: unknown) => {
    // Whichever attempt it met, the condition was honoured.
    if (isResentConflict(error)) return 'refused' as const;
    throw error;
  });
  return result !== 'refused' && 'etag' in result ? 'created' : 'refused';
}

/** Deletes the object; false where these credentials may not delete, and so never come to create a second time. */
async function isDeletable(store: ObjectStore, key: ObjectKey): Promise<boolean> {
  try {
    await store.delete([{ key }]);
    return true;
  } catch (error) {
    if (hasCode(error, 'access_denied')) return false;
    throw error;
  }
}
