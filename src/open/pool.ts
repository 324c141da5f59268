import { MemoryError, misconfigured } from '../errors.ts';
import { parseTenantId, type TenantId } from '../format/object-keys.ts';
import { createRollbackGuards, type RollbackGuard } from '../keys/rollback-guard.ts';
import { once } from '../time.ts';
import { type CommandOrder, createCommandOrder } from '../tool/command-order.ts';
import type { Memory } from '../tool/memory-tool.ts';
import { checkActor } from '../tree/session.ts';
import { createVersionCaches } from '../tree/version-cache.ts';
import { createVersionHistory, type VersionHistory } from '../tree/version-history.ts';
import { type CredentialSource, createCredentialSource } from './credential-source.ts';
import { refuseUnknownNames } from './known-names.ts';
import type { OpenMounts } from './mounts.ts';
import { judge } from './option-table.ts';
import type { MemoryOptions } from './options.ts';
import { readMounts, readSettings } from './settings.ts';
import { type AwsCredentials, type BaseStore, listTenants, openBaseStore } from './store.ts';
import { type OpenTenant, wireTenant } from './wire-tenant.ts';

export interface PoolOpenOptions {
  /**
   * Credentials that reach this tenant's objects, and the root key in KMS for this tenant, and no other's. The newest
   * that were given under a key are used from then on, whichever object they are; the keyring stays warm.
   */
  readonly credentials?: AwsCredentials | undefined;
  /**
   * What the credentials may do, in the caller's words. A tenant is warm once for each key, so give credentials of
   * other permissions another one. One key for all unless given.
   */
  readonly credentialsKey?: string | undefined;
  /**
   * The least epoch this tenant's keyring must have, from 1; of two calls the higher one counts. Unless given, the
   * pool's own.
   */
  readonly minimumEpoch?: number | undefined;
  /** Who asks, instead of the pool's own `actor`. */
  readonly actor?: string | undefined;
}

/** `mounts` are opened once, with credentials of their own or the pool's, and seen in every tenant's memory. */
export interface PoolOptions extends Omit<MemoryOptions, 'tenant'> {
  /**
   * How many tenants stay warm, 1–100,000; default 1,000. Above this limit idle tenants are evicted, least recently
   * used first: their keys are wiped, and the next `open` loads them again. Which keyring and which versions were seen
   * last, and which epoch was pinned, is kept of the 100,000 tenants that were opened last.
   */
  readonly maxTenants?: number | undefined;
}

/** Many tenants in one warm process: connections are shared; credentials, keyring and memory are per tenant. */
export interface MemoryPool extends AsyncDisposable {
  /**
   * The tenant's memory; opened again it is the same keyring and the same order of commands. Closing it leaves the
   * tenant warm. @throws MemoryError `misconfigured` for a malformed tenant id, and what `openMemory` fails with.
   */
  open(tenant: string, options?: PoolOpenOptions): Promise<Memory>;
  /** Closes every memory of the pool and what they share. */
  close(): Promise<void>;
}

/** A tenant of the pool, and a memory of it that its user closes. */
export interface PooledTenant extends OpenTenant {
  readonly memory: Memory;
}

/** A pool as entry points use it. */
export interface TenantPool extends AsyncDisposable {
  open(tenant: string, options?: PoolOpenOptions): Promise<PooledTenant>;
  /** The tenants that have a keyring, as far as the credentials of the process can list them. One LIST per 1,000. */
  tenants(): Promise<readonly TenantId[]>;
  close(): Promise<void>;
}

interface WarmTenant {
  readonly tenant: TenantId;
  readonly guard: RollbackGuard;
  readonly history: VersionHistory;
  readonly order: CommandOrder;
  minimumEpoch: number | undefined;
  /** By credentials key, the least recently used one first. */
  readonly keyed: Map<string | undefined, KeyedTenant>;
}

/** What is warm of a tenant under one credentials key. */
interface KeyedTenant {
  readonly source: CredentialSource | undefined;
  readonly parts: Promise<OpenTenant>;
  readonly memories: Set<Memory>;
  /** Calls of `open` that still wait for the parts. */
  opening: number;
}

