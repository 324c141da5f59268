import {
  type CheckpointOptions,
  type CheckpointReport,
  checkpointTree,
} from '../admin/checkpoints/checkpoint.ts';
import { type ExpiryOptions, expireTree, type TenantExpiry } from '../admin/expiry/expire.ts';
import { type VerifyOptions, type VerifyReport, verifyTree } from '../admin/verify/verify.ts';
import { misconfigured } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import { type BaseStore, placeOf } from '../store/open-store.ts';
import { refuseWriting, type Tenant } from '../tree/tenant.ts';
import type { MountPoint, Settings } from './options/settings.ts';

/** The verbs of the administration that a memory and the worker need, too. They run outside the order of commands. */
export interface Upkeep {
  /** Reads and opens every stored object. */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /** Writes a checkpoint. */
  checkpoint(options?: CheckpointOptions): Promise<CheckpointReport>;
  /**
   * Deletes expired files and records: files by the configured days unless others are given; the files of a tenant
   * whose mounts say that it does not expire stay.
   *
   * @throws MemoryError `misconfigured` where a mount of the tenant leaves open whether it expires.
   */
  expire(options?: ExpiryOptions): Promise<TenantExpiry>;
}

/** The tenant that the upkeep serves. */
interface UpkeepOf {
  readonly settings: Settings;
  readonly tenant: TenantId;
  readonly base: BaseStore;
  /** The mounts of the options, among which an expiry looks for the tenant. */
  readonly points?: readonly MountPoint[] | undefined;
}

export function createUpkeep(tenant: Tenant, of: UpkeepOf): Upkeep {
  const { history, expireAfterDays } = of.settings;
  const historyDays = history.days;
  return {
    async verify(request) {
      if (request?.repair) refuseWriting(tenant);
      return verifyTree(tenant, { historyDays, ...request });
    },
    async checkpoint(request) {
      refuseWriting(tenant);
      return checkpointTree(tenant, { historyDays, ...request });
    },
    async expire(request = {}) {
      if (request.dryRun !== true) refuseWriting(tenant);
      const days = { afterDays: expireAfterDays, historyDays, ...request };
      const report = await expireTree(tenant, spareMounted(days, of));
      const { dryRun, signal } = request;
      const { tenantPrefix } = tenant.layout;
      const tombstones = dryRun === true ? 0 : await of.base.buryTombstones(tenantPrefix, { signal });
      return { ...report, tombstones };
    },
  };
}

/**
 * Answers the options of an expiry run, without days for files and sessions where a mount of the tenant says that it
 * does not expire. Reads through a read-only mount leave no record in the tenant, so a run cannot tell its files from
 * unused ones.
 *
 * @throws MemoryError `misconfigured` where days are given and a mount of the tenant leaves open whether it expires.
 */
function spareMounted(options: ExpiryOptions, { tenant, settings, points = [] }: UpkeepOf): ExpiryOptions {
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
