import { loadSodium } from '../format/sodium.ts';
import { osRandom } from '../store/os-random.ts';
import type { RequestOptions } from '../store/port.ts';
import { createKeyring, forget, sealKeyring } from './keyring.ts';
import type { RootKey } from './root-key.ts';

/**
 * Lets a root key wrap a keyring of the tenant, which is not kept, and open it: the two calls of the tenant's first
 * write.
 *
 * @throws MemoryError as `sealKeyring`.
 */
export async function tryRootKey(
  rootKey: RootKey,
  { tenant, signal }: RequestOptions & { readonly tenant: string },
): Promise<void> {
  await loadSodium();
  const keyring = createKeyring({ nameMode: 'encrypted', random: osRandom, created: 0 });
  try {
    await sealKeyring({ keyring, tenant, rootKey, random: osRandom, signal });
  } finally {
    forget(keyring);
  }
}
