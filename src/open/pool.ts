import { MemoryError, misconfigured } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import { type BaseStore, openBaseStore } from '../store/open-store.ts';
import { type AwsCredentials, answeredInTime } from '../store/s3/callers-credentials.ts';
import { once } from '../time.ts';
import type { Memory } from '../tool/memory-tool.ts';
import { checkActor } from '../tree/tenant.ts';
import { createVersionCaches } from '../tree/version-cache.ts';
import type { OwnTurn, TenantView } from './current-view.ts';
import { followKeyrings, type PlaceNow } from './followed-tree.ts';
import type { OpenableMount, OpenMounts } from './mounts.ts';
import { openViews } from './open-views.ts';
import { refuseUnknownNames } from './options/known-names.ts';
import { judge, readTenant } from './options/option-table.ts';
import type { MemoryOptions } from './options/options.ts';
import {
  type MountPoint,
  readMounts,
  readSettings,
  requireTenant,
  type Settings,
} from './options/settings.ts';
import {
  createWarmTenants,
  type KeyedTenant,
  MOST_TENANTS,
  type PartsUser,
  type WarmParts,
  type WarmTenant,
} from './warm-tenants.ts';
import { type MemoryPlace, type OpenTenant, wireTenant } from './wire-tenant.ts';

export interface PoolOpenOptions {
  /**
   * Credentials that reach the objects of this tenant alone, and the root key in KMS for it. The newest ones that were
   * given under a key are used from then on, whichever object they are; the keyring stays warm.
   */
  readonly credentials?: AwsCredentials | undefined;
  /**
   * A name, in the caller's words, for the permissions of the credentials. A tenant is warm once for each key, so give
   * credentials with other permissions another one. Default: one key for all.
   */
  readonly credentialsKey?: string | undefined;
  /**
   * The least epoch that this tenant's keyring must have, from 1; of two calls the higher one counts. Default: the
   * pool's own.
   */
  readonly minimumEpoch?: number | undefined;
  /** The actor, instead of the pool's own `actor`. */
  readonly actor?: string | undefined;
}

/**
 * Options of a pool. `mounts` are opened once, with credentials of their own or the pool's, and seen in every tenant's
 * memory.
 */
export interface PoolOptions extends Omit<MemoryOptions, 'tenant'> {
  /**
   * The number of tenants that stay warm, 1–100,000; default 1,000. Above this limit idle tenants are evicted, least
   * recently used first: their keys are wiped, and the next `open` loads them again. The pool remembers for the 100,000
   * tenants that were opened last which keyring and which versions it saw last, and which epoch was pinned.
   */
  readonly maxTenants?: number | undefined;
}

/** Many tenants in one warm process: connections are shared; credentials, keyring and memory are per tenant. */
export interface MemoryPool extends AsyncDisposable {
  /**
   * Opens the tenant's memory; opened again it has the same keyring and the same order of commands. Closing it leaves
   * the tenant warm.
   *
   * @throws MemoryError `misconfigured` for a malformed tenant id, and the errors of `openMemory`.
   */
  open(tenant: string, options?: PoolOpenOptions): Promise<Memory>;
  /** Closes every memory of the pool and what they share. */
  close(): Promise<void>;
}

/** A tenant of the pool, and a memory of it that its user closes. */
export interface PooledTenant extends OpenTenant {
  /** The tenant on which its records stand; its keys are those that its settings name when they are asked for. */
  readonly context: OpenTenant['context'];
  readonly memory: Memory;
  /** The settings of the tenant's turns. */
  readonly turn: OwnTurn;
}

/** A memory's hold on the parts of its tenant: calls run in it, and the last of them lets it go once it is left. */
interface HeldParts {
  readonly found: WarmTenant;
  readonly entry: KeyedTenant;
  readonly parts: WarmParts;
  /** The place that the memory has on them. */
  readonly place: MemoryPlace;
  calls: number;
  isLeft: boolean;
}

/** A pool as entry points use it. */
export interface TenantPool extends AsyncDisposable {
  /** @param asked.signal ends the wait for the settings of the tenant. */
  open(
    tenant: string,
    options?: PoolOpenOptions,
    asked?: { readonly signal?: AbortSignal },
  ): Promise<PooledTenant>;
  /**
   * Answers the settings of a tenant's turns, without opening it.
   *
   * @throws MemoryError where its settings are malformed or cannot be read.
   */
  turnOf(tenant: TenantId, signal?: AbortSignal): Promise<OwnTurn>;
  /**
   * Lists the tenants that have a keyring, as far as the credentials of the process can list them. One LIST per 1,000.
   */
  tenants(): Promise<readonly TenantId[]>;
  close(): Promise<void>;
}

const OPENING: ReadonlySet<string> = new Set<keyof PoolOpenOptions>([
  ...(['credentials', 'credentialsKey', 'minimumEpoch', 'actor'] as const),
]);
const DEFAULT_TENANTS = 1_000;

