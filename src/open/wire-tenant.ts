import { createLayout, type TenantId } from '../format/object-keys.ts';
import type { History } from '../history/history.ts';
import { createKeyringCache, type LoadedKeyring } from '../keys/keyring-cache.ts';
import { createRollbackGuard, type RollbackGuard } from '../keys/rollback-guard.ts';
import type { RootKey } from '../keys/root-key.ts';
import { type Around, lazily } from '../lazily.ts';
import { heardLogger, heardVerbs } from '../listeners.ts';
import type { Logger } from '../logger.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { osRandom } from '../store/os-random.ts';
import type { ObjectVersions } from '../store/port.ts';
import type { AwsCredentials } from '../store/s3/callers-credentials.ts';
import { pause } from '../time.ts';
import { type CommandOrder, createCommandOrder } from '../tool/command-order.ts';
import { createMemory, type Memory } from '../tool/memory-tool.ts';
import type { Watch } from '../tool/watch.ts';
import { createAccessRecords } from '../tree/records/access-records.ts';
import { createSightings, type Sightings } from '../tree/sightings.ts';
import { type Tenant, turningHistoryOn } from '../tree/tenant.ts';
import { createTree, type Tree } from '../tree/tree.ts';
import { createVersionCaches, type VersionCache } from '../tree/version-cache.ts';
import { createConsoleLogger } from './console-logger.ts';
import { HISTORY, refusingUnknown, SESSIONS } from './known-options.ts';
import type { MountPoint, Settings } from './settings.ts';
import type { BaseStore } from './store.ts';
import type { Upkeep } from './upkeep.ts';

/** One for all memories of the process, so that many of them on one broken store warn as one. */
const CONSOLE_LOGGER = heardLogger(createConsoleLogger());

/** Of a renamed or migrated object up to four copies are in memory at once. */
const CONCURRENT_BYTES = 33_554_432;

/** One tenant's tree with what it stands on, for entry points that need more than the six commands. */
export interface OpenTenant extends Upkeep {
  readonly tree: Tree;
  /** What the verbs stand on. */
  readonly context: Tenant;
  /** What the process knows of the tenant's keyring. */
  readonly guard: RollbackGuard;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** What the bucket keeps beside the current versions. */
  readonly versions: ObjectVersions | undefined;
  /**
   * Reaches the store and opens the keyring, which costs a GET and, for a tenant without one, a LIST; nothing is written.
   * With `lazy` this goes on beside the caller, and its failure is that of the first command. `isExpected`: that the tenant does not
   * exist is warned of, once.
   *
   * @throws MemoryError as the keyring's load, with what to do next.
   */
  reach(request?: { readonly isExpected?: boolean }): Promise<void>;
  /** Overwrites the keys, and what is held of the files. */
  wipe(): void;
  /** A memory over this tenant; all of them share one order of commands. */
  openMemory(onClose: () => Promise<void>, options?: MemoryView): Memory;
  /** Where events are told. */
  readonly watch: Watch | undefined;
}

/** How one memory differs from others of its tenant. */
interface MemoryView {
  /** With more in it than the tenant's own. */
  readonly seen?: Tree | undefined;
  /** Instead of the one in the settings. */
  readonly actor?: string | undefined;
}

/** What one tenant is wired of. */
export interface TenantWiring {
  readonly settings: Settings;
  /** Mounts of the options; an expiry looks for its tenant among them. */
  readonly points?: readonly MountPoint[] | undefined;
  readonly base: BaseStore;
  readonly tenant: TenantId;
  /** For root keys in KMS, instead of the ones in the settings. */
  readonly credentials?: AwsCredentials | undefined;
  /** Instead of the one in the settings. */
  readonly minimumEpoch?: number | undefined;
  /** What the process knows of the tenant's objects already. */
  readonly sightings?: Sightings | undefined;
  /** Instead of a cache of its own: one that shares its room with others. */
  readonly cache?: VersionCache | undefined;
  /** And of its keyring. */
  readonly guard?: RollbackGuard | undefined;
  /** Shared with other memories of the tenant in this process. */
  readonly order?: CommandOrder | undefined;
}

/** Tenants of which it was said that they keep no history, or do not exist. */
const warnedOf = new WeakSet<RollbackGuard>();

/** Days of history are given, and the tenant exists without one: nothing is kept, which is said once. */
function warnOfNoHistory(
  { keepsHistory }: LoadedKeyring,
  { settings: { history }, tenant }: TenantWiring,
  { guard, logger }: { readonly guard: RollbackGuard; readonly logger: Logger },
): void {
  if (keepsHistory || history.days === undefined || warnedOf.has(guard)) return;
  warnedOf.add(guard);
  logger.warn(
    `The tenant ${tenant} keeps no history, though days are set for it, as it exists since before: ${turningHistoryOn(tenant)} keeps it from then on.`,
  );
}

/** What is only read of a tenant that does not exist stays empty, as by a typo in its name: that is said once. */
function warnOfAbsent(
  { tenant }: TenantWiring,
  { guard, logger }: { readonly guard: RollbackGuard; readonly logger: Logger },
): void {
  if (warnedOf.has(guard)) return;
  warnedOf.add(guard);
  logger.warn(
    `Nothing was ever written for the tenant ${tenant}, which is only read here: is its name right?`,
  );
}

