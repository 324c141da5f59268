import { randomBytes } from 'node:crypto';

import { MemoryError } from '../errors.ts';
import { type Pause, pause, throwIfAborted } from '../pause.ts';
import type { RandomBytes } from '../sealing/random.ts';
import { TOMBSTONE_BYTES } from '../sealing/size.ts';
import { isTombstone } from '../sealing/tombstone.ts';
import { createPastTombstones } from './guarded-delete-create.ts';
import { type Burial, placeTombstone } from './guarded-delete-tombstone.ts';
import type {
  DeleteFailure,
  DeleteTarget,
  ListOptions,
  ListPage,
  ObjectKey,
  ObjectStore,
  RequestOptions,
} from './object-store.ts';

export interface GuardedDeleteOptions {
  readonly random?: RandomBytes;
  readonly pause?: Pause;
  /** Milliseconds from any origin, for the patience of a create. */
  readonly clock?: () => number;
  /** From 0 up to, but not including, 1: spreads the waiting of racing creates. */
  readonly fraction?: () => number;
}

const TOMBSTONES_AT_ONCE = 32;

/**
 * Gives a store that honours conditions on PUT, but not on DELETE, an atomic guarded delete: PUT If-Match of a
 * tombstone, then one DELETE that is never resent. From the tombstone on the object is gone for every verb of this
 * store, so only a DELETE that is refused, not one without an answer, is a failure. Of common prefixes it cannot
 * tell whether only tombstones lie below, and a page of tombstones is an empty page.
 */
export function guardDeletes(store: ObjectStore, options: GuardedDeleteOptions = {}): ObjectStore {
  const random = options.random ?? ((length: number): Uint8Array => new Uint8Array(randomBytes(length)));
  const patience = {
    pause: options.pause ?? pause,
    clock: options.clock ?? ((): number => performance.now()),
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
        ? createPastTombstones({ store, key, body, signal: request.signal, ...patience })
        : store.put(key, body, request),
    delete: deleteTargets,
    list,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };

  async function deleteTargets(
    targets: readonly DeleteTarget[],
    request: RequestOptions = {},
  ): Promise<readonly DeleteFailure[]> {
    const guarded = targets.flatMap(({ key, ifMatch }) => (ifMatch === undefined ? [] : [{ key, ifMatch }]));
    if (guarded.length === 0) return store.delete(targets, request);
    throwIfAborted(request.signal);
    const burials = await sideBySide(guarded, async (target) => {
      try {
        return await placeTombstone({ store, target, random, signal: request.signal });
      } catch (error) {
        if (targets.length === 1) throw error;
        return { key: target.key, error };
      }
    });
    const plain = targets.filter((target) => target.ifMatch === undefined);
    return [
      ...burials.flatMap((burial) => (isFailure(burial) ? [burial] : [])),
      ...(plain.length === 0 ? [] : await store.delete(plain, request)),
      ...(await bury(burials.flatMap((burial) => (isFailure(burial) ? [] : [burial.buried])))),
    ];
  }

  /** Not given up with the caller: what is begun here is cheaper to finish than to leave to others. */
  async function bury(keys: readonly ObjectKey[]): Promise<readonly DeleteFailure[]> {
    if (keys.length === 0) return [];
    try {
      const failures = await store.delete(keys.map((key) => ({ key })));
      return failures.filter((failure) => 'error' in failure && isRefusal(failure.error));
    } catch (error) {
      if (isRefusal(error)) throw error;
      return [];
    }
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

/** A refusal that will not pass by itself; anything else leaves at most a tombstone that others take over. */
function isRefusal(error: unknown): boolean {
  return error instanceof MemoryError && (error.code === 'access_denied' || error.code === 'misconfigured');
}

async function sideBySide<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of entries) results[at] = await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(TOMBSTONES_AT_ONCE, items.length) }, worker));
  return results;
}
