import { MemoryError } from '../../src/errors.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import { readSettings, requireTenant } from '../../src/open/options/settings.ts';
import { wireTenant } from '../../src/open/wire-tenant.ts';
import { openBaseStore } from '../../src/store/open-store.ts';
import { interceptStore } from '../stage/store-wrappers.ts';
import { at } from '../stage/test-tree.ts';

/** A rename by a process that dies when all is copied: from its first delete on nothing that it sends arrives. */
export async function cutOffRename(options: MemoryOptions, from: string, to: string): Promise<void> {
  const settings = readSettings(options);
  const tenant = requireTenant(settings);
  await using opened = await openBaseStore(settings);
  let dead = false;
  const base: typeof opened = {
    ...opened,
    forTenant: (layout) =>
      interceptStore(opened.forTenant(layout), (call, proceed) => {
        dead ||= call.verb === 'delete';
        return dead ? Promise.reject(new MemoryError('outcome_unknown', 'the process is dead')) : proceed();
      }),
  };
  const { tree, context } = await wireTenant({ settings, base, tenant });
  const failure = await tree.rename({ from: at(from), to: at(to) }).catch((error: unknown) => error);
  context.keyrings.close();
  if (!dead) throw failure;
}
