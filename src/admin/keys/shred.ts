import { hasCode, MemoryError } from '../../errors.ts';
import { isShredMarker, SHRED_MARKER } from '../../format/keyring-bytes.ts';
import type { Layout } from '../../format/object-keys.ts';
import { LONGEST_TTL_MS } from '../../keys/keyring-cache.ts';
import {
  ageOf,
  type DatedMeta,
  knowsNoVersions,
  type ObjectStore,
  type ObjectVersions,
  type PutMode,
} from '../../store/port.ts';
import { removalFailure, removeVersions } from '../../store/remove-versions.ts';
import type { Pause } from '../../time.ts';
import { attempts, throwing } from '../../tree/concurrency.ts';

export type ShredProgress =
  /**
   * The marker is stored: only processes that still have the keys in their cache can seal or open until those expire.
   */
  | { readonly phase: 'marked' }
  /** `until`: the time at which the last such cache expires, milliseconds since the epoch by this machine's clock. */
  | { readonly phase: 'waiting'; readonly until: number; readonly remainingMs: number }
  | { readonly phase: 'versions'; readonly removed: number };

export interface ShredOptions {
  /**
   * The longest time that a process may still have the keys in its cache (milliseconds): the longest time to live in
   * use; 900,000 by default.
   */
  readonly ttlMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ShredProgress) => void) | undefined;
}

export interface ShredReport {
  /** True where this run put the marker there. False: an earlier run had put it there. */
  readonly marked: boolean;
  /**
   * The number of older versions of the keyring object that were removed; undefined where the store keeps none or
   * cannot tell.
   */
  readonly versionsRemoved: number | undefined;
  /** Sealed objects that stay, unreadable for good; plain tools may delete them. */
  readonly objects: number;
  /** The size of those objects. */
  readonly bytes: number;
}

interface ShredContext {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly versions?: ObjectVersions | undefined;
  readonly clock: () => number;
  readonly pause: Pause;
}

const ROUNDS = 32;
const TELL_AGAIN_MS = 10_000;
/** The most by which a true age may be less than it seems: S3 tells both of its times in whole seconds. */
const ROUNDED_MS = 1_000;

/**
 * Destroys the tenant's keys: a marker takes the keyring's place, which keeps writers from making it again, and once
 * every cache has expired the keyring's older versions are removed. It needs neither a root key nor a keyring that
 * opens. A run that was killed or aborted may be run again and continues where it was.
 *
 * @throws MemoryError `not_found` when nothing was ever written for this tenant; with `reason: 'versions_left'` when
 * the marker is stored but older versions of the keyring stay, or could not be listed: all that could be removed is
 * gone, `details.versions` counts the remaining ones, and another run takes them up; the errors of the store.
 */
export async function shredTenant(context: ShredContext, options: ShredOptions = {}): Promise<ShredReport> {
  const { ttlMs = LONGEST_TTL_MS, signal, onProgress } = options;
  let marked = false;
  for (let since = await mark(context, signal); ; since = await mark(context, signal)) {
    marked ||= since.written;
    onProgress?.({ phase: 'marked' });
    if (await expire(context, { ...since, ttlMs, signal, onProgress })) break;
  }
  const versionsRemoved = await removeOlder(context, options);
  return { marked, versionsRemoved, ...(await countObjects(context, signal)) };
}

interface Marker {
  readonly meta: DatedMeta;
  readonly written: boolean;
}

/** Puts the marker, and resolves once it certainly lies in the store. */
async function mark(context: ShredContext, signal: AbortSignal | undefined): Promise<Marker> {
  const { store, layout } = context;
  let written = false;
  const attempt = async (): Promise<Marker | 'again'> => {
    const meta = await store.head(layout.keyring, { signal });
    if (meta !== undefined && (await isMarker(context, meta, signal))) return { meta, written };
    if (meta === undefined && !(await isKnown(context, signal))) {
      throw new MemoryError('not_found', 'nothing was ever written for this tenant; is its name right?');
    }
    const mode: PutMode = meta === undefined ? 'create' : { ifMatch: meta.etag };
    try {
      const answer = await store.put(layout.keyring, SHRED_MARKER, { mode, signal });
      written ||= 'etag' in answer;
    } catch (error) {
      if (!hasCode(error, 'outcome_unknown')) throw error;
      written = true;
    }
    return 'again';
  };
  return attempts(
    ROUNDS,
    attempt,
    throwing('unavailable', 'The keyring kept being changed by another process.'),
  );
}

async function isMarker(
  { store, layout }: ShredContext,
  { size }: DatedMeta,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (size !== SHRED_MARKER.length) return false;
  const found = await store.get(layout.keyring, { signal, maxBytes: size });
  return typeof found === 'object' && isShredMarker(found.body);
}

/** Tells whether the tenant has any object besides the probe, or an older version of its keyring. */
async function isKnown(
  { store, layout, versions }: ShredContext,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for await (const { objects } of store.list({ prefix: layout.tenantPrefix, maxKeys: 10, signal })) {
    if (objects.some(({ key }) => key !== layout.probe)) return true;
  }
  try {
    for await (const page of versions?.list(layout.keyring, { signal }) ?? []) {
      if (page.length > 0) return true;
    }
  } catch (error) {
    if (!knowsNoVersions(error)) throw error;
  }
  return false;
}

/** Waits until the marker is older than every cache; false when another object has replaced it by then. */
async function expire(
  context: ShredContext,
  request: Marker & Required<Pick<ShredOptions, 'ttlMs'>> & ShredOptions,
): Promise<boolean> {
  const { store, layout, pause, clock } = context;
  const { ttlMs = LONGEST_TTL_MS, signal, onProgress } = request;
  const waitMs = ttlMs === 0 ? 0 : ttlMs + ROUNDED_MS;
  for (let { meta } = request; ; ) {
    const remainingMs = waitMs - ageOf(meta);
    if (remainingMs <= 0) return true;
    onProgress?.({ phase: 'waiting', until: clock() + remainingMs, remainingMs });
    await pause(Math.min(remainingMs, TELL_AGAIN_MS), signal);
    const now = await store.head(layout.keyring, { signal });
    if (now?.etag !== meta.etag) return false;
    meta = now;
  }
}

async function removeOlder(
  { versions, layout }: ShredContext,
  { signal, onProgress }: ShredOptions,
): Promise<number | undefined> {
  if (versions === undefined) return undefined;
  const removal = await removeVersions({
    versions,
    signal,
    listings: [() => versions.list(layout.keyring, { signal })],
    judge: async () => 'remove',
    onRemoved: (removed) => onProgress?.({ phase: 'versions', removed }),
  });
  if (removal === 'no_versions') return undefined;
  const failure = removalFailure(removal, {
    done: 'the keys are out of use',
    of: 'the keyring',
    actions: 's3:ListBucketVersions, s3:DeleteObjectVersion',
  });
  if (failure !== undefined) throw failure;
  return removal.removed;
}

async function countObjects(
  { store, layout }: ShredContext,
  signal: AbortSignal | undefined,
): Promise<{ readonly objects: number; readonly bytes: number }> {
  let [objects, bytes] = [0, 0];
  for await (const page of store.list({ prefix: layout.tenantPrefix, signal })) {
    for (const { key, size } of page.objects) {
      if (key === layout.probe) continue;
      objects += 1;
      bytes += size;
    }
  }
  return { objects, bytes };
}
