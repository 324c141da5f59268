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
   * Loads the keyring, from the cache within its time to live; in the last fifth of that time a call also begins to
   * load it ahead. Concurrent calls share one load, and a failed load is remembered for 10 s, one that may pass by
   * itself for 1 s. Undefined when both keyring and data are missing; with `create` one is made then.
   *
   * @throws MemoryError `key_unavailable` when the tenant was destroyed, its root key is not configured, or it has data
   * but no keyring; `tenant_unknown`; `integrity`; `unsupported_format`; `misconfigured` when the stored name mode is
   * not the configured one; the errors of the store and the root key.
   */
  load(
    request?: RequestOptions & { readonly create?: boolean | undefined },
  ): Promise<LoadedKeyring | undefined>;
  /** Reads the keyring by a look that begins after this call, past the cache. It then takes the cache's place. */
  look(request?: RequestOptions): Promise<LoadedKeyring | undefined>;
  /**
   * Searches the keyring for the key of an object that the cached keyring lacks, by a look that began after an object
   * of that key id was met. One look for each id is free, up to 256 ids that the keyring lacks; beyond them the search
   * looks once per 30 s, or per time to live where that is shorter.
   */
  readonly lookFor: KeySearch;
  /** Answers until when bytes that are sealed from now on may be sent: a quarter of the time to live, 15 s at least. */
  sendBy(): SendBound;
  /** Forgets a failed load, whose cause has changed: the next call asks the store again. */
  forgetFailure(): void;
  /** Overwrites the keys; every key handed out and every later call throws `aborted`. */
  close(): void;
}

export interface KeyringCacheOptions extends Omit<KeyringEditorOptions, 'clock' | 'random'> {
  /**
   * The time to live of the cached keyring, 0–900,000 ms; 300,000 by default. Sealing stops with a keyring 5/3 as old,
   * or a minute if that is longer.
   */
  readonly ttlMs?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly clock?: (() => number) | undefined;
  /** The times that are written into a keyring, milliseconds since the epoch; `clock` unless given. */
  readonly stamp?: (() => number) | undefined;
  /** Milliseconds from any origin, never set back; unlike `clock` they may stand still while the process is frozen. */
  readonly monotonic?: (() => number) | undefined;
  readonly random?: RandomBytes | undefined;
}

interface Load extends SharedWork<LoadedKeyring | undefined> {
  /** Tells whether its request may have been sent. */
  readonly hasBegun: () => boolean;
}

/** The longest time to live that a process may give its keyring, in milliseconds. */
export const LONGEST_TTL_MS = 900_000;
/** The least time to live that counts when keys are retired, in milliseconds. */
export const LEAST_TTL_MS = 60_000;
const DEFAULT_TTL_MS = 300_000;
/**
 * The times to live for which a keyring seals. A tenant key may be retired two times to live after the keyring was
 * written that rotated it out.
 */
const SEALING_TTLS = 5 / 3;
/**
 * The times to live for which sealed bytes may be sent. The rest of the remaining third is for clocks that tell whole
 * seconds, and for clocks that run apart.
 */
const SENDING_TTLS = 1 / 4;
const FAILURE_MS = 10_000;
const PASSING_FAILURE_MS = 1_000;
const LOOK_MS = 30_000;
/**
 * The part of the time to live after which the keyring is loaded ahead, in its last fifth, so that callers do not wait
 * for a slow root key.
 */
const AHEAD_TTLS = 4 / 5;
/** The least time that a load for waiting callers may take, however short the time to live is (milliseconds). */
const SLOW_LOAD_MS = 1_000;
/** The most times that a call waits for the keyring. */
const LOADS = 8;

/** Failures after which cached keys must not be used any more; all others may pass. */
const FINAL: ReadonlySet<MemoryErrorCode> = new Set<MemoryErrorCode>([
  'integrity',
  'key_unavailable',
  'unsupported_format',
  'misconfigured',
  'access_denied',
]);

/**
 * Makes the cache of one tenant's keyring.
 *
 * @throws MemoryError `misconfigured` when `ttlMs` or `minimumEpoch` is out of range.
 */
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
      await before?.ended;
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
   * Refuses to seal with keys that are too old: a process that stood still may hold keys that are retired by now. A
   * command that seals for long has them loaded again in time, in the background.
   *
   * @throws MemoryError `unavailable`.
   */
  function beforeSealing(): void {
    if (live === undefined || isWithin(live.since, Math.max(ttlMs, LOOK_MS))) return;
    void load().catch(() => {});
    if (isWithin(live.since, sealingMs)) return;
    const cause = failure?.error;
    throw new MemoryError('unavailable', 'The keyring in this process is too old to seal with; try again.', {
      cause,
    });
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
        // The earlier load began before this call: to a process that stood still it tells only the state of long ago.
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
