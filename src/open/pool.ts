import type { ExpiryOptions, TenantExpiry } from '../admin/expire.ts';
import { checkWholeNumber, MemoryError } from '../errors.ts';
import { parseTenantId, type TenantId } from '../format/object-keys.ts';
import { createRollbackGuards, type RollbackGuard } from '../keys/rollback-guard.ts';
import type { Memory } from '../tool/memory-tool.ts';
import type { Session } from '../tree/session.ts';
import { createVersionHistory, type VersionHistory } from '../tree/version-history.ts';
import type { AwsCredentials, BaseStore } from './base-store.ts';
import { listTenants } from './list-tenants.ts';
import { openStoreOf, type TenantParts, wireTenant } from './open-memory.ts';
import { type MemoryOptions, readSettings } from './options.ts';

export interface PoolOpenOptions {
  /** Credentials that reach this tenant's objects, and the root key in KMS for this tenant, and nobody else's. */
  readonly credentials?: AwsCredentials | undefined;
  /**
   * The least epoch this tenant's keyring must have, from 1; of two calls the higher one counts. Unless given, the
   * pool's own.
   */
  readonly minimumEpoch?: number | undefined;
}

export interface PoolOptions extends Omit<MemoryOptions, 'tenant'> {
  /**
   * How many tenants stay warm, 1–100,000; default 1,000. Of more, those are cooled down that nobody has open, the
   * least recently used one first: their keys are wiped, and opened again they are as in a new process. What stays is
   * which keyring was seen last and which epoch was pinned, of the 100,000 tenants that were opened last.
   */
  readonly maxTenants?: number | undefined;
}

/** Many tenants in one warm process: connections are shared; credentials, keyring and memory are per tenant. */
export interface MemoryPool extends AsyncDisposable {
  /**
   * The tenant's memory; opened again it is the same keyring and the same order of commands. Closing it leaves the
   * tenant warm. @throws MemoryError `misconfigured` for a tenant id that is none.
   */
  open(tenant: string, options?: PoolOpenOptions): Promise<Memory>;
  /** Closes every memory of the pool and what they share. */
  close(): Promise<void>;
}

/** One tenant's memory, and what entry points need besides the six commands. */
export interface OpenTenant {
  readonly memory: Memory;
  /** What the verbs stand on. */
  readonly context: Session;
  /** Deletes what expired, past the order of commands. */
  expire(options?: ExpiryOptions): Promise<TenantExpiry>;
}

/** A pool as entry points use it. */
export interface TenantPool extends AsyncDisposable {
  open(tenant: string, options?: PoolOpenOptions): Promise<OpenTenant>;
  /** Who has a keyring, as far as the credentials of the process can list them. One LIST per 1,000. */
  tenants(): Promise<readonly TenantId[]>;
  close(): Promise<void>;
}

interface WarmTenant {
  readonly tenant: TenantId;
  readonly credentials: AwsCredentials | undefined;
  readonly minimumEpoch: number | undefined;
  /** Both outlive credentials: what was seen with the old ones is known with the new ones. */
  readonly history: VersionHistory;
  readonly guard: RollbackGuard;
  readonly parts: Promise<TenantParts>;
  readonly memories: Set<Memory>;
  /** Calls of `open` that still wait for the parts. */
  opening: number;
}

const DEFAULT_TENANTS = 1_000;
const MOST_TENANTS = 100_000;

/** @throws MemoryError `misconfigured` when an option or a variable is missing, unknown or malformed. */
export function createMemoryPool(options: PoolOptions = {}): MemoryPool {
  const pool = createTenantPool(options);
  return {
    open: async (tenant, request) => (await pool.open(tenant, request)).memory,
    close: pool.close,
    [Symbol.asyncDispose]: pool.close,
  };
}

