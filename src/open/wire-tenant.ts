import { createLayout, type TenantId } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../format/sizes.ts';
import type { History } from '../history/history.ts';
import { createKeyringCache, type KeyringCache, type LoadedKeyring } from '../keys/keyring-cache.ts';
import { createRollbackGuard, type RollbackGuard } from '../keys/rollback-guard.ts';
import type { RootKey } from '../keys/root-key.ts';
import { type Around, lazily, within } from '../lazily.ts';
import { heardLogger, heardVerbs } from '../listeners.ts';
import type { Logger } from '../logger.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { BaseStore } from '../store/open-store.ts';
import { osRandom } from '../store/os-random.ts';
import type { ObjectVersions } from '../store/port.ts';
import type { AwsCredentials } from '../store/s3/callers-credentials.ts';
import { pause } from '../time.ts';
import { type CommandOrder, createCommandOrder } from '../tool/command-order.ts';
import { createMemory, type Memory } from '../tool/memory-tool.ts';
import type { Watch } from '../tool/watch.ts';
import { createSightings, type Sightings } from '../tree/sightings.ts';
import { type Tenant, turningHistoryOn } from '../tree/tenant.ts';
import { createTree, type Tree } from '../tree/tree.ts';
import { createVersionCaches, type VersionCache } from '../tree/version-cache.ts';
import { createConsoleLogger } from './console-logger.ts';
import { followTree, type PlaceNow } from './followed-tree.ts';
import { HISTORY, refusingUnknown, SESSIONS } from './options/known-options.ts';
import type { MountPoint, Settings } from './options/settings.ts';
import type { Upkeep } from './upkeep.ts';

/** The default logger of all memories of the process, so that many of them on one broken store warn as one. */
const CONSOLE_LOGGER = heardLogger(createConsoleLogger());

/**
 * The most bytes of objects that are worked on at once: memory holds up to four copies of a renamed or migrated object.
 */
const CONCURRENT_BYTES = 33_554_432;

/** One tenant's tree with the parts below it, for entry points that need more than the six commands. */
export interface OpenTenant extends Upkeep {
  readonly tree: Tree;
  /** The tenant on which the verbs stand. */
  readonly context: Tenant;
  /** The process's memory of the tenant's keyring. */
  readonly guard: RollbackGuard;
  /** The root keys: the first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** The versions that the bucket keeps beside the current ones. */
  readonly versions: ObjectVersions | undefined;
  /**
   * Reaches the store and opens the keyring, which costs a GET and, for a tenant without one, a LIST; nothing is
   * written. With `lazy` this goes on beside the caller, and its failure is that of the first command. `isExpected`: a
   * tenant that does not exist is warned of, once.
   *
   * @throws MemoryError as the keyring's load, with what to do next.
   */
  reach(request?: {
    readonly isExpected?: boolean;
    readonly signal?: AbortSignal | undefined;
  }): Promise<void>;
  /** Overwrites the keys and the held files. */
  wipe(): void;
  /** Opens a memory over this tenant; all of them share one order of commands. */
  openMemory(onClose: () => Promise<void>, options?: MemoryView & StandingPlace): Memory;
  /** Makes the place on which the calls of one memory stand. */
  placeOf(view?: MemoryView): MemoryPlace;
  /** The watch to which events are told. */
  readonly watch: Watch | undefined;
}

/** The differences of one memory from others of its tenant. */
interface MemoryView {
  /** A tree that shows more than the tenant's own. */
  readonly seen?: Tree | undefined;
  /** The actor, instead of the one in the settings. */
  readonly actor?: string | undefined;
}

/** The place of a memory, where its caller has made one. */
interface StandingPlace {
  readonly place?: MemoryPlace | undefined;
  /** Runs around each call and gives it the place where it belongs, for a tenant whose settings may change. */
  readonly now?: PlaceNow<MemoryPlace> | undefined;
}

/** The parts that the calls of one memory stand on. */
export interface MemoryPlace {
  readonly tree: Tree;
  readonly sessions: Sessions;
  readonly history: History;
  readonly keyrings: KeyringCache;
}

/** The parts from which one tenant is wired. */
export interface TenantWiring {
  readonly settings: Settings;
  /** Mounts of the options; an expiry looks for its tenant among them. */
  readonly points?: readonly MountPoint[] | undefined;
  readonly base: BaseStore;
  readonly tenant: TenantId;
  /** Credentials for root keys in KMS, instead of those in the settings. */
  readonly credentials?: AwsCredentials | undefined;
  /** The least epoch, instead of the one in the settings. */
  readonly minimumEpoch?: number | undefined;
  /** The process's sightings of the tenant's objects so far. */
  readonly sightings?: Sightings | undefined;
  /** A cache that shares its room with others; absent: the tenant gets one of its own. */
  readonly cache?: VersionCache | undefined;
  /** The process's memory of the tenant's keyring so far. */
  readonly guard?: RollbackGuard | undefined;
  /** The mount through which the tenant is seen in another memory; absent: it is seen by itself. */
  readonly mount?:
    | (Pick<MountPoint, 'expires'> & {
        /** Makes failures of the keyring say that it is the mounted tenant's. */
        asMounted(keyrings: KeyringCache): KeyringCache;
      })
    | undefined;
  /** Hears that this process has begun the tenant, in the place of the logger, whose lines name no tenant. */
  readonly onBegun?: (() => void) | undefined;
  /** The order of commands that other memories of the tenant in this process share. */
  readonly order?: CommandOrder | undefined;
}

