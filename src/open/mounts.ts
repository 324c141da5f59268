import type { TenantId } from '../format/object-keys.ts';
import { type BaseStore, openBaseStore } from '../store/open-store.ts';
import type { Tree } from '../tree/tree.ts';
import type { VersionCache } from '../tree/version-cache.ts';
import { createMountedTree, type Mount } from './mounted-tree.ts';
import type { MountPoint } from './options/settings.ts';
import { type OpenTenant, type TenantWiring, wireTenant } from './wire-tenant.ts';

/** Mounted memories, opened once for all trees in which they are seen. */
export interface OpenMounts {
  /** Makes a tree that shows the mounted ones below `tree`. */
  over(tree: Tree): Tree;
  /**
   * Reaches the store of each mounted memory and opens its keyring: a GET each and, for a tenant without a keyring, a
   * LIST.
   *
   * @throws MemoryError as `openMemory`, for any of them.
   */
  reach(): Promise<void>;
  close(): Promise<void>;
}

interface OpenedMount extends Mount {
  readonly parts: OpenTenant;
  close(): Promise<void>;
}

/**
 * Opens memories to be mounted: in `base`, unless a mount names a store of its own. `known` answers the guard and the
 * sightings that the process already has of a tenant in `base`.
 */
export async function openMounts(
  points: readonly MountPoint[],
  shared: {
    readonly base: BaseStore;
    readonly openCache: () => VersionCache;
    /** True where the memory in which they are seen is read only: a mount that takes writes all the same is logged. */
    readonly isReadOnly: boolean;
    readonly known?: (tenant: TenantId) => Pick<TenantWiring, 'guard' | 'sightings'>;
  },
): Promise<OpenMounts> {
  const openOne = async ({ at, settings, tenant, given }: MountPoint): Promise<OpenedMount> => {
    const isBeside = given.store === undefined && given.s3 === undefined;
    const { credentials } = settings;
    const base = isBeside ? shared.base : await openBaseStore(settings);
    const isOwn = isBeside && credentials !== undefined && given.credentials !== undefined;
    const reached = isOwn ? base.withCredentials(credentials) : base;
    const known = isBeside ? shared.known?.(tenant) : undefined;
    const parts = await wireTenant({ ...known, settings, base: reached, tenant, cache: shared.openCache() });
    return {
      at,
      tree: parts.tree,
      parts,
      async close() {
        parts.wipe();
        if (!isBeside) await base[Symbol.asyncDispose]();
      },
    };
  };
  const opening = await Promise.allSettled(points.map(openOne));
  const opened = opening.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((mount) => mount.close()));
  };
  const failed = opening.find((each) => each.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  if (shared.isReadOnly) warnOfWritable(opened);
  return {
    over: (tree) => createMountedTree(tree, opened),
    async reach() {
      await Promise.all(
        opened.map(({ parts }) => parts.reach({ isExpected: parts.context.readOnly === true })),
      );
    },
    close,
  };
}

function warnOfWritable(opened: readonly OpenedMount[]): void {
  const writable = opened.filter(({ parts }) => parts.context.readOnly !== true);
  const tenants = writable.map(({ parts }) => parts.context.layout.tenant).join(', ');
  writable[0]?.parts.context.logger.warn(
    `This memory is read-only, and takes writes below a mount that is not, of ${tenants}: give the mount readOnly as well, or :ro.`,
  );
}