/** @throws MemoryError `misconfigured` when an option or a variable is missing, unknown or malformed. */
export function createTenantPool(options: PoolOptions = {}): TenantPool {
  const settings = readSettings(options, ['tenant']);
  const maxTenants = readMaxTenants(options.maxTenants);
  /** The least recently used one first. */
  const warm = new Map<TenantId, WarmTenant>();
  const replaced = new Set<WarmTenant>();
  const guardOf = createRollbackGuards(MOST_TENANTS);
  let base: Promise<BaseStore> | undefined;
  let closing: Promise<void> | undefined;

  const openBase = (): Promise<BaseStore> => {
    base ??= openStoreOf(options, settings).catch((error: unknown) => {
      base = undefined;
      throw error;
    });
    return base;
  };

  const wire = async (entry: Omit<WarmTenant, 'parts' | 'memories' | 'opening'>): Promise<TenantParts> => {
    const { credentials } = entry;
    const shared = await openBase();
    const reached = credentials === undefined ? shared : shared.withCredentials(credentials);
    return wireTenant({ ...entry, options, settings, base: reached });
  };

  const warmUp = (tenant: TenantId, { credentials, minimumEpoch: asked }: PoolOpenOptions): WarmTenant => {
    const known = warm.get(tenant);
    const guard = guardOf(tenant, known?.guard);
    const isPinned = asked === undefined || asked <= guard.minimumEpoch;
    if (known !== undefined && known.credentials === credentials && isPinned) {
      touch(known);
      return known;
    }
    const wired = {
      tenant,
      credentials,
      minimumEpoch: asked ?? known?.minimumEpoch,
      history: known?.history ?? createVersionHistory(),
      guard,
    };
    const entry: WarmTenant = { ...wired, parts: wire(wired), memories: new Set(), opening: 0 };
    entry.parts.catch(() => {
      if (warm.get(tenant) === entry) warm.delete(tenant);
    });
    warm.delete(tenant);
    warm.set(tenant, entry);
    if (known !== undefined) void replace(known);
    return entry;
  };

  const touch = (entry: WarmTenant): void => {
    if (warm.get(entry.tenant) !== entry) return;
    warm.delete(entry.tenant);
    warm.set(entry.tenant, entry);
  };

  /** Keeps within `maxTenants` as far as tenants are idle. */
  const coolSurplus = async (): Promise<void> => {
    const surplus = [...warm.values()].filter(isIdle).slice(0, Math.max(0, warm.size - maxTenants));
    for (const { tenant } of surplus) warm.delete(tenant);
    await Promise.all(surplus.map(coolDown));
  };

  /** New credentials take over at once; what the old ones opened ends with its last memory. */
  const replace = async (entry: WarmTenant): Promise<void> => {
    replaced.add(entry);
    if (isIdle(entry)) await coolDown(entry);
  };

  const coolDown = async (entry: WarmTenant): Promise<void> => {
    replaced.delete(entry);
    const [parts] = await Promise.allSettled([entry.parts]);
    if (parts.status === 'fulfilled') parts.value.keyrings.close();
  };

  const closeAll = async (): Promise<void> => {
    const entries = [...warm.values(), ...replaced];
    await Promise.all(entries.flatMap(({ memories }) => [...memories].map((memory) => memory.close())));
    await Promise.all(entries.map(coolDown));
    const [opened] = await Promise.allSettled([base]);
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
    async open(tenant, options = {}) {
      refuseWhenClosed();
      const entry = warmUp(parseTenantId(tenant), options);
      entry.opening++;
      try {
        await coolSurplus();
        const parts = await entry.parts;
        refuseWhenClosed();
        const memory = parts.memory(async () => {
          entry.memories.delete(memory);
          touch(entry);
          if (replaced.has(entry) && isIdle(entry)) await coolDown(entry);
          await coolSurplus();
        });
        entry.memories.add(memory);
        return { memory, context: parts.context, expire: parts.expire };
      } finally {
        entry.opening--;
      }
    },
    async tenants() {
      refuseWhenClosed();
      const { plain } = await openBase();
      return listTenants(plain, settings.config.store);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function readMaxTenants(given = DEFAULT_TENANTS): number {
  checkWholeNumber('maxTenants', given, { least: 1, most: MOST_TENANTS });
  return given;
}

function isIdle({ memories, opening }: WarmTenant): boolean {
  return memories.size === 0 && opening === 0;
}
