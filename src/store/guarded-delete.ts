import { MemoryError } from '../errors.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import { isTombstone } from '../format/tombstone.ts';
import { type Pause, pause, throwIfAborted } from '../time.ts';
import { beginWait } from '../waits.ts';
import { osRandom } from './os-random.ts';
import {
  ageOf,
  type DeleteFailure,
  type DeleteOptions,
  type DeleteTarget,
  type ETag,
  KEYS_PER_REQUEST,
  type ListOptions,
  type ListPage,
  type ObjectStore,
  type SendBound,
  type WriteResult,
} from './port.ts';
import { type Burial, beginRemoval, placeTombstone, TAKEOVER_AGE_MS } from './tombstones.ts';

interface GuardedDeleteOptions {
  readonly random?: RandomBytes;
  readonly pause?: Pause;
  /** Milliseconds from any origin, never set back. */
  readonly clock?: () => number;
  /** Milliseconds of the wall clock, which goes on while a process is frozen. */
  readonly wallClock?: () => number;
  /** From 0 up to, but not including, 1: spreads the waiting of racing creates. */
  readonly fraction?: () => number;
}

const TOMBSTONES_AT_ONCE = 32;

type GuardedTarget = DeleteTarget & { readonly ifMatch: ETag };

/**
 * Gives a store that honours conditions on PUT, but not on DELETE, an atomic guarded delete: PUT If-Match of a
 * tombstone, then one DELETE that is never resent. From the tombstone on the object is gone for every verb of this
 * store, so only a DELETE that is refused, not one without an answer, is a failure. A page of tombstones is an empty
 * page.
 */
export function guardDeletes(store: ObjectStore, options: GuardedDeleteOptions = {}): ObjectStore {
  const random = options.random ?? osRandom;
  const time = {
    pause: options.pause ?? pause,
    clock: options.clock ?? ((): number => performance.now()),
    wallClock: options.wallClock ?? Date.now,
    fraction: options.fraction ?? Math.random,
  };

  return {
    get: async (key, request) => {
      const stored = await store.get(key, request);
      return typeof stored === 'object' && isTombstone(stored.body) ? undefined : stored;
    },
    head: async (key, request) => {
      const meta = await store.head(key, request);
      return meta?.size === TOMBSTONE_BYTES ? undefined : meta;
    },
    put: (key, body, request) =>
      request.mode === 'create'
        ? createPastTombstones({ store, key, body, ...request, ...time })
        : store.put(key, body, request),
    delete: deleteTargets,
    list,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };

  async function deleteTargets(
    targets: readonly DeleteTarget[],
    request: DeleteOptions = {},
  ): Promise<readonly DeleteFailure[]> {
    const guarded = targets.flatMap(({ key, ifMatch }) => (ifMatch === undefined ? [] : [{ key, ifMatch }]));
    const plain = targets.filter((target) => target.ifMatch === undefined);
    const failures = plain.length > 0 ? [...(await store.delete(plain, request))] : [];
    for (let start = 0; start < guarded.length; start += KEYS_PER_REQUEST) {
      const batch = guarded.slice(start, start + KEYS_PER_REQUEST);
      failures.push(...(await deleteGuarded(batch, { ...request, alone: targets.length === 1 })));
    }
    return failures;
  }

  async function deleteGuarded(
    targets: readonly GuardedTarget[],
    request: DeleteOptions & { readonly alone: boolean },
  ): Promise<readonly DeleteFailure[]> {
    const { alone, signal, sendBy, onTarget } = request;
    throwIfAborted(signal);
    const removal = beginRemoval(store, time);
    const burials = await concurrently(targets, async (target) => {
      try {
        return await placeTombstone({ store, target, random, signal, sendBy });
      } catch (error) {
        if (alone) throw error;
        return { key: target.key, error };
      } finally {
        onTarget?.();
      }
    });
    const buried = burials.flatMap((burial) => (isFailure(burial) ? [] : [burial.buried]));
    // Goes on when the caller cancels: to finish a removal is cheaper than to leave it to others.
    const removed = await removal.remove(buried);
    return [...burials.filter(isFailure), ...(removed === 'left' ? [] : removed)];
  }

  async function* list(request: ListOptions): AsyncGenerator<ListPage, void, undefined> {
    for await (const page of store.list(request)) {
      yield { ...page, objects: page.objects.filter((object) => object.size !== TOMBSTONE_BYTES) };
    }
  }
}

function isFailure(burial: Burial | DeleteFailure): burial is DeleteFailure {
  return 'key' in burial;
}

async function concurrently<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of entries) results[at] = await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(TOMBSTONES_AT_ONCE, items.length) }, worker));
  return results;
}

interface CreateRequest {
  readonly store: ObjectStore;
  readonly key: ObjectKey;
  readonly body: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  readonly sendBy?: SendBound | undefined;
  readonly pause: Pause;
  readonly clock: () => number;
  readonly fraction: () => number;
}

/** The time that a create waits for a tombstone to go, in milliseconds. */
const PATIENCE_MS = 5000;
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;

/**
 * The refused creates in a row, each followed by a HEAD that finds no object, after which a store is known to break the
 * condition.
 */
const MOST_REFUSALS = 8;

/**
 * Creates an object where nothing or only a tombstone is: waits for the tombstone to go, takes over one that a
 * crash left behind, and throws `unavailable` when neither happens in time; `misconfigured` where the store refuses a
 * create though nothing is there.
 */
async function createPastTombstones(request: CreateRequest): Promise<WriteResult> {
  const { store, key, body, signal, sendBy } = request;
  const deadline = request.clock() + PATIENCE_MS;
  const tell = beginWait('delete', { ms: PATIENCE_MS, clock: request.clock });
  for (let round = 0, refusals = 0; ; round++) {
    const created = await store.put(key, body, { mode: 'create', signal, sendBy });
    if ('etag' in created) return created;
    const found = await store.head(key, { signal });
    if (found !== undefined && found.size !== TOMBSTONE_BYTES) return created;

    refusals = found === undefined ? refusals + 1 : 0;
    if (refusals === MOST_REFUSALS) {
      throw new MemoryError(
        'misconfigured',
        'The object store refuses to create an object where it shows none, as some do where versioning keeps the mark of a delete: run "doctor".',
      );
    }
    if (found !== undefined && ageOf(found) > TAKEOVER_AGE_MS) {
      const taken = await store.put(key, body, { mode: { ifMatch: found.etag }, signal, sendBy });
      if ('etag' in taken) return taken;
    }
    if (request.clock() >= deadline) {
      throw new MemoryError('unavailable', 'Another process has not finished deleting the object.');
    }
    tell();
    await request.pause(request.fraction() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** round), signal);
  }
}