/** Opens the transcripts of one tenant, which the first call loads. */
export function openSessions(context: Tenant, run: Around): Sessions {
  const load = async (): Promise<Sessions> =>
    (await import('../sessions/sessions.ts')).createSessions(context);
  return lazily(run, load, SESSIONS);
}

/** Opens the history of one tenant, which the first call loads. */
export function openHistory(
  run: Around,
  {
    context,
    tree,
    ...surroundings
  }: {
    readonly context: Tenant;
    /** The tenant's own, without what is mounted in it. */
    readonly tree: Tree;
    /** The tree as its users see it, where something is mounted in it. */
    readonly seen?: Pick<Tree, 'isAlwaysDirectory'> | undefined;
    /** Who asks where a call does not say it. */
    readonly actor?: string | undefined;
    /** The versions that the bucket keeps beside the current objects. */
    readonly versions?: ObjectVersions | undefined;
    /** The days for which an expiry run keeps versions. */
    readonly retentionDays?: number | undefined;
  },
): History {
  const load = async (): Promise<History> =>
    (await import('../history/history.ts')).createHistory(context, tree, surroundings);
  return heardVerbs(lazily(run, load, HISTORY), context.logger);
}

/** Wires one tenant's parts over a store that is open already. */
export async function wireTenant(wiring: TenantWiring): Promise<OpenTenant> {
  const { settings, base, tenant, credentials, minimumEpoch } = wiring;
  const { guard = createRollbackGuard(), order = createCommandOrder() } = wiring;
  const { profile, onExists, names, expireAfterDays, limits, toolError } = settings;
  const historyDays = settings.history.days;
  const { logger = CONSOLE_LOGGER } = settings;
  const { cache = createVersionCaches(settings.cache.bytes)() } = wiring;
  const layout = createLayout({ prefix: settings.prefix, tenant });
  const events = settings.onEvent === undefined ? undefined : await import('./events.ts');
  const watch = events?.openWatch(settings, { tenant, logger });
  const plain = base.forTenant(layout);
  const store = watch?.store(plain) ?? plain;
  const rootKeys =
    credentials === undefined ? settings.rootKeys.keys : settings.rootKeys.withCredentials(credentials);
  const keyrings = createKeyringCache({
    store,
    layout,
    rootKeys,
    guard,
    ...settings.keyring,
    ...(minimumEpoch !== undefined && { minimumEpoch }),
    stamp: base.stamps.now,
    random: osRandom,
    ...(names !== undefined && { nameMode: names }),
    keepsHistory: historyDays !== undefined,
  });
  const clocks = { clock: Date.now, monotonic: () => performance.now() };
  const isLimited = limits.files !== undefined || limits.tenantBytes !== undefined;
  const context: Tenant = {
    store,
    layout,
    keyrings,
    sightings: wiring.sightings ?? createSightings(),
    cache,
    maxFileBytes: limits.fileBytes,
    readOnly: settings.readOnly,
    policy: settings.policy,
    quota:
      isLimited && !settings.readOnly
        ? (await import('../tree/admission/quota.ts')).openQuota(
            { place: base.place, tenant },
            limits,
            clocks,
          )
        : undefined,
    ...clocks,
    stamps: base.stamps,
    random: osRandom,
    pause,
    logger,
    loadSaver: async () => (await import('../history/save/version-saver.ts')).VERSION_SAVER,
    ...(expireAfterDays !== undefined && { accessRecords: createAccessRecords() }),
    concurrency: settings.concurrency,
    concurrentBytes: CONCURRENT_BYTES,
  };
  const tree = createTree(context);
  return {
    tree,
    wipe() {
      keyrings.close();
      cache.close();
    },
    context,
    guard,
    rootKeys,
    versions: base.versions,
    ...lazily<Upkeep>(
      (call) => call(),
      async () => (await import('./upkeep.ts')).createUpkeep(context, wiring),
      { verify: [0], checkpoint: [0], expire: [0] },
    ),
    async reach({ isExpected = false } = {}) {
      const loading = keyrings.load().then(
        (keyring) => {
          if (keyring === undefined) return isExpected ? warnOfAbsent(wiring, { guard, logger }) : undefined;
          return settings.readOnly ? undefined : warnOfNoHistory(keyring, wiring, { guard, logger });
        },
        async (error: unknown) => {
          if (settings.lazy) return;
          const { openingFailure } = await import('./remedy.ts');
          throw openingFailure(error, settings.nameOf);
        },
      );
      if (!settings.lazy) await loading;
    },
    watch,
    openMemory: (onClose, { seen = tree, actor = settings.actor } = {}) =>
      refusingUnknown(
        createMemory({
          tree: watch?.tree(seen) ?? seen,
          watch,
          actor,
          order,
          createSessions: (run) => openSessions(context, run),
          createHistory: (run) =>
            openHistory(run, {
              context,
              tree,
              seen,
              actor,
              versions: base.versions,
              retentionDays: historyDays,
            }),
          profile,
          onExists,
          maxFileBytes: limits.fileBytes,
          logger,
          toolError,
          async onClose() {
            await onClose();
            await watch?.closed();
          },
        }),
      ),
  };
}
