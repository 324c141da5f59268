import { checkWholeNumber, MemoryError, type MemoryErrorCode } from '../errors.ts';
import { MAX_EPOCH } from '../format/keyring-bytes.ts';
import type { NameMode } from '../format/names.ts';
import type { Layout } from '../format/object-keys.ts';
import type { RandomBytes } from '../format/sodium.ts';
import { osRandom } from '../store/os-random.ts';
import type { ObjectStore, RequestOptions, SendBound } from '../store/port.ts';
import { createAges, type Instant, LONGEST_TTL_MS, sealingLimits } from './keyring-age.ts';
import { type SharedFlight, startFlight } from './keyring-flight.ts';
import { bringToLife, forget, type KeyringLife, type LoadedKeyring } from './keyring-life.ts';
import { createKeySearch, type KeySearch } from './keyring-search.ts';
import { createKeyringSource } from './keyring-source.ts';
import { type OpenedKeyring, type RollbackGuard, sameBytes } from './rollback-guard.ts';
import type { RootKey } from './root-key.ts';

export type { LoadedKeyring } from './keyring-life.ts';

export interface LoadRequest extends RequestOptions {
  /** Make the keyring when neither it nor data is there. */
  readonly create?: boolean | undefined;
}

/** One tenant's keyring, cached in the process. */
export interface KeyringStore {
  /**
   * The keyring, from the cache within its time to live; side by side calls share one load, and a failed load is
   * remembered for 10 s. Undefined, without `create`, when there is neither a keyring nor data.
   *
   * @throws MemoryError `key_unavailable` when the tenant was destroyed, its root key is not configured, or it has
   * data but no keyring; `integrity`; `unsupported_format`; `misconfigured` when the stored name mode is not the
   * configured one; what the store and the root key throw.
   */
  load(request?: LoadRequest): Promise<LoadedKeyring | undefined>;
  /** The keyring by a look that begins after this call, past the cache. It then takes the cache's place. */
  look(request?: RequestOptions): Promise<LoadedKeyring | undefined>;
  /**
   * For an object that names a key which the keyring lacks: the keyring by a look that began after somebody met an
   * object of that key id. One look for each id is free, up to 256 ids that nobody knows; beyond them there is one
   * look per 30 s, or per time to live where that is shorter. `'withheld'`: it was too early for another one, so
   * nothing is known of that key.
   */
  readonly lookFor: KeySearch;
  /** Until when what is sealed from now on may be sent: a quarter of the time to live, 15 s at least. */
  sendBy(): SendBound;
  /** Overwrites the keys; what was given out and every later call throws `aborted`. */
  close(): void;
}

export interface KeyringStoreOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** For creation, `encrypted` by default; when given, a stored keyring of the other mode is refused. */
  readonly nameMode?: NameMode | undefined;
  /** 0–900,000; 300,000 by default. Nothing is sealed with a keyring 5/3 as old, or a minute if that is longer. */
  readonly ttlMs?: number | undefined;
  /** What the process knows of the keyring already; nothing unless given. */
  readonly guard?: RollbackGuard | undefined;
  /** A keyring of a lower epoch is refused as `integrity`, and none is created when it is above 1. */
  readonly minimumEpoch?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly clock?: (() => number) | undefined;
  /** Milliseconds that never go back; unlike `clock` they may stand still while the process is frozen. */
  readonly monotonic?: (() => number) | undefined;
  readonly random?: RandomBytes | undefined;
}

interface Load {
  readonly flight: SharedFlight<LoadedKeyring | undefined>;
  readonly create: boolean;
  /** Whether its request may have been sent. */
  begun: boolean;
}

const DEFAULT_TTL_MS = 300_000;
const FAILURE_MS = 10_000;
const LOOK_MS = 30_000;

/** Failures after which keys in the cache are no longer to be used; the others may pass. */
const FINAL: ReadonlySet<MemoryErrorCode> = new Set<MemoryErrorCode>([
  'integrity',
  'key_unavailable',
  'unsupported_format',
  'misconfigured',
  'access_denied',
]);

