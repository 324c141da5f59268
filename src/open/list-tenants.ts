import { keyringPrefix, parseTenantId, type TenantId } from '../format/object-keys.ts';
import type { ObjectStore } from '../store/port.ts';
import type { StoreLocation } from './store-location.ts';

/** Who has a keyring in a store, which is what makes a tenant. One LIST per 1,000. */
export async function listTenants(
  store: ObjectStore,
  location: StoreLocation | undefined,
): Promise<readonly TenantId[]> {
  const prefix = keyringPrefix(location?.kind === 's3' ? location.prefix : '');
  const tenants: TenantId[] = [];
  for await (const { objects } of store.list({ prefix })) {
    tenants.push(...objects.flatMap(({ key }) => asTenantId(key.slice(prefix.length))));
  }
  return tenants;
}

/** A name that is no tenant's was put there by somebody else. */
function asTenantId(text: string): readonly TenantId[] {
  try {
    return [parseTenantId(text)];
  } catch {
    return [];
  }
}
