import { hasCode, hasReason, MemoryError } from '../errors.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import { createTombstone } from '../format/tombstone.ts';
import { createAges, type Pause } from '../time.ts';
import { FULL } from './failures.ts';
import {
  type DeleteFailure,
  type ETag,
  isResentConflict,
  type ObjectStore,
  resentConflict,
  type SendBound,
} from './port.ts';
import { settlePut } from './settle.ts';

interface BurialRequest {
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
 * @throws MemoryError `outcome_unknown` when it cannot be told whether the version was replaced; `isResentConflict`
 * knows the case where another version, or none, is there by now.
 */
export async function placeTombstone(request: BurialRequest): Promise<Burial | DeleteFailure> {
  const { store, target, random, signal, sendBy } = request;
  const { key, ifMatch } = target;
  const body = { bytes: createTombstone(random), sendBy };
  const placed = await settlePut(store, { key, mode: { ifMatch }, body, signal }).catch((error: unknown) => {
    throw hasReason(error, FULL) ? noRoomForTombstone(error) : error;
  });
  if (placed === 'replaced') throw resentConflict();
  if ('etag' in placed) return { buried: key };
  const isGone = placed.conflict === 'missing' || (await isAbsent(request));
  return { key, conflict: isGone ? 'missing' : 'changed' };
}

function noRoomForTombstone({ code, details, cause }: MemoryError): MemoryError {
  return new MemoryError(
    code,
    'The bucket is full, and a delete there first needs room for a few bytes: give it room, then delete again. Nothing was deleted.',
    { details, cause },
  );
}

async function isAbsent({ store, target, signal }: BurialRequest): Promise<boolean> {
  const found = await store.head(target.key, { signal });
  return found === undefined || found.size === TOMBSTONE_BYTES;
}

/**
 * The age from which another process takes over the place of a tombstone (milliseconds, the server's clock). By then
 * the DELETE of the process that placed it was sent and answered, or cancelled, more than two minutes ago: the rest is
 * for a network that delivers late. A network that delivers the DELETE even later than that could let it hit what took
 * the place.
 */
export const TAKEOVER_AGE_MS = 180_000;
/** A process that comes to the DELETE later than this after it began to place tombstones leaves them to others. */
const PLACING_MS = 30_000;
/** The longest life of the DELETE in milliseconds, from being decided to its answer. */
const DELETE_MS = 15_000;

type RefusedRemoval = Extract<DeleteFailure, { readonly error: unknown }>;

/** Removes tombstones of our own, if it is not too late for it. */
interface Removal {
  /**
   * One DELETE for up to a thousand, sent once. `left`: it was too late for it, or no answer tells what became of it;
   * the tombstones are taken over by others. Only a refusal that will not pass by itself is a failure.
   */
  remove(keys: readonly ObjectKey[]): Promise<readonly RefusedRemoval[] | 'left'>;
}

export interface RemovalTime {
  /** Milliseconds from any origin, never set back. */
  readonly clock: () => number;
  /** Milliseconds of the wall clock, which goes on while a process is frozen. */
  readonly wallClock: () => number;
  readonly pause: Pause;
}

/** Begins the time within which tombstones are placed and removed: it is called before the first of them is placed. */
export function beginRemoval(store: ObjectStore, time: RemovalTime): Removal {
  const placing = within(PLACING_MS, time);
  return {
    async remove(keys) {
      if (keys.length === 0) return [];
      if (placing.isPast()) return 'left';
      try {
        const failures = await whileAlive(time, ({ signal, sendBy }) =>
          store.delete(
            keys.map((key) => ({ key })),
            { signal, sendBy },
          ),
        );
        return failures.flatMap((failure) =>
          'error' in failure && isRefusal(failure.error)
            ? [{ key: failure.key, error: refusedRemoval(failure.error) }]
            : [],
        );
      } catch (error) {
        if (isRefusal(error)) throw refusedRemoval(error);
        return 'left';
      }
    },
  };
}

/** Runs the request under a bound that ends its sending, and a signal that ends its connection when it was sent. */
async function whileAlive<T>(
  time: RemovalTime,
  request: (life: { readonly sendBy: SendBound; readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const [life, answered] = [new AbortController(), new AbortController()];
  const sendBy = within(DELETE_MS, time);
  time.pause(DELETE_MS, answered.signal).then(
    () => life.abort(),
    () => {},
  );
  try {
    return await request({ sendBy, signal: life.signal });
  } finally {
    answered.abort();
  }
}

/** A bound that passes `ms` milliseconds from now, by whichever clock runs faster. */
function within(ms: number, { clock, wallClock }: RemovalTime): SendBound {
  const ages = createAges({ clock: wallClock, monotonic: clock });
  const since = ages.now();
  return { isPast: () => ages.elapsed(since) >= ms };
}

/** A refusal that will not pass by itself; anything else leaves at most a tombstone that others take over. */
function isRefusal(error: unknown): boolean {
  return hasCode(error, 'access_denied', 'misconfigured');
}

/** The object is gone for this library, and its tombstone stays: the operator must hear of it. */
function refusedRemoval(cause: unknown): MemoryError {
  return new MemoryError(
    'outcome_unknown',
    'An object was deleted, but its tombstone could not be removed.',
    {
      cause,
    },
  );
}

interface OldTombstones {
  /** The store itself, without the wrapper that hides tombstones. */
  readonly store: ObjectStore;
  readonly prefix: string;
  /** Younger ones belong to a process at work. At least 180,000. */
  readonly olderThanMs: number;
  readonly random: RandomBytes;
  readonly time: RemovalTime;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Removes the tombstones that deletes left behind when their process died, and returns how many. Each is first
 * replaced by a tombstone of our own: a young one, which no other process takes over or deletes.
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
      const target = { key, ifMatch: etag };
      const placed = await placeTombstone({ store, target, random, signal }).catch((error: unknown) => {
        // Something else took its place.
        if (isResentConflict(error)) return undefined;
        throw error;
      });
      if (placed === undefined || !('buried' in placed)) continue;
      const removed = await removal.remove([key]);
      if (removed === 'left') continue;
      const [failure] = removed;
      if (failure !== undefined) throw failure.error;
      buried++;
    }
  }
  return buried;
}
