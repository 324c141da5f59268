import type { MemoryOptions } from './options/options.ts';
import type { TenantAdmin } from './tenant-admin.ts';

/**
 * Opens the administration of one tenant. The first verb sends the first request to the store.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export async function openAdmin(options: MemoryOptions): Promise<TenantAdmin> {
  const { openTenantAdmin } = await import('./tenant-admin.ts');
  return openTenantAdmin(options);
}
