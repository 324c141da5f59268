import type { Command } from 'commander';
import { listTenants } from '../../keys/list-tenants.ts';
import { openBaseStore } from '../../store/open-store.ts';
import { type ChosenVerb, forReaders, type Invocation } from '../run/invocation.ts';
import { readStore } from '../run/settings.ts';

/** Declares `tenants`. */
export function declareTenants(program: Command, run: ChosenVerb<typeof runTenants>): void {
  program
    .command('tenants')
    .description('list the tenants of the store')
    .action(() => run());
}

/** Lists the tenants that have a keyring in the configured store; no root key is needed. */
export async function runTenants({ flags, terminal, report, logger }: Invocation): Promise<number> {
  const { location, s3, credentials } = readStore({ flags, logger });
  await using base = await openBaseStore({ store: location, s3, credentials });
  const prefix = location.kind === 's3' ? location.prefix : '';
  const tenants = await report.during('listing tenants', () => listTenants(base.plain, prefix));
  return forReaders(async () => {
    for (const tenant of tenants) await report.entry({ tenant }, tenant);
    if (tenants.length === 0) terminal.note('no tenant has a keyring in this store: is its name right?');
    await report.done({ tenants: tenants.length });
    return 0;
  });
}
