import { MemoryError } from './errors.ts';
import { type MemoryOptions, readSettings } from './memory-options.ts';
import { openStoreOf, type TenantParts, wireTenant } from './open-memory.ts';
import type { AwsCredentials, BaseStore } from './open-object-store.ts';
import { parseTenantId, type TenantId } from './sealing/object-keys.ts';
import type { Memory } from './tool/memory-tool.ts';

export interface PoolOpenOptions {
  /** Credentials that reach this tenant's objects, and the root key in KMS for this tenant, and nobody else's. */
  readonly credentials?: AwsCredentials | undefined;
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

interface WarmTenant {
  readonly credentials: AwsCredentials | undefined;
  readonly parts: Promise<TenantParts>;
  readonly memories: Set<Memory>;
  /** Calls of `open` that still wait for the parts. */
  opening: number;
}

/** @throws MemoryError `misconfigured` when an option or a variable is missing, unknown or malformed. */
export function createMemoryPool(options: Omit<MemoryOptions, 'tenant'> = {}): MemoryPool {
  const settings = readSettings(options, ['tenant']);
  const warm = new Map<TenantId, WarmTenant>();
  const replaced = new Set<WarmTenant>();
  let base: BaseStore | undefined;
  let closing: Promise<void> | undefined;

  const warmUp = (tenant: TenantId, credentials: AwsCredentials | undefined): WarmTenant => {
    const known = warm.get(tenant);
    if (known !== undefined && known.credentials === credentials) return known;
    base ??= openStoreOf(options, settings);
    const reached = credentials === undefined ? base : base.withCredentials(credentials);
    const parts = wireTenant({ options, settings, base: reached, tenant, credentials });
    const entry: WarmTenant = { credentials, parts, memories: new Set(), opening: 0 };
    parts.catch(() => {
      if (warm.get(tenant) === entry) warm.delete(tenant);
    });
    warm.set(tenant, entry);
    if (known !== undefined) void replace(known);
    return entry;
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
    await base?.[Symbol.asyncDispose]();
  };

  const close = (): Promise<void> => {
    closing ??= closeAll();
    return closing;
  };

  const refuseWhenClosed = (): void => {
    if (closing !== undefined) throw new MemoryError('aborted', 'the pool is closed');
  };

  return {
    async open(tenant, { credentials } = {}) {
      refuseWhenClosed();
      const entry = warmUp(parseTenantId(tenant), credentials);
      entry.opening++;
      const parts = await entry.parts.finally(() => entry.opening--);
      refuseWhenClosed();
      const memory = parts.memory(async () => {
        entry.memories.delete(memory);
        if (replaced.has(entry) && isIdle(entry)) await coolDown(entry);
      });
      entry.memories.add(memory);
      return memory;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isIdle({ memories, opening }: WarmTenant): boolean {
  return memories.size === 0 && opening === 0;
}
