import type { ExpiryOptions } from '../admin/expiry/expire.ts';
import { misconfigured } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import type { MountPoint, Settings } from './settings.ts';
import { placeOf } from './store.ts';

/**
 * The options of an expiry run, without days for files and sessions where a mount of the tenant says that it does not
 * expire. Reads through a read-only mount leave no record in the tenant, so a run cannot tell its files from unused ones.
 *
 * @throws MemoryError `misconfigured` where days are given and a mount of the tenant leaves it open.
 */
export function spareMounted(
  options: ExpiryOptions,
  {
    tenant,
    settings,
    points = [],
  }: {
    readonly tenant: TenantId;
    readonly settings: Settings;
    readonly points?: readonly MountPoint[] | undefined;
  },
): ExpiryOptions {
  const place = placeOf(settings.store);
  const mounts = points.filter((point) => point.tenant === tenant && placeOf(point.settings.store) === place);
  if (mounts.some(({ expires }) => expires === false)) return { ...options, afterDays: undefined };
  if (options.afterDays === undefined || mounts.every(({ expires }) => expires)) return options;
  const typed = settings.nameOf('mounts');
  const marked = typed === 'mounts' ? 'expires: false' : `":expires=false" in ${typed}`;
  throw misconfigured(
    'This tenant is mounted, and reads through a read-only mount are not recorded, so that files everybody reads would expire. ' +
      `Mark its mounts ${marked}, and its files stay.`,
  );
}
