import type { TenantId } from '../format/object-keys.ts';
import { once } from '../time.ts';
import type { MemoryOptions, TenantSettings } from './options/options.ts';
import type { MountPoint, Settings } from './options/settings.ts';

/** The settings of the turns of one tenant. */
export type OwnTurn = Pick<TenantSettings, 'model' | 'system' | 'maxTokens' | 'effort' | 'tokensPerDay'>;

/** The options as they are for one tenant. An answer that changed makes another one. */
export interface TenantView {
  readonly settings: Settings;
  readonly points: readonly MountPoint[];
  readonly turn: OwnTurn;
  /** The same object for as long as the root keys stay. */
  readonly keys: object;
  /** The answer from which it was made; undefined: the tenant has no settings of its own. */
  readonly given: TenantSettings | undefined;
}

/** The view of one tenant, as it is now. */
export interface CurrentView {
  /**
   * Answers the view, from the last answer within its time to live; then, and from its last fifth on beside the answer,
   * it asks again. Calls at the same time share one question.
   *
   * @throws MemoryError `misconfigured` for settings that are malformed; `unavailable` where they cannot be read.
   */
  of(signal?: AbortSignal): Promise<TenantView>;
}

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
