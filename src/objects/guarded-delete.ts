import { MemoryError } from '../errors.ts';
import { osRandom } from '../os-random.ts';
import { type Pause, pause, throwIfAborted } from '../pause.ts';
import type { RandomBytes } from '../sealing/random.ts';
import { TOMBSTONE_BYTES } from '../sealing/size.ts';
import { isTombstone } from '../sealing/tombstone.ts';
import { createPastTombstones } from './guarded-delete-create.ts';
import { type Burial, placeTombstone } from './guarded-delete-tombstone.ts';
import type {
  DeleteFailure,
  DeleteTarget,
  ETag,
  ListOptions,
  ListPage,
  ObjectKey,
  ObjectStore,
  RequestOptions,
} from './object-store.ts';

export interface GuardedDeleteOptions {
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
const BATCH_TARGETS = 1_000;
/** The DELETE of a tombstone is not sent later than this: 60 s after it was placed others may take its place over. */
const BURIAL_MS = 30_000;

type GuardedTarget = DeleteTarget & { readonly ifMatch: ETag };

/**
 * Gives a store that honours conditions on PUT, but not on DELETE, an atomic guarded delete: PUT If-Match of a
 * tombstone, then one DELETE that is never resent. From the tombstone on the object is gone for every verb of this
 * store, so only a DELETE that is refused, not one without an answer, is a failure. Of common prefixes it cannot
 * tell whether only tombstones lie below, and a page of tombstones is an empty page.
 */
export function guardDeletes(store: ObjectStore, options: GuardedDeleteOptions = {}): ObjectStore {
  const random = options.random ?? osRandom;
  const wall = options.wallClock ?? Date.now;
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
        ? createPastTombstones({ store, key, body, ...request, ...patience })
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
    const plain = targets.filter((target) => target.ifMatch === undefined);
    const failures =
      guarded.length === 0 || plain.length > 0 ? [...(await store.delete(plain, request))] : [];
    for (let start = 0; start < guarded.length; start += BATCH_TARGETS) {
      const batch = guarded.slice(start, start + BATCH_TARGETS);
      failures.push(...(await deleteGuarded(batch, { alone: targets.length === 1, signal: request.signal })));
    }
    return failures;
  }

  async function deleteGuarded(
    targets: readonly GuardedTarget[],
    request: { readonly alone: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<readonly DeleteFailure[]> {
    const { alone, signal } = request;
    throwIfAborted(signal);
    const placedAt = moment();
    const burials = await sideBySide(targets, async (target) => {
      try {
        return await placeTombstone({ store, target, random, signal });
      } catch (error) {
        if (alone) throw error;
        return { key: target.key, error };
      }
    });
    const buried = burials.flatMap((burial) => (isFailure(burial) ? [] : [burial.buried]));
    return [...burials.filter(isFailure), ...(await bury(buried, placedAt))];
  }

  /** A frozen process may have stood still by one of its clocks. */
  function moment(): readonly [number, number] {
    return [patience.clock(), wall()];
  }

  function elapsedSince([monotonic, byWall]: readonly [number, number]): number {
    return Math.max(patience.clock() - monotonic, wall() - byWall);
  }

  /**
   * Not given up with the caller: what is begun here is cheaper to finish than to leave to others. A process that was
   * frozen in between leaves it to them all the same, because they may have put a new object in a tombstone's place.
   */
  async function bury(
    keys: readonly ObjectKey[],
    placedAt: readonly [number, number],
  ): Promise<readonly DeleteFailure[]> {
    if (keys.length === 0 || elapsedSince(placedAt) > BURIAL_MS) return [];
    try {
      const failures = await store.delete(keys.map((key) => ({ key })));
      return failures.flatMap((failure) =>
        'error' in failure && isRefusal(failure.error)
          ? [{ key: failure.key, error: refusedBurial(failure.error) }]
          : [],
      );
    } catch (error) {
      if (isRefusal(error)) throw refusedBurial(error);
      return [];
    }
  }

  async function* list(request: ListOptions): AsyncGenerator<ListPage, void, undefined> {
    for await (const page of store.list(request)) {
      yield { ...page, objects: page.objects.filter((object) => object.size !== TOMBSTONE_BYTES) };
    }
  }
}

/** The object is gone for this library, and its tombstone stays: the operator must hear of it. */
function refusedBurial(cause: unknown): MemoryError {
  return new MemoryError(
    'outcome_unknown',
    'An object was deleted, but its tombstone could not be removed.',
    {
      cause,
    },
  );
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
