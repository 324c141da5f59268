import type { TenantId } from '../format/object-keys.ts';
import { createRollbackGuards, type RollbackGuard } from '../keys/rollback-guard.ts';
import {
  type AwsCredentials,
  type CredentialSource,
  createCredentialSource,
} from '../store/s3/callers-credentials.ts';
import { type CommandOrder, createCommandOrder } from '../tool/command-order.ts';
import { createSightings, type Sightings } from '../tree/sightings.ts';
import type { CurrentView, TenantView } from './current-view.ts';
import type { OpenMounts } from './mounts.ts';
import type { OpenTenant } from './wire-tenant.ts';

export interface WarmTenant {
  readonly tenant: TenantId;
  readonly guard: RollbackGuard;
  readonly sightings: Sightings;
  readonly order: CommandOrder;
  /** The options as they are for the tenant now. */
  readonly current: CurrentView;
  minimumEpoch: number | undefined;
  /** The tenant under each credentials key, the least recently used one first. */
  readonly keyed: Map<string | undefined, KeyedTenant>;
}

/** Somebody who has a memory over warm parts, which a pool that closes closes as well. */
export interface PartsUser {
  close(): Promise<void>;
}

/** The warm parts of a tenant, and the memories that are mounted in it alone. */
export interface WarmParts extends OpenTenant {
  readonly mounts: OpenMounts | undefined;
}

/** The warm parts of a tenant under one credentials key. */
export interface KeyedTenant {
  readonly source: CredentialSource | undefined;
  /** The options with which the parts were wired. */
  readonly view: TenantView;
  readonly parts: Promise<WarmParts>;
  /** Those for whom the parts stay warm. */
  readonly memories: Set<PartsUser>;
  /** Calls of `open` that still wait for the parts. */
  opening: number;
}

/** The tenants that a pool keeps warm, and which of them it evicts. */
interface WarmTenants {
  /** Answers the tenant, which then counts as the one used last. */
  use(tenant: TenantId): WarmTenant;
  /** Counts a tenant that is still warm as the one used last. */
  touch(found: WarmTenant): void;
  /** Pins a higher epoch than before: the cached keyrings, which may be below it, are loaded again. */
  pin(found: WarmTenant, epoch?: number): void;
  /**
   * Answers the warm parts under the credentials key, with the newest credentials; wires them where there are none, or
   * where these were wired with other options. Keys that other root keys wrap are wiped at once.
   */
  useKeyed(
    found: WarmTenant,
    request: {
      readonly credentials?: AwsCredentials | undefined;
      readonly credentialsKey?: string | undefined;
      readonly view: TenantView;
      /** The parts that a memory leaves: it goes on with the credentials that they have now, not with its first ones. */
      readonly left?: KeyedTenant | undefined;
    },
  ): KeyedTenant;
  /** Wipes idle parts: those that are superseded, and those beyond the limits. */
  evictSurplus(found: WarmTenant): Promise<void>;
  /** Closes every memory and wipes every tenant, idle or not. */
  closeAll(): Promise<void>;
}

/** The most tenants that are warm, and the most whose rollback guard is kept. */
export const MOST_TENANTS = 100_000;
/** The most credentials keys of one tenant that stay warm. */
const MOST_KEYS = 16;

