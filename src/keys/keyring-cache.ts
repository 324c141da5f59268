import { checkWholeNumber, MemoryError, type MemoryErrorCode } from '../errors.ts';
import { sameBytes } from '../format/encoding.ts';
import { MAX_EPOCH } from '../format/keyring-bytes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import { osRandom } from '../store/os-random.ts';
import type { RequestOptions, SendBound } from '../store/port.ts';
import { createAges, type Instant, type SharedWork, shareWork } from '../time.ts';
import { createKeySearch, type KeySearch } from './key-search.ts';
import { forget } from './keyring.ts';
import { createKeyringEditor, type KeyringEditorOptions } from './keyring-editor.ts';
import { type ActiveKeyring, activate, type LoadedKeyring } from './loaded-keyring.ts';
import type { OpenedKeyring } from './rollback-guard.ts';

export type { LoadedKeyring } from './loaded-keyring.ts';

/** One tenant's keyring, cached in the process. */
export interface KeyringCache {
  /**
   * The keyring, from the cache within its time to live, in whose last fifth a call loads it ahead beside its answer;
   * concurrent calls share one load, and a failed load is remembered for 10 s, one that may pass by itself for 1 s.
   * Undefined when there is neither a keyring nor data; with `create` one is made then.
   *
   * @throws MemoryError `key_unavailable` when the tenant was destroyed, its root key is not configured, or it has
   * data but no keyring; `integrity`; `unsupported_format`; `misconfigured` when the stored name mode is not the
   * configured one; what the store and the root key throw.
   */
  load(
    request?: RequestOptions & { readonly create?: boolean | undefined },
  ): Promise<LoadedKeyring | undefined>;
  /** The keyring by a look that begins after this call, past the cache. It then takes the cache's place. */
  look(request?: RequestOptions): Promise<LoadedKeyring | undefined>;
  /**
   * For an object that names a key which the keyring lacks: the keyring by a look that began after an object of that
   * key id was met. One look for each id is free, up to 256 ids that the keyring lacks; beyond them there is one look
   * per 30 s, or per time to live where that is shorter.
   */
  readonly lookFor: KeySearch;
  /** Until when what is sealed from now on may be sent: a quarter of the time to live, 15 s at least. */
  sendBy(): SendBound;
  /** The next call asks the store again though a load has just failed: what it failed for has changed. */
  forgetFailure(): void;
  /** Overwrites the keys; what was given out and every later call throws `aborted`. */
  close(): void;
}

export interface KeyringCacheOptions extends Omit<KeyringEditorOptions, 'clock' | 'random'> {
  /** 0–900,000; 300,000 by default. Nothing is sealed with a keyring 5/3 as old, or a minute if that is longer. */
  readonly ttlMs?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly clock?: (() => number) | undefined;
  /** The times that are written into a keyring, milliseconds since the epoch; `clock` unless given. */
  readonly stamp?: (() => number) | undefined;
  /** Milliseconds that never go back; unlike `clock` they may stand still while the process is frozen. */
  readonly monotonic?: (() => number) | undefined;
  readonly random?: RandomBytes | undefined;
}

interface Load extends SharedWork<LoadedKeyring | undefined> {
  /** Whether its request may have been sent. */
  readonly hasBegun: () => boolean;
}

/** The longest time to live that a process may give its keyring, in milliseconds. */
export const LONGEST_TTL_MS = 900_000;
/** The least time to live that counts when keys are retired, in milliseconds. */
export const LEAST_TTL_MS = 60_000;
const DEFAULT_TTL_MS = 300_000;
/** A tenant key may be retired two times to live after the keyring was written that rotated it out. */
const SEALING_TTLS = 5 / 3;
/** The rest of the third that is left is for clocks that tell whole seconds, and for clocks that run apart. */
const SENDING_TTLS = 1 / 4;
const FAILURE_MS = 10_000;
const PASSING_FAILURE_MS = 1_000;
const LOOK_MS = 30_000;
/** In the last fifth of the time to live the keyring is loaded ahead, so that nobody waits for a slow root key. */
const AHEAD_TTLS = 4 / 5;
/** A load that others wait for may take so long however short the time to live is. */
const SLOW_LOAD_MS = 1_000;
/** How often a call waits for the keyring. */
const LOADS = 8;

/** Failures after which keys in the cache are no longer to be used; the others may pass. */
const FINAL: ReadonlySet<MemoryErrorCode> = new Set<MemoryErrorCode>([
  'integrity',
  'key_unavailable',
  'unsupported_format',
  'misconfigured',
  'access_denied',
]);