/**
 * Makes the memories of many tenants that share one store and its connections, for a server: each is opened at its
 * first use and stays warm. The first `open` sends the first request to the store.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export function createMemoryPool(options: PoolOptions): MemoryPool {
  const pool = createTenantPool(Object(options));
  return {
    open: async (tenant, request) => (await pool.open(tenant, request)).memory,
    close: pool.close,
    [Symbol.asyncDispose]: pool.close,
  };
}

/**
 * Opens one tenant's memory whose settings may change, over a pool of its own.
 *
 * @throws MemoryError as `openMemory`.
 */
export async function openPooled(all: MemoryOptions): Promise<Memory> {
  const tenant = requireTenant(readSettings(all));
  const { tenant: _tenant, ...options } = all;
  const pool = createTenantPool({ ...options, maxTenants: 1 });
  try {
    const { memory } = await pool.open(tenant);
    const close = async (): Promise<void> => {
      await memory.close();
      await pool.close();
    };
    return Object.freeze<Memory>({ ...memory, close, [Symbol.asyncDispose]: close });
  } catch (error) {
    await pool.close();
    throw error;
  }
}

/**
 * Makes a pool. `opens: 'tenants'`: mounts in the options only tell the expiry about their tenants, and stay closed.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export function createTenantPool(
  { maxTenants = DEFAULT_TENANTS, ...options }: PoolOptions,
  {
    opens = 'mounts',
    mountCredentials,
    onBegun,
  }: {
    readonly opens?: 'mounts' | 'tenants';
    /** Gives the credentials for a mounted tenant, where its mount has none. */
    readonly mountCredentials?: ((tenant: TenantId) => AwsCredentials) | undefined;
    /** Hears of a tenant that this process has begun, in the place of the logger. */
    readonly onBegun?: ((tenant: TenantId) => void) | undefined;
  } = {},
): TenantPool {
  const settings = readSettings(options);
  if (settings.tenant !== undefined) {
    throw misconfigured(`${settings.nameOf('tenant')} is not an option of a pool: give it to open.`);
  }
  judge({ kind: 'number', least: 1, most: MOST_TENANTS }, maxTenants, 'maxTenants');
  const points = readMounts(options);
  const openCache = createVersionCaches(settings.cache.bytes);
  let base: Promise<BaseStore> | undefined;
  let mounts: Promise<OpenMounts> | undefined;
  let closing: Promise<void> | undefined;

  const openBase = once(() => {
    base = openBaseStore(settings);
    return base;
  });

  const knownOf = (tenant: TenantId): Pick<WarmTenant, 'guard' | 'sightings'> => {
    const { guard, sightings } = warm.use(tenant);
    return { guard, sightings };
  };

  const openMountsOnce = once(() => {
    mounts = openAll(points, settings);
    return mounts;
  });

  const openAll = async (
    all: readonly MountPoint[],
    { readOnly }: Pick<Settings, 'readOnly'>,
  ): Promise<OpenMounts> => {
    const shared = await openBase();
    const { openMounts } = await import('./mounts.ts');
    const given = { base: shared, openCache, isReadOnly: readOnly, known: knownOf };
    return openMounts(all.map(resolveMount), given);
  };

  /** Gives a mount what its tenant has of its own, where the mount itself does not say otherwise. */
  const resolveMount = (point: MountPoint): OpenableMount => {
    const { tenant, given } = point;
    const credentials = given.credentials ?? answeredInTime(mountCredentials?.(tenant));
    const isKeyed = given.rootKey !== undefined || given.store !== undefined;
    return {
      ...point,
      given: { ...given, credentials },
      settings: {
        ...point.settings,
        ...(!isKeyed && { rootKeys: settings.rootKeys }),
        ...(credentials !== undefined && { credentials }),
      },
      current: isKeyed || options.tenants === undefined ? undefined : warm.use(tenant).current,
    };
  };

  const wire: Parameters<typeof createWarmTenants>[0]['wire'] = async (found, { source, view }) => {
    const shared = await openBase();
    const credentials = source?.provider;
    const base = credentials === undefined ? shared : shared.withCredentials(credentials);
    const told = { onBegun: onBegun && (() => onBegun(found.tenant)) };
    // A tenant that is only read loses what turns have left; its files stay, because no read is recorded.
    const isKept = opens === 'tenants' && view.given?.readOnly === true;
    const spared = isKept ? { readOnly: settings.readOnly, expireAfterDays: undefined } : {};
    const seen = { ...view.settings, ...spared };
    const own = { settings: seen, points, base, credentials, cache: openCache(), ...told };
    const parts = await wireTenant({ ...found, ...own });
    const hasOwn = view.points !== points && view.points.length > 0 && opens === 'mounts';
    if (!hasOwn) return { ...parts, mounts: undefined };
    const { refuseExpiring } = await import('./tenant-views.ts');
    await refuseExpiring(found.tenant, view.points, daysOf);
    return { ...parts, mounts: await openAll(view.points, view.settings) };
  };

  const daysOf = async (tenant: TenantId): Promise<number | undefined> =>
    (await lookUp(tenant)).view.settings.expireAfterDays;

  const warm = createWarmTenants({ maxTenants, viewOf: openViews(options, { settings, points }), wire });

  /** Answers the tenant and its options as they are now. */
  const lookUp = async (
    tenant: TenantId,
    signal?: AbortSignal,
  ): Promise<{ readonly found: WarmTenant; readonly view: TenantView }> => {
    for (;;) {
      const found = warm.use(tenant);
      const view = await found.current.of(signal);
      // The tenant may have been evicted while its settings were read.
      if (warm.use(tenant) === found) return { found, view };
    }
  };

  /** Answers the warm parts for a memory, and counts the memory among theirs. */
  const hold = async (
    { found, view }: Awaited<ReturnType<typeof lookUp>>,
    {
      request,
      user,
      left,
    }: {
      readonly request: PoolOpenOptions;
      readonly user: PartsUser;
      /** The parts that the memory leaves for others. */
      readonly left?: KeyedTenant;
    },
  ): Promise<HeldParts> => {
    const entry = warm.useKeyed(found, { ...request, view, left });
    entry.opening++;
    try {
      await warm.evictSurplus(found);
      const parts = await entry.parts;
      refuseWhenClosed();
      const isShared = points.length > 0 && view.points === points && opens === 'mounts';
      const mounted = isShared ? await openMountsOnce() : parts.mounts;
      await Promise.all([parts.reach(), mounted?.reach()]);
      refuseWhenClosed();
      entry.memories.add(user);
      const place = parts.placeOf({ seen: mounted?.over(parts.tree), actor: request.actor });
      return { found, entry, parts, place, calls: 0, isLeft: false };
    } finally {
      entry.opening--;
    }
  };

  /** Lets a memory go from parts to others once its tenant's settings have changed, call by call. */
  const createFollower = (
    tenant: TenantId,
    {
      first,
      ...user
    }: { readonly first: HeldParts; readonly request: PoolOpenOptions; readonly user: PartsUser },
  ): { readonly now: PlaceNow<MemoryPlace>; held(): HeldParts } => {
    let held = first;
    let moving: { readonly view: TenantView; readonly ended: Promise<void> } | undefined;
    const letGo = async (left: HeldParts): Promise<void> => {
      if (!left.isLeft || left.calls > 0) return;
      left.entry.memories.delete(user.user);
      await warm.evictSurplus(left.found);
    };
    const move = async (looked: Awaited<ReturnType<typeof lookUp>>): Promise<void> => {
      const next = await hold(looked, { ...user, left: held.entry });
      const left = held;
      held = next;
      left.isLeft = true;
      await letGo(left);
    };
    return {
      held: () => held,
      async now(call, { signal } = {}) {
        const looked = await lookUp(tenant, signal);
        if (looked.view !== held.entry.view) {
          if (moving?.view !== looked.view) moving = { view: looked.view, ended: move(looked) };
          const { ended } = moving;
          await ended.finally(() => {
            if (moving?.ended === ended) moving = undefined;
          });
        }
        const at = held;
        at.calls++;
        try {
          return await call(at.place);
        } finally {
          at.calls--;
          await letGo(at);
        }
      },
    };
  };

  const followedContext = (
    { parts }: HeldParts,
    { now, held }: ReturnType<typeof createFollower>,
  ): OpenTenant['context'] => ({
    ...parts.context,
    keyrings: followKeyrings(now, () => held().parts.context.keyrings),
  });

  const closeAll = async (): Promise<void> => {
    await warm.closeAll();
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
    async open(id, request = {}, { signal } = {}) {
      refuseWhenClosed();
      refuseUnknownNames(Object.keys(request), { known: OPENING, what: 'an option of open' });
      const tenant = readTenant(id, 'tenant');
      const { actor } = request;
      if (actor !== undefined) checkActor(actor, 'actor');
      warm.pin(warm.use(tenant), request.minimumEpoch);
      let memory: Memory | undefined;
      const user: PartsUser = { close: async () => memory?.close() };
      const first = await hold(await lookUp(tenant, signal), { request, user });
      const follow =
        options.tenants === undefined ? undefined : createFollower(tenant, { first, request, user });
      const onClose = async (): Promise<void> => {
        const { entry, found } = follow?.held() ?? first;
        entry.memories.delete(user);
        warm.touch(found);
        await warm.evictSurplus(found);
      };
      memory = first.parts.openMemory(onClose, { actor, place: first.place, now: follow?.now });
      const context = follow === undefined ? first.parts.context : followedContext(first, follow);
      return { ...first.parts, context, memory, turn: first.entry.view.turn };
    },
    async turnOf(tenant, signal) {
      return (await lookUp(tenant, signal)).view.turn;
    },
    async tenants() {
      refuseWhenClosed();
      const { plain } = await openBase();
      const { listTenants } = await import('../keys/list-tenants.ts');
      return listTenants(plain, settings.prefix);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
