import { MemoryError } from '../../src/errors.ts';
import { openStoreOf, wireTenant } from '../../src/open/open-memory.ts';
import { type MemoryOptions, readSettings } from '../../src/open/options.ts';
import { interceptStore } from '../doubles/intercepted-store.ts';
import { at } from './test-tree.ts';

/** A rename by a process that dies when all is copied: from its first delete on nothing that it sends arrives. */
export async function cutOffRename(options: MemoryOptions, from: string, to: string): Promise<void> {
  const settings = readSettings(options);
  const { tenant } = settings.config;
  if (tenant === undefined) throw new Error('there is no tenant');
  await using opened = await openStoreOf(options, settings);
  let dead = false;
  const base: typeof opened = {
    ...opened,
    forTenant: (layout) =>
      interceptStore(opened.forTenant(layout), (call, proceed) => {
        dead ||= call.verb === 'delete';
        return dead ? Promise.reject(new MemoryError('outcome_unknown', 'the process is dead')) : proceed();
      }),
  };
  const { tree, keyrings } = await wireTenant({ options, settings, base, tenant });
  const failure = await tree.rename({ from: at(from), to: at(to) }).catch((error: unknown) => error);
  keyrings.close();
  if (!dead) throw failure;
}