/** @throws MemoryError `misconfigured` when `ttlMs` or `minimumEpoch` is out of range. */
export function createKeyringCache(options: KeyringCacheOptions): KeyringCache {
  const { layout, ttlMs = DEFAULT_TTL_MS, minimumEpoch = 1 } = options;
  const { clock = Date.now, monotonic = () => performance.now(), random = osRandom } = options;
  checkWholeNumber('the time to live of a keyring, in ms,', ttlMs, { least: 0, most: LONGEST_TTL_MS });
  checkWholeNumber('the minimum epoch', minimumEpoch, { least: 1, most: MAX_EPOCH });
  const sealingMs = Math.max(LEAST_TTL_MS, ttlMs * SEALING_TTLS);
  const sendingMs = Math.max(LEAST_TTL_MS, ttlMs) * SENDING_TTLS;
  const ages = createAges({ clock, monotonic });
  const { now, isWithin } = ages;
  const editor = createKeyringEditor({ ...options, clock: options.stamp ?? clock, random });
  /** The keys of this process, and when the newest load that found them began. */
  let live: { readonly active: ActiveKeyring; readonly bytes: Uint8Array; since: Instant } | undefined;
  let failure:
    | { readonly error: unknown; readonly since: Instant; readonly rememberedMs: number }
    | undefined;
  let running: Load | undefined;
  let closed = false;

  function refuseClosed(): void {
    if (closed) throw closure();
  }

  function current(): Load | undefined {
    return running?.abandoned ? undefined : running;
  }

  function start(create: boolean): Load {
    const since = now();
    const before = current();
    let begun = false;
    const shared = shareWork(async (signal) => {
      await before?.settled;
      begun = true;
      try {
        return keep(await editor.fetch({ create, signal }), since, signal);
      } catch (error) {
        note(error, signal);
        throw error;
      } finally {
        if (running === load) running = undefined;
      }
    });
    const load: Load = Object.assign(shared, { hasBegun: () => begun });
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
      throw closure();
    }
    failure = undefined;
    if (opened === undefined) return undefined;
    const { keyring, bytes } = opened;
    if (live !== undefined && sameBytes(live.bytes, bytes)) {
      forget(keyring);
      live.since = since;
      return live.active.loaded;
    }
    const predecessor = live?.active;
    const active = activate(keyring, { tenant: layout.tenant, predecessor, beforeSealing });
    predecessor?.yieldTo(active);
    live = { active, bytes, since };
    return active.loaded;
  }

  /**
   * A process that stood still may hold keys that are retired by now. A command that seals for long has them loaded
   * again in time, in the background.
   */
  function beforeSealing(): void {
    if (live === undefined || isWithin(live.since, Math.max(ttlMs, LOOK_MS))) return;
    void load().catch(() => {});
    if (isWithin(live.since, sealingMs)) return;
    throw new MemoryError('unavailable', 'The keyring in this process is too old to seal with; try again.');
  }

  function note(error: unknown, signal: AbortSignal): void {
    const code = error instanceof MemoryError ? error.code : undefined;
    if (signal.aborted || code === 'aborted') return;
    const mayPass = !(error instanceof MemoryError) || error.retry !== 'never';
    failure = { error, since: now(), rememberedMs: mayPass ? PASSING_FAILURE_MS : FAILURE_MS };
    if (error instanceof MemoryError && FINAL.has(error.code)) drop(error);
  }

  function drop(reason: MemoryError): void {
    live?.active.end(reason);
    live = undefined;
  }

  function isRecent(since: Instant): boolean {
    return isWithin(since, Math.max(ttlMs, SLOW_LOAD_MS));
  }

  /** Loads the keyring before it is too old. Its time to live counts from the beginning of this load. */
  function loadAhead(since: Instant): void {
    if (isWithin(since, ttlMs * AHEAD_TTLS) || current() !== undefined) return;
    if (failure !== undefined && isWithin(failure.since, FAILURE_MS)) return;
    start(false)
      .join()
      .catch(() => {});
  }

  async function load({
    create = false,
    signal,
  }: Parameters<KeyringCache['load']>[0] = {}): Promise<LoadedKeyring | undefined> {
    for (let looks = 1; ; looks++) {
      refuseClosed();
      if (live !== undefined && isWithin(live.since, ttlMs)) {
        loadAhead(live.since);
        return live.active.loaded;
      }
      if (failure !== undefined && isWithin(failure.since, failure.rememberedMs)) throw failure.error;
      const earlier = current();
      const loaded = await (earlier ?? start(create)).join(signal);
      if (loaded !== undefined) {
        // One that began before this call: to a process that stood still it says what was there long ago.
        const isLate = earlier !== undefined && live !== undefined && !isRecent(live.since);
        if (!isLate || looks === LOADS) return loaded;
        continue;
      }
      // A look that began before this call may have missed a keyring that was created before it.
      const isFresh = earlier === undefined || looks > 1;
      if (isFresh && !create) return undefined;
    }
  }

  async function look({ signal }: RequestOptions = {}): Promise<LoadedKeyring | undefined> {
    refuseClosed();
    const waiting = current();
    const shared = waiting?.hasBegun() === false ? waiting : start(false);
    return shared.join(signal);
  }

  return {
    load,
    look,
    lookFor: createKeySearch({ ages, everyMs: Math.min(LOOK_MS, ttlMs), look, load }),
    sendBy: () => ages.boundIn(sendingMs),
    forgetFailure() {
      failure = undefined;
    },
    close() {
      closed = true;
      running?.abandon();
      drop(closure());
    },
  };
}

function closure(): MemoryError {
  return new MemoryError('aborted', 'The keyring was closed.');
}
