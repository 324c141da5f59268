import { type BaseStore, openBaseStore } from '../store/open-store.ts';
import type { Memory } from '../tool/memory-tool.ts';
import type { Tree } from '../tree/tree.ts';
import { createVersionCaches, type VersionCache } from '../tree/version-cache.ts';
import { openViews } from './open-views.ts';
import type { MemoryOptions } from './options/options.ts';
import {
  type MountPoint,
  readMounts,
  readSettings,
  requireTenant,
  type Settings,
} from './options/settings.ts';
import { type OpenTenant, wireTenant } from './wire-tenant.ts';

/**
 * Opens one tenant's memory: when this resolves the store was reached and the tenant's keyring opened, unless `lazy` is
 * set. Opening writes nothing, so a tenant begins with its first write. Options come from the caller alone:
 * `optionsFromEnvironment()` makes them of the environment.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed, or the place does not exist;
 * `access_denied`, `key_unavailable`, `unavailable` and the like. The message says what to do next.
 */
export function openMemory(options: MemoryOptions): Promise<Memory> {
  return openMemoryUntil(options, undefined);
}

/**
 * Opens a memory as `openMemory` does, and gives up when `signal` fires; settings of single tenants are waited for.
 *
 * @throws MemoryError as `openMemory`; `aborted`.
 */
export async function openMemoryUntil(
  options: MemoryOptions,
  signal: AbortSignal | undefined,
): Promise<Memory> {
  if (Object(options).tenants !== undefined) return (await import('./pool.ts')).openPooled(options);
  const opened = await openMounted(options);
  try {
    await opened.reach(signal);
    return opened.openMemory();
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** One tenant's memory with its mounts, before the store is reached. */
interface MountedTenant {
  /** The tenant's own tree, without its mounts. */
  readonly own: Tree;
  /**
   * Reaches the tenant and its mounts.
   *
   * @throws MemoryError as `openMemory`; `aborted`.
   */
  reach(signal?: AbortSignal): Promise<void>;
  /** Opens the memory; closing the memory closes the rest. */
  openMemory(): Memory;
  close(): Promise<void>;
}

/**
 * Opens a tenant and its mounts, without a request to the store.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export async function openMounted(options: MemoryOptions): Promise<MountedTenant> {
  const { parts, settings, points, base, openCache, close } = await openTenant(options);
  if (points.length === 0) {
    const openMemory = (): Memory => parts.openMemory(close);
    return { own: parts.tree, reach: (signal) => parts.reach({ signal }), openMemory, close };
  }
  try {
    const { openMounts } = await import('./mounts.ts');
    const mounts = await openMounts(points, { base, openCache, isReadOnly: settings.readOnly });
    const closeAll = async (): Promise<void> => {
      await mounts.close();
      await close();
    };
    return {
      own: parts.tree,
      async reach(signal) {
        await Promise.all([parts.reach({ signal }), mounts.reach(signal)]);
      },
      openMemory: () => parts.openMemory(closeAll, { seen: mounts.over(parts.tree) }),
      close: closeAll,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the parts of one tenant's memory, with the function that closes them. */
export async function openTenant(given: MemoryOptions): Promise<{
  readonly parts: OpenTenant;
  readonly settings: Settings;
  /** The tenant's mounts, still to be opened. */
  readonly points: readonly MountPoint[];
  readonly base: BaseStore;
  /** Makes caches that share their room with the tenant's own. */
  readonly openCache: () => VersionCache;
  close(): Promise<void>;
}> {
  // A caller without types may give anything else than an object.
  const options: MemoryOptions = Object(given);
  const judged = readSettings(options);
  const tenant = requireTenant(judged);
  const shared = { settings: judged, points: readMounts(options) };
  // A tenant that is opened so lives for a few verbs, so its settings are asked for once.
  const { settings, points } = await openViews(options, shared)(tenant).of();
  const base = await openBaseStore(settings);
  const openCache = createVersionCaches(settings.cache.bytes);
  const parts = await wireTenant({ settings, points, base, tenant, cache: openCache() });
  return {
    parts,
    settings,
    points,
    base,
    openCache,
    async close() {
      parts.wipe();
      await base[Symbol.asyncDispose]();
    },
  };
}