/** Tenants of which the process has already warned: those without history, and those that do not exist. */
const warnedOf = new WeakSet<RollbackGuard>();

/** Warns, once, that a tenant keeps no history although days of history are given: it existed before they were. */
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

/** Warns, once, that a tenant which is only read does not exist, perhaps by a typo in its name, and so stays empty. */
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

const plainly: Around = (call) => call();

/** Opens the history of one tenant, which the first call loads. */
export function openHistory(
  run: Around,
  {
    context,
    tree,
    ...surroundings
  }: {
    readonly context: Tenant;
    /** The tenant's own tree, without its mounts. */
    readonly tree: Tree;
    /** The tree as its users see it, where it has mounts. */
    readonly seen?: Pick<Tree, 'isAlwaysDirectory'> | undefined;
    /** The actor of calls that name none. */
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
  const { wording, onExists, names, expireAfterDays, limits, toolError } = settings;
  const historyDays = settings.history.days;
  // The days of a mounted tenant may be in its own settings, and those of the memory around it be others.
  const recordsReads = expireAfterDays !== undefined || wiring.mount?.expires === true;
  const { logger = CONSOLE_LOGGER } = settings;
  const { cache = createVersionCaches(settings.cache.bytes)() } = wiring;
  const layout = createLayout({ prefix: settings.prefix, tenant });
  const events = settings.onEvent === undefined ? undefined : await import('./events.ts');
  const watch = events?.openWatch(settings, { tenant, logger });
  const plain = base.forTenant(layout);
  const store = watch?.store(plain) ?? plain;
  const rootKeys =
    credentials === undefined ? settings.rootKeys.keys : settings.rootKeys.withCredentials(credentials);
  const own = createKeyringCache({
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
    createTenants: settings.createTenants,
    onBegun: wiring.onBegun ?? (() => logger.info('a tenant was begun')),
  });
  const keyrings = wiring.mount?.asMounted(own) ?? own;
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
    ...(recordsReads && {
      accessRecords: (await import('../admin/expiry/access-records.ts')).createAccessRecords(),
    }),
    concurrency: settings.concurrency,
    concurrentBytes: CONCURRENT_BYTES,
  };
  const tree = createTree(context);
  const placeOf: OpenTenant['placeOf'] = ({ seen = tree, actor = settings.actor } = {}) => ({
    tree: watch?.tree(seen) ?? seen,
    sessions: openSessions(context, plainly),
    history: openHistory(plainly, {
      context,
      tree,
      seen,
      actor,
      versions: base.versions,
      retentionDays: historyDays,
    }),
    keyrings,
  });
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
    async reach({ isExpected = false, signal } = {}) {
      const loading = keyrings.load({ ...(signal && { signal }) }).then(
        (keyring) => {
          if (keyring === undefined) return isExpected ? warnOfAbsent(wiring, { guard, logger }) : undefined;
          return settings.readOnly ? undefined : warnOfNoHistory(keyring, wiring, { guard, logger });
        },
        async (error: unknown) => {
          if (settings.lazy) return;
          const { openingFailure } = await import('./options/remedy.ts');
          throw openingFailure(error, settings.nameOf);
        },
      );
      if (!settings.lazy) await loading;
    },
    watch,
    placeOf,
    openMemory(onClose, { now, place: made, ...view } = {}) {
      const place = made ?? placeOf(view);
      const asked = now ?? ((call) => call(place));
      return refusingUnknown(
        createMemory({
          tree: now === undefined ? place.tree : followTree(now, place.tree),
          watch,
          actor: view.actor ?? settings.actor,
          order,
          createSessions: (run) =>
            within(
              (call, request) => run(() => asked(({ sessions }) => call(sessions), request), request),
              SESSIONS,
            ),
          createHistory: (run) =>
            heardVerbs(
              within(
                (call, request) => run(() => asked(({ history }) => call(history), request), request),
                HISTORY,
              ),
              logger,
            ),
          wording,
          onExists,
          // The tree of another view has another limit, and judges by it.
          maxFileBytes: now === undefined ? limits.fileBytes : MAX_CONTENT_BYTES,
          logger,
          toolError,
          async onClose() {
            await onClose();
            await watch?.closed();
          },
        }),
      );
    },
  };
}
