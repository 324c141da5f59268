import { type ExpiryOptions, expireTree, type TenantExpiry } from '../admin/expire.ts';
import { type Verification, type VerifyOptions, verifyTree } from '../admin/verify.ts';
import { checkWholeNumber, MemoryError } from '../errors.ts';
import { createLayout, type Layout, type TenantId } from '../format/object-keys.ts';
import { loadSodium } from '../format/sodium.ts';
import { createKeyringCache, type KeyringCache } from '../keys/keyring-cache.ts';
import { createRollbackGuard, type RollbackGuard } from '../keys/rollback-guard.ts';
import type { RootKey } from '../keys/root-key.ts';
import { silentLogger } from '../logger.ts';
import { osRandom } from '../store/os-random.ts';
import type { ObjectStore, ObjectVersions } from '../store/port.ts';
import { pause } from '../time.ts';
import { createCommandOrder } from '../tool/command-order.ts';
import { createMemory, type Memory } from '../tool/memory-tool.ts';
import { createAccessRecords } from '../tree/access-records.ts';
import type { Session } from '../tree/session.ts';
import { createTree, type Tree } from '../tree/tree.ts';
import { createVersionHistory, type VersionHistory } from '../tree/version-history.ts';
import { type AwsCredentials, type BaseStore, shared } from './base-store.ts';
import { openBaseStore } from './open-object-store.ts';
import { type MemoryOptions, readSettings, type Settings } from './options.ts';

const DEFAULT_CONCURRENCY = 32;
const MAX_CONCURRENCY = 256;
/** Of a renamed or migrated object up to four copies are in memory at once. */
const BYTES_SIDE_BY_SIDE = 33_554_432;

/** One tenant's memory with the parts it is made of, for entry points that need more than the six commands. */
export interface TenantParts {
  readonly tree: Tree;
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly keyrings: KeyringCache;
  /** What the process knows of the tenant's keyring. */
  readonly guard: RollbackGuard;
  /** What the verbs stand on. */
  readonly context: Session;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** What the bucket keeps beside the current versions. */
  readonly versions: ObjectVersions | undefined;
  /** Reads and opens everything that is stored, past the order of commands. */
  verify(options?: VerifyOptions): Promise<Verification>;
  /** Deletes what expired, past the order of commands; files by the configured days unless others are given. */
  expire(options?: ExpiryOptions): Promise<TenantExpiry>;
  /** A memory over these parts; all of them share one order of commands. */
  memory(onClose: () => Promise<void>): Memory;
}

/**
 * Opens one tenant's memory. Nothing is read from the store before the first command.
 *
 * @throws MemoryError `misconfigured` when an option or a variable is missing, unknown or malformed.
 */
export async function openMemory(options: MemoryOptions = {}): Promise<Memory> {
  const { parts, close } = await openTenant(options);
  return parts.memory(close);
}

/** The parts of one tenant's memory, and what closes them. */
export async function openTenant(
  options: MemoryOptions = {},
): Promise<{ readonly parts: TenantParts; readonly settings: Settings; close(): Promise<void> }> {
  const settings = readSettings(options);
  const { tenant } = settings.config;
  if (tenant === undefined) throw new MemoryError('misconfigured', 'tenant is not set.');
  const base = await openStoreOf(options, settings);
  const parts = await wireTenant({ options, settings, base, tenant });
  return {
    parts,
    settings,
    async close() {
      parts.keyrings.close();
      await base[Symbol.asyncDispose]();
    },
  };
}

/** The configured store, or the caller's own, which stays open. */
export async function openStoreOf(options: MemoryOptions, { config }: Settings): Promise<BaseStore> {
  if (typeof options.store === 'object') {
    return { ...shared(options.store), [Symbol.asyncDispose]: async () => {} };
  }
  if (config.store === undefined) throw new MemoryError('misconfigured', 'store is not set.');
  return openBaseStore({
    location: config.store,
    s3: { ...config.s3, ...options.s3 },
    credentials: options.credentials,
    onRequest: options.onRequest,
  });
}

/** Wires one tenant's parts over a store that is open already. */
export async function wireTenant(wiring: {
  readonly options: MemoryOptions;
  readonly settings: Settings;
  readonly base: BaseStore;
  readonly tenant: TenantId;
  /** For root keys in KMS, instead of the ones in `options`. */
  readonly credentials?: AwsCredentials | undefined;
  /** Instead of the one in `options`. */
  readonly minimumEpoch?: number | undefined;
  /** What the process knows of the tenant's objects already. */
  readonly history?: VersionHistory | undefined;
  /** And of its keyring. */
  readonly guard?: RollbackGuard | undefined;
}): Promise<TenantParts> {
  const {
    options,
    settings,
    base,
    tenant,
    credentials,
    minimumEpoch,
    guard = createRollbackGuard(),
  } = wiring;
  const { config, rootKeys } = settings;
  await loadSodium();
  const prefix = config.store?.kind === 's3' ? config.store.prefix : '';
  const layout = createLayout({ prefix, tenant });
  const store = base.forTenant(layout);
  const wrapping = credentials === undefined ? rootKeys.keys : rootKeys.withCredentials(credentials);
  const keyrings = createKeyringCache({
    store,
    layout,
    rootKeys: wrapping,
    guard,
    ...config.keyring,
    ...(minimumEpoch !== undefined && { minimumEpoch }),
    random: osRandom,
    ...(config.names !== undefined && { nameMode: config.names }),
  });
  const logger = options.logger ?? silentLogger;
  const context: Session = {
    store,
    layout,
    keyrings,
    history: wiring.history ?? createVersionHistory(),
    maxFileBytes: config.maxFileBytes,
    clock: Date.now,
    monotonic: () => performance.now(),
    random: osRandom,
    pause,
    logger,
    ...(config.expireAfterDays !== undefined && { accessRecords: createAccessRecords() }),
    concurrency: readConcurrency(options.concurrency),
    concurrentBytes: BYTES_SIDE_BY_SIDE,
  };
  const tree = createTree(context);
  const order = createCommandOrder();
  const { profile, onExists } = config;
  const { toolError } = options;
  return {
    tree,
    store,
    layout,
    keyrings,
    guard,
    context,
    rootKeys: wrapping,
    versions: base.versions,
    verify: (request) => verifyTree(context, request),
    async expire(request = {}) {
      const report = await expireTree(context, { afterDays: config.expireAfterDays, ...request });
      const { dryRun = false, signal } = request;
      const tombstones = dryRun ? 0 : await base.buryTombstones(layout.tenantPrefix, { signal });
      return { ...report, tombstones };
    },
    memory: (onClose) => createMemory({ tree, order, profile, onExists, logger, toolError, onClose }),
  };
}

function readConcurrency(given = DEFAULT_CONCURRENCY): number {
  checkWholeNumber('concurrency', given, { least: 1, most: MAX_CONCURRENCY });
  return given;
}
