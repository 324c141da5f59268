import type { TenantId } from '../format/object-keys.ts';
import { once } from '../time.ts';
import type { CurrentView, TenantView } from './current-view.ts';
import type { MemoryOptions } from './options/options.ts';

/**
 * Makes the function that gives a tenant its view. Without `tenants` in the options all have the same one; with it the
 * first question loads what asks and judges.
 */
export function openViews(
  options: Partial<MemoryOptions>,
  shared: Pick<TenantView, 'settings' | 'points'>,
): (tenant: TenantId) => CurrentView {
  const { tenants, ...own } = options;
  const common: TenantView = { ...shared, turn: {}, keys: {}, given: undefined };
  if (tenants === undefined) return () => ({ of: async () => common });
  const load = once(async () => {
    const { openSource, watchView } = await import('./tenant-views.ts');
    const source = openSource(tenants);
    return (tenant: TenantId) => watchView(tenant, { source, common, options: own });
  });
  return (tenant) => {
    const view = once(async () => (await load())(tenant));
    return { of: async (signal) => (await view()).of(signal) };
  };
}
