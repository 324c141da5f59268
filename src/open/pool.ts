import { MemoryError, misconfigured } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import { type BaseStore, openBaseStore } from '../store/open-store.ts';
import type { AwsCredentials, CredentialSource } from '../store/s3/callers-credentials.ts';
import { once } from '../time.ts';
import type { Memory } from '../tool/memory-tool.ts';
import { checkActor } from '../tree/tenant.ts';
import { createVersionCaches } from '../tree/version-cache.ts';
import type { OpenMounts } from './mounts.ts';
import { refuseUnknownNames } from './options/known-names.ts';
import { judge, readTenant } from './options/option-table.ts';
import type { MemoryOptions } from './options/options.ts';
import { readMounts, readSettings } from './options/settings.ts';
import { createWarmTenants, MOST_TENANTS, type WarmTenant } from './warm-tenants.ts';
import { type OpenTenant, wireTenant } from './wire-tenant.ts';

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
  readonly memory: Memory;
}

/** A pool as entry points use it. */
export interface TenantPool extends AsyncDisposable {
  open(tenant: string, options?: PoolOpenOptions): Promise<PooledTenant>;
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
 * Makes a pool. `opens: 'tenants'`: mounts in the options only tell the expiry about their tenants, and stay closed.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export function createTenantPool(
  { maxTenants = DEFAULT_TENANTS, ...options }: PoolOptions,
  { opens = 'mounts' }: { readonly opens?: 'mounts' | 'tenants' } = {},
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
    mounts = openBase().then(async (shared) => {
      const { openMounts } = await import('./mounts.ts');
      return openMounts(points, { base: shared, openCache, isReadOnly: settings.readOnly, known: knownOf });
    });
    return mounts;
  });

  const wire = async (found: WarmTenant, source: CredentialSource | undefined): Promise<OpenTenant> => {
    const shared = await openBase();
    const credentials = source?.provider;
    const reached = credentials === undefined ? shared : shared.withCredentials(credentials);
    return wireTenant({ ...found, settings, points, base: reached, credentials, cache: openCache() });
  };

  const warm = createWarmTenants({ maxTenants, wire });

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
    async open(id, request = {}) {
      refuseWhenClosed();
      refuseUnknownNames(Object.keys(request), { known: OPENING, what: 'an option of open' });
      const tenant = readTenant(id, 'tenant');
      const { actor } = request;
      if (actor !== undefined) checkActor(actor, 'actor');
      const found = warm.use(tenant);
      warm.pin(found, request.minimumEpoch);
      const entry = warm.useKeyed(found, request);
      entry.opening++;
      try {
        await warm.evictSurplus(found);
        const parts = await entry.parts;
        refuseWhenClosed();
        const mounted = points.length === 0 || opens === 'tenants' ? undefined : await openMountsOnce();
        await Promise.all([parts.reach(), mounted?.reach()]);
        refuseWhenClosed();
        const onClose = async (): Promise<void> => {
          entry.memories.delete(memory);
          warm.touch(found);
          await warm.evictSurplus(found);
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
      const { listTenants } = await import('../keys/list-tenants.ts');
      return listTenants(plain, settings.prefix);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