/** @throws MemoryError `misconfigured` when `ttlMs` or `minimumEpoch` is out of range. */
export function createKeyringStore(options: KeyringStoreOptions): KeyringStore {
  const { layout, ttlMs = DEFAULT_TTL_MS, clock = Date.now, random = osRandom } = options;
  const { monotonic = () => performance.now(), minimumEpoch = 1 } = options;
  checkWholeNumber('the time to live of a keyring, in ms,', ttlMs, { least: 0, most: LONGEST_TTL_MS });
  checkWholeNumber('the minimum epoch', minimumEpoch, { least: 1, most: MAX_EPOCH });
  const { sealingMs, sendingMs } = sealingLimits(ttlMs);
  const ages = createAges({ clock, monotonic });
  const { now, isWithin } = ages;
  const source = createKeyringSource({ ...options, clock, random });
  /** The keys of this process, and when the newest load that found them began. */
  let live: { readonly life: KeyringLife; readonly bytes: Uint8Array; since: Instant } | undefined;
  let failure: { readonly error: unknown; readonly since: Instant } | undefined;
  let running: Load | undefined;
  let closed = false;

  function refuseClosed(): void {
    if (closed) throw closure();
  }

  function current(): Load | undefined {
    return running?.flight.abandoned ? undefined : running;
  }

  function start({ create }: Pick<Load, 'create'>): Load {
    const since = now();
    const before = current();
    const flight = startFlight(async (signal) => {
      await before?.flight.settled;
      load.begun = true;
      try {
        return keep(await source.fetch({ create, signal }), since, signal);
      } catch (error) {
        note(error, signal);
        throw error;
      } finally {
        if (running === load) running = undefined;
      }
    });
    const load: Load = { flight, create, begun: false };
    running = load;
    return load;
  }

  function keep(
    opened: OpenedKeyring | undefined,
    since: Instant,
    signal: AbortSignal,
  ): LoadedKeyring | undefined {
    if (signal.aborted) {
      if (opened !== undefined) forget(opened.keyring);
      throw new MemoryError('aborted', 'the load of the keyring was given up');
    }
    failure = undefined;
    if (opened === undefined) return undefined;
    const { keyring, bytes } = opened;
    if (live !== undefined && sameBytes(live.bytes, bytes)) {
      forget(keyring);
      live.since = since;
      return live.life.loaded;
    }
    const predecessor = live?.life;
    const life = bringToLife(keyring, { tenant: layout.tenant, predecessor, beforeSealing });
    predecessor?.yieldTo(life);
    live = { life, bytes, since };
    return life.loaded;
  }

  /**
   * A process that stood still may hold keys that are retired by now. A long verb has them looked for anew in time,
   * in the background.
   */
  function beforeSealing(): void {
    if (live === undefined || isWithin(live.since, ttlMs)) return;
    if (!isWithin(live.since, LOOK_MS)) void load().catch(() => {});
    if (isWithin(live.since, sealingMs)) return;
    throw new MemoryError('unavailable', 'the keyring in this process is too old to seal with; try again');
  }

  function note(error: unknown, signal: AbortSignal): void {
    const code = error instanceof MemoryError ? error.code : undefined;
    if (signal.aborted || code === 'aborted') return;
    failure = { error, since: now() };
    if (error instanceof MemoryError && FINAL.has(error.code)) drop(error);
  }

  function drop(reason: MemoryError): void {
    live?.life.end(reason);
    live = undefined;
  }

  async function load({ create = false, signal }: LoadRequest = {}): Promise<LoadedKeyring | undefined> {
    for (let looks = 1; ; looks++) {
      refuseClosed();
      if (live !== undefined && isWithin(live.since, ttlMs)) return live.life.loaded;
      if (failure !== undefined && isWithin(failure.since, FAILURE_MS)) throw failure.error;
      const earlier = current();
      const joined = earlier ?? start({ create });
      const loaded = await joined.flight.join(signal);
      if (loaded !== undefined || joined.create) return loaded;
      // A look that began before this call may have missed a keyring that was created before it.
      const isFresh = earlier === undefined || looks > 1;
      if (isFresh && !create) return undefined;
    }
  }

  async function look({ signal }: RequestOptions = {}): Promise<LoadedKeyring | undefined> {
    refuseClosed();
    const waiting = current();
    const { flight } = waiting?.begun === false ? waiting : start({ create: false });
    return flight.join(signal);
  }

  return {
    load,
    look,
    lookFor: createKeySearch({ ages, everyMs: Math.min(LOOK_MS, ttlMs), look, load }),
    sendBy: () => ages.boundIn(sendingMs),
    close() {
      closed = true;
      running?.flight.abandon();
      drop(closure());
    },
  };
}

function closure(): MemoryError {
  return new MemoryError('aborted', 'the keyring was closed');
}