const OPENING: ReadonlySet<string> = new Set<keyof PoolOpenOptions>([
  ...(['credentials', 'credentialsKey', 'minimumEpoch', 'actor'] as const),
]);
const DEFAULT_TENANTS = 1_000;
const MOST_TENANTS = 100_000;
/** Credentials keys of one tenant that stay warm. */
const MOST_KEYS = 16;

/**
 * Memories of many tenants that share one store and its connections, for a server: each is opened at its first use and
 * stays warm. Nothing is asked of the store here.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export function createMemoryPool(options: PoolOptions): MemoryPool {
  const pool = createTenantPool(options);
  return {
    open: async (tenant, request) => (await pool.open(tenant, request)).memory,
    close: pool.close,
    [Symbol.asyncDispose]: pool.close,
  };
}

/** @throws MemoryError `misconfigured` when an option is missing, unknown or malformed. */
export function createTenantPool({ maxTenants = DEFAULT_TENANTS, ...options }: PoolOptions): TenantPool {
  const settings = readSettings(options);
  if (settings.tenant !== undefined) {
    throw misconfigured('tenant is not an option of a pool: give it to open.');
  }
  judge({ kind: 'number', least: 1, most: MOST_TENANTS }, maxTenants, 'maxTenants');
  const points = readMounts(options);
  /** The least recently used one first. */
  const warm = new Map<TenantId, WarmTenant>();
  /** In use though their epoch is superseded; wiped with their last memory. */
  const superseded = new Set<KeyedTenant>();
  const guardOf = createRollbackGuards(MOST_TENANTS);
  const openCache = createVersionCaches(settings.cacheBytes);
  const histories = new WeakMap<RollbackGuard, VersionHistory>();
  let base: Promise<BaseStore> | undefined;
  let mounts: Promise<OpenMounts> | undefined;
  let closing: Promise<void> | undefined;

  const openBase = once(() => {
    base = openBaseStore(settings);
    return base;
  });

  const knownOf = (tenant: TenantId): Pick<WarmTenant, 'guard' | 'history'> => {
    const { guard, history } = warmUp(tenant);
    return { guard, history };
  };

  const openMountsOnce = once(() => {
    mounts = openBase().then(async (shared) => {
      const { openMounts } = await import('./mounts.ts');
      return openMounts(points, { base: shared, openCache, known: knownOf });
    });
    return mounts;
  });

  const warmUp = (tenant: TenantId): WarmTenant => {
    const known = warm.get(tenant);
    const guard = guardOf(tenant, known?.guard);
    const found = known ?? newTenant(tenant, guard);
    warm.delete(tenant);
    warm.set(tenant, found);
    return found;
  };

  const newTenant = (tenant: TenantId, guard: RollbackGuard): WarmTenant => {
    const history = histories.get(guard) ?? createVersionHistory();
    histories.set(guard, history);
    const order = createCommandOrder();
    return { tenant, guard, history, order, minimumEpoch: undefined, keyed: new Map() };
  };

  const wire = async (found: WarmTenant, source: CredentialSource | undefined): Promise<OpenTenant> => {
    const shared = await openBase();
    const credentials = source?.provider;
    const reached = credentials === undefined ? shared : shared.withCredentials(credentials);
    return wireTenant({ ...found, settings, base: reached, credentials, cache: openCache() });
  };

  const openKeyed = (found: WarmTenant, request: PoolOpenOptions): KeyedTenant => {
    const { credentials, credentialsKey = '' } = request;
    const key = credentials === undefined ? undefined : credentialsKey;
    const known = found.keyed.get(key);
    const entry = known ?? newKeyed(found, key, credentials);
    found.keyed.delete(key);
    found.keyed.set(key, entry);
    if (known?.source?.replace(credentials)) void forgetFailure(known);
    return entry;
  };

  const newKeyed = (
    found: WarmTenant,
    key: string | undefined,
    credentials: AwsCredentials | undefined,
  ): KeyedTenant => {
    const source = credentials && createCredentialSource(credentials);
    const parts = wire(found, source);
    const entry: KeyedTenant = { source, parts, memories: new Set(), opening: 0 };
    parts.catch(() => {
      if (found.keyed.get(key) === entry) found.keyed.delete(key);
    });
    return entry;
  };

  /** A higher epoch than was asked for before: keyrings in the cache may be below it. */
  const pin = (found: WarmTenant, epoch = 1): void => {
    if (epoch <= found.guard.minimumEpoch) return;
    found.minimumEpoch = epoch;
    for (const entry of found.keyed.values()) superseded.add(entry);
    found.keyed.clear();
  };

  /** Wipes what is superseded, and what is beyond the limits, as far as it is idle. */
  const evictSurplus = async ({ keyed }: WarmTenant): Promise<void> => {
    const evicted = [...superseded].filter(isIdle);
    evicted.push(...surplusOf(keyed, MOST_KEYS, isIdle));
    for (const tenant of surplusOf(warm, maxTenants, (each) => [...each.keyed.values()].every(isIdle))) {
      evicted.push(...tenant.keyed.values());
    }
    await Promise.all(evicted.map(wipe));
  };

  const wipe = async (entry: KeyedTenant): Promise<void> => {
    superseded.delete(entry);
    const [parts] = await Promise.allSettled([entry.parts]);
    if (parts.status === 'fulfilled') parts.value.wipe();
  };

  const closeAll = async (): Promise<void> => {
    const entries = [...[...warm.values()].flatMap(({ keyed }) => [...keyed.values()]), ...superseded];
    await Promise.all(entries.flatMap(({ memories }) => [...memories].map((memory) => memory.close())));
    await Promise.all(entries.map(wipe));
    const [mounted, opened] = await Promise.allSettled([mounts, base]);
    if (mounted.status === 'fulfilled') await mounted.value?.close();
    if (opened.status === 'fulfilled') await opened.value?.[Symbol.asyncDispose]();
  };

  const close = (): Promise<void> => {
    closing ??= closeAll();
    return closing;
  };

  const refuseWhenClosed = (): void => {
    if (closing !== undefined) throw new MemoryError('aborted', 'the pool is closed');
  };

  return {
    async open(id, request = {}) {
      refuseWhenClosed();
      refuseUnknownNames(Object.keys(request), { known: OPENING, what: 'an option of open' });
      const tenant = parseTenantId(id);
      const { actor } = request;
      if (actor !== undefined) checkActor(actor, 'actor');
      const found = warmUp(tenant);
      pin(found, request.minimumEpoch);
      const entry = openKeyed(found, request);
      entry.opening++;
      try {
        await evictSurplus(found);
        const parts = await entry.parts;
        refuseWhenClosed();
        const mounted = points.length === 0 ? undefined : await openMountsOnce();
        await Promise.all([parts.reach(), mounted?.reach()]);
        refuseWhenClosed();
        const onClose = async (): Promise<void> => {
          entry.memories.delete(memory);
          if (warm.get(tenant) === found) {
            warm.delete(tenant);
            warm.set(tenant, found);
          }
          await evictSurplus(found);
        };
        const memory = parts.openMemory(onClose, { seen: mounted?.over(parts.tree), actor });
        entry.memories.add(memory);
        return { ...parts, memory };
      } finally {
        entry.opening--;
      }
    },
    async tenants() {
      refuseWhenClosed();
      const { plain } = await openBase();
      return listTenants(plain, settings.prefix);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Removes idle entries from the map, the first ones first, until it is within the limit or none is idle. */
function surplusOf<K, V>(entries: Map<K, V>, most: number, isFree: (value: V) => boolean): V[] {
  const removed: V[] = [];
  for (const [key, value] of entries) {
    if (entries.size <= most) break;
    if (!isFree(value)) continue;
    entries.delete(key);
    removed.push(value);
  }
  return removed;
}

/** A failed load of the keyring is not remembered once its credentials have been replaced. */
async function forgetFailure({ parts }: KeyedTenant): Promise<void> {
  const [opened] = await Promise.allSettled([parts]);
  if (opened.status === 'fulfilled') opened.value.context.keyrings.forgetFailure();
}

function isIdle({ memories, opening }: KeyedTenant): boolean {
  return memories.size === 0 && opening === 0;
}
