import { misconfigured } from '../../errors.ts';
import { optionsFromEnvironment } from '../../open/environment.ts';
import { listTenants, openBaseStore, parseStoreLocation } from '../../open/store.ts';
import type { Invocation } from './invocation.ts';
import { readEnvironment } from './settings.ts';

/** Lists the tenants that have a keyring in the configured store; no root key is needed. */
export async function runTenants({ flags, terminal, report, logger }: Invocation): Promise<number> {
  const {
    store,
    s3 = {},
    credentials,
  } = optionsFromEnvironment(readEnvironment(flags), { logger, rootKey: [] });
  if (typeof store !== 'string') {
    throw misconfigured('not set: the store (--store or SEALED_MEMORY_STORE). "sealed-memory init" sets it.');
  }
  const location = parseStoreLocation(store, 'store');
  await using base = await openBaseStore({ store: location, s3, credentials });
  const prefix = location.kind === 's3' ? location.prefix : '';
  const tenants = await report.during('listing tenants', () => listTenants(base.plain, prefix));
  for (const tenant of tenants) await report.entry({ tenant }, tenant);
  if (tenants.length === 0) terminal.note('no tenant has a keyring in this store: is its name right?');
  await report.done({ tenants: tenants.length });
  return 0;
}
