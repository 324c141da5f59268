import { keyringPrefix, parseTenantId, type TenantId } from '../format/object-keys.ts';
import type { ObjectStore } from '../store/port.ts';

/** Lists the tenants that have a keyring in a store, which makes them tenants. One LIST per 1,000. */
export async function listTenants(store: ObjectStore, storePrefix: string): Promise<readonly TenantId[]> {
  const prefix = keyringPrefix(storePrefix);
  const tenants: TenantId[] = [];
  for await (const { objects } of store.list({ prefix })) {
    tenants.push(...objects.flatMap(({ key }) => asTenantId(key.slice(prefix.length))));
  }
  return tenants;
}

/** Returns nothing for a name that is no tenant's: another program put that object there. */
function asTenantId(text: string): readonly TenantId[] {
  try {
    return [parseTenantId(text)];
  } catch {
    return [];
  }
}
