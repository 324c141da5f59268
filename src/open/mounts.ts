import { hasReason, MemoryError } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import type { KeyringCache } from '../keys/keyring-cache.ts';
import { type BaseStore, openBaseStore } from '../store/open-store.ts';
import type { Tree } from '../tree/tree.ts';
import type { VersionCache } from '../tree/version-cache.ts';
import type { CurrentView, TenantView } from './current-view.ts';
import { followTree, type PlaceNow } from './followed-tree.ts';
import { createMountedTree, type Mount } from './mounted-tree.ts';
import type { MountPoint, Settings } from './options/settings.ts';
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
  reach(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A mount to be opened. */
export interface OpenableMount extends MountPoint {
  /** The view of its tenant, whose root keys it takes and follows; absent where those in its settings stay. */
  readonly current?: CurrentView | undefined;
}

interface OpenedMount extends Mount {
  /** The parts with which it was opened. */
  readonly parts: OpenTenant;
  /** Runs a call on the parts that count when it begins. */
  readonly now: PlaceNow<OpenTenant>;
  close(): Promise<void>;
}

/**
 * Opens memories to be mounted: in `base`, unless a mount names a store of its own. `known` answers the guard and the
 * sightings that the process already has of a tenant in `base`.
 */
export async function openMounts(
  points: readonly OpenableMount[],
  shared: {
    readonly base: BaseStore;
    readonly openCache: () => VersionCache;
    /** True where the memory in which they are seen is read only: a mount that takes writes all the same is logged. */
    readonly isReadOnly: boolean;
    readonly known?: (tenant: TenantId) => Pick<TenantWiring, 'guard' | 'sightings'>;
  },
): Promise<OpenMounts> {
  const openOne = async (point: OpenableMount): Promise<OpenedMount> => {
    const { at, settings, tenant, given, current } = point;
    const isBeside = given.store === undefined && given.s3 === undefined;
    const { credentials } = settings;
    const view = await current?.of();
    const base = isBeside ? shared.base : await openBaseStore(settings);
    const isOwn = isBeside && credentials !== undefined && given.credentials !== undefined;
    const reached = isOwn ? base.withCredentials(credentials) : base;
    const known = isBeside ? shared.known?.(tenant) : undefined;
    const wire = (own: Pick<Settings, 'rootKeys'>): Promise<OpenTenant> =>
      wireTenant({
        ...known,
        settings: { ...settings, rootKeys: own.rootKeys },
        base: reached,
        tenant,
        credentials,
        cache: shared.openCache(),
        mount: { expires: point.expires, asMounted },
      });
    const parts = await wire(view?.settings ?? settings);
    const followed = current && view && followKeys(current, { keys: view.keys, parts, wire });
    return {
      at,
      tree: followed === undefined ? parts.tree : followTree(followed.now, parts.tree),
      parts,
      now: followed?.now ?? ((call) => call(parts)),
      async close() {
        if (followed === undefined) parts.wipe();
        else await followed.close();
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
    async reach(signal) {
      await Promise.all(
        opened.map(({ now }) =>
          now((parts) => parts.reach({ isExpected: parts.context.readOnly === true, signal })),
        ),
      );
    },
    close,
  };
}

/**
 * Wires a mounted tenant anew whenever its settings name other root keys: what the last ones opened is wiped before a
 * call goes on. A call fails as the view does, where the settings cannot be read any more.
 */
function followKeys(
  current: CurrentView,
  first: {
    readonly keys: object;
    readonly parts: OpenTenant;
    wire(own: TenantView['settings']): Promise<OpenTenant>;
  },
): Pick<OpenedMount, 'now' | 'close'> {
  let keys: object | undefined = first.keys;
  let held = Promise.resolve(first.parts);
  let isClosed = false;
  const wipe = async (): Promise<void> => {
    const [left] = await Promise.allSettled([held]);
    if (left.status === 'fulfilled') left.value.wipe();
  };
  const exchange = async ({ settings }: TenantView, wiped: Promise<void>): Promise<OpenTenant> => {
    await wiped;
    return first.wire(settings);
  };
  const follow = (view: TenantView): void => {
    if (isClosed || view.keys === keys) return;
    keys = view.keys;
    held = exchange(view, wipe());
    held.catch(() => {
      if (keys === view.keys) keys = undefined;
    });
  };
  return {
    async now(call, { signal } = {}) {
      follow(await current.of(signal));
      return call(await held);
    },
    close() {
      isClosed = true;
      return wipe();
    },
  };
}

function warnOfWritable(opened: readonly OpenedMount[]): void {
  const writable = opened.filter(({ parts }) => parts.context.readOnly !== true);
  const tenants = writable.map(({ parts }) => parts.context.layout.tenant).join(', ');
  writable[0]?.parts.context.logger.warn(
    `This memory is read-only, and takes writes below a mount that is not, of ${tenants}: give the mount readOnly as well, or :ro.`,
  );
}

/**
 * Makes the keyring of a mounted tenant say whose it is. This means that another tenant that was shredded is no end of
 * the memory in which it is mounted, and that its holder of a root key is not the one of that memory.
 */
function asMounted(keyrings: KeyringCache): KeyringCache {
  const told = async <T>(loading: Promise<T>): Promise<T> => {
    try {
      return await loading;
    } catch (error) {
      throw errorOfMount(error);
    }
  };
  return {
    ...keyrings,
    load: (request) => told(keyrings.load(request)),
    look: (request) => told(keyrings.look(request)),
  };
}

function errorOfMount(error: unknown): unknown {
  if (hasReason(error, 'destroyed')) {
    return new MemoryError('key_unavailable', 'A mounted tenant was shredded: take its mount out.', {
      details: { reason: 'mount_destroyed' },
    });
  }
  if (!(error instanceof MemoryError) || error.details['keyHolder'] === undefined) return error;
  const { code, message, retry, cause, details } = error;
  const { keyHolder: _, ...rest } = details;
  return new MemoryError(code, `${message} That tenant is mounted here.`, { retry, cause, details: rest });
}
