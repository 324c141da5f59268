import { hasCode, MemoryError } from '../errors.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { encodeText } from '../language/text.ts';
import { once, untilAborted } from '../time.ts';
import {
  type DeleteOptions,
  type DeleteTarget,
  isResentConflict,
  type ObjectStore,
  type PutOptions,
} from './port.ts';

/** Stores that were seen to honour a condition, whichever tenant's probe showed it. */
const proven = new WeakSet<ObjectStore>();

const PROBE_BODY: Uint8Array = encodeText('Shows whether the store honours If-None-Match.\n');

/**
 * Lets no conditional write through before the store has refused one it had to refuse: a put-if-absent of the
 * probe, which exists. Costs one request per process, two when the probe was not there yet. A store, or a proxy
 * before it, that ignores the condition is `misconfigured`. `store` must be the plain store, below the tombstones
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
    if (await isRefused(store, probe)) return;
    if (await isRefused(store, probe)) return;
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
  throw new MemoryError(
    'misconfigured',
    'The store ignores If-None-Match, or a proxy before it removes the header: concurrent writers would overwrite each other. Use a store with conditional writes, or let the proxy pass the If-* headers.',
  );
}

async function isRefused(store: ObjectStore, probe: ObjectKey): Promise<boolean> {
  const result = await store.put(probe, PROBE_BODY, { mode: 'create' }).catch((error: unknown) => {
    // Whichever attempt it met, the condition was honoured.
    if (isResentConflict(error)) return 'refused' as const;
    throw error;
  });
  if (result !== 'refused' && 'etag' in result) return false;
  proven.add(store);
  return true;
}