export function createWarmTenants({
  maxTenants,
  viewOf,
  wire,
}: {
  readonly maxTenants: number;
  readonly viewOf: (tenant: TenantId) => CurrentView;
  /** Begins to load a tenant's parts. */
  readonly wire: (found: WarmTenant, given: Pick<KeyedTenant, 'source' | 'view'>) => Promise<WarmParts>;
}): WarmTenants {
  /** The warm tenants, the least recently used one first. */
  const warm = new Map<TenantId, WarmTenant>();
  /** Parts in use though their epoch is superseded; wiped with their last memory. */
  const superseded = new Set<KeyedTenant>();
  const guardOf = createRollbackGuards(MOST_TENANTS);
  const sightingsOf = new WeakMap<RollbackGuard, Sightings>();

  const newTenant = (tenant: TenantId, guard: RollbackGuard): WarmTenant => {
    const sightings = sightingsOf.get(guard) ?? createSightings();
    sightingsOf.set(guard, sightings);
    const order = createCommandOrder();
    const current = viewOf(tenant);
    return { tenant, guard, sightings, order, current, minimumEpoch: undefined, keyed: new Map() };
  };

  const newKeyed = (
    found: WarmTenant,
    key: string | undefined,
    { source, view }: Pick<KeyedTenant, 'source' | 'view'>,
  ): KeyedTenant => {
    const parts = wire(found, { source, view });
    const entry: KeyedTenant = { source, view, parts, memories: new Set(), opening: 0 };
    parts.catch(() => {
      if (found.keyed.get(key) === entry) found.keyed.delete(key);
    });
    return entry;
  };

  const wipe = async (entry: KeyedTenant): Promise<void> => {
    superseded.delete(entry);
    await wipeKeys(entry);
    const [parts] = await Promise.allSettled([entry.parts]);
    if (parts.status === 'fulfilled') await parts.value.mounts?.close();
  };

  return {
    use(tenant) {
      const known = warm.get(tenant);
      const guard = guardOf(tenant, known?.guard);
      const found = known ?? newTenant(tenant, guard);
      placeLast(warm, tenant, found);
      return found;
    },
    touch(found) {
      if (warm.get(found.tenant) === found) placeLast(warm, found.tenant, found);
    },
    pin(found, epoch = 1) {
      if (epoch <= found.guard.minimumEpoch) return;
      found.minimumEpoch = epoch;
      // The guard outlives the tenant, which may be evicted before its keyring is loaded.
      found.guard.pin(epoch);
      for (const entry of found.keyed.values()) superseded.add(entry);
      found.keyed.clear();
    },
    useKeyed(found, { credentials, credentialsKey = '', view, left }) {
      const key = credentials === undefined ? undefined : credentialsKey;
      const known = found.keyed.get(key);
      const isCurrent = known?.view === view;
      if (known !== undefined && !isCurrent) {
        superseded.add(known);
        if (known.view.keys !== view.keys) void wipeKeys(known);
      }
      const source = known?.source ?? left?.source ?? (credentials && createCredentialSource(credentials));
      const entry = known !== undefined && isCurrent ? known : newKeyed(found, key, { source, view });
      placeLast(found.keyed, key, entry);
      if (left === undefined && known?.source?.replace(credentials)) void forgetFailure(entry);
      return entry;
    },
    async evictSurplus({ keyed }) {
      const evicted = [...superseded].filter(isIdle);
      evicted.push(...surplusOf(keyed, MOST_KEYS, isIdle));
      for (const tenant of surplusOf(warm, maxTenants, (each) => [...each.keyed.values()].every(isIdle))) {
        evicted.push(...tenant.keyed.values());
      }
      await Promise.all(evicted.map(wipe));
    },
    async closeAll() {
      const entries = [...[...warm.values()].flatMap(({ keyed }) => [...keyed.values()]), ...superseded];
      await Promise.all(entries.flatMap(({ memories }) => [...memories].map((memory) => memory.close())));
      await Promise.all(entries.map(wipe));
    },
  };
}

function placeLast<K, V>(entries: Map<K, V>, key: K, value: V): void {
  entries.delete(key);
  entries.set(key, value);
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

/** Wipes the keys and the held files, and leaves what is open in it to refuse. */
async function wipeKeys({ parts }: KeyedTenant): Promise<void> {
  const [opened] = await Promise.allSettled([parts]);
  if (opened.status === 'fulfilled') opened.value.wipe();
}

/** Makes a keyring cache forget a failed load, once the credentials behind it have been replaced. */
async function forgetFailure({ parts }: KeyedTenant): Promise<void> {
  const [opened] = await Promise.allSettled([parts]);
  if (opened.status === 'fulfilled') opened.value.context.keyrings.forgetFailure();
}

function isIdle({ memories, opening }: KeyedTenant): boolean {
  return memories.size === 0 && opening === 0;
}
