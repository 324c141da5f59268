import type { CheckpointOptions, CheckpointReport } from '../admin/checkpoints/checkpoint.ts';
import type { ExpiryOptions, TenantExpiry } from '../admin/expiry/expire.ts';
import type { ExportOptions, ExportReport } from '../admin/export/export-tree.ts';
import type { KeyStatus } from '../admin/keys/key-status.ts';
import type { MigrateOptions, MigrationReport } from '../admin/keys/migrate.ts';
import type { RootKeyStatus } from '../admin/keys/root-key-status.ts';
import type { RewrapOptions, RewrapReport, RotateOptions, RotateReport } from '../admin/keys/rotate.ts';
import type { ShredOptions, ShredReport } from '../admin/keys/shred.ts';
import type { HistorySwitch } from '../admin/keys/turn-history.ts';
import type { VerifyOptions, VerifyReport } from '../admin/verify/verify.ts';
import { MemoryError } from '../errors.ts';
import { fileKey, parseFileKey } from '../format/object-keys.ts';
import type { History } from '../history/history.ts';
import type { LoadedKeyring } from '../keys/keyring-cache.ts';
import { parseMemoryPath } from '../language/path.ts';
import { lazily } from '../lazily.ts';
import { heardVerbs } from '../listeners.ts';
import type { RequestOptions } from '../store/port.ts';
import { openTenant } from './open-memory.ts';
import { CALL, guarded, guardedHistory, type KnownNames, SIGNAL } from './options/known-options.ts';
import type { MemoryOptions } from './options/options.ts';
import { openHistory } from './wire-tenant.ts';

/**
 * The verbs of an operator for one tenant's keys and objects; docs/keys.md is the guide. Every verb may run while
 * workers write and takes a `signal`; one that was killed or aborted is simply run again. Failures throw `MemoryError`;
 * with `readOnly` every verb that writes is refused as `read_only`.
 */
export interface TenantAdmin extends AsyncDisposable {
  readonly tenant: string;
  /** Tells the keys in the keyring, and the root key that wraps it. */
  keyStatus(options?: RequestOptions): Promise<KeyStatus>;
  /** Tells the ids of the configured root keys, and which of them wraps the keyring; never a key. */
  rootKeyStatus(options?: RequestOptions): Promise<RootKeyStatus>;
  /** Gives the tenant a new key, which seals from now on. */
  rotate(options?: RotateOptions): Promise<RotateReport>;
  /**
   * Brings every object under the active key and retires the others. `ttlMs`, 60,000–900,000, is the longest time to
   * live that any process gives its keyring.
   */
  migrate(options?: MigrateOptions): Promise<MigrationReport>;
  /** Has the first configured root key wrap the keyring. */
  rewrapRoot(options?: RewrapOptions): Promise<RewrapReport>;
  /** The history of the tenant's files. */
  readonly history: History;
  /**
   * Makes all writers of the tenant keep its history, or cease to. Each follows within the time to live of its keyring,
   * 15 minutes at most; saved versions stay until they expire. Turning history on gives a tenant without a write its
   * keyring. `anew`, after a restore on purpose: history stays on, and its records from before then no longer accuse
   * files.
   */
  switchHistory(to: 'on' | 'off' | 'anew', options?: RequestOptions): Promise<HistorySwitch>;
  /** Destroys the tenant's keys for good, and with them all that is sealed under them. */
  shred(options?: ShredOptions): Promise<ShredReport>;
  /** Answers the object key of the file at a path, whether it exists or not. */
  encodeName(path: string, options?: RequestOptions): Promise<string>;
  /** Answers the path of the file under an object key; undefined when no writer of this tenant made that key. */
  decodeName(key: string, options?: RequestOptions): Promise<string | undefined>;
  /** Reads and opens every stored object. */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /**
   * Writes down which version each file has, and returns the line with which `verify({ since })` later tells what was
   * put back or dropped (docs/checkpoints.md). With `since` it compares first, and writes nothing where it
   * finds an alarm.
   */
  checkpoint(options?: CheckpointOptions): Promise<CheckpointReport>;
  /**
   * Deletes expired files and records, in two runs an hour or more apart (docs/worker.md, "Expiry"). `afterDays` goes
   * before the configured days.
   *
   * @throws MemoryError `misconfigured` when days are given but none are configured, unless it is a dry run: without
   * configured days reads are not recorded, and files that are only read would expire.
   */
  expire(options?: ExpiryOptions): Promise<TenantExpiry>;
  /** Writes every file, opened and checked, as plaintext into a new folder. */
  export(request: ExportOptions): Promise<ExportReport>;
  close(): Promise<void>;
}

const OPTIONS: KnownNames<
  TenantAdmin,
  Exclude<keyof TenantAdmin, 'tenant' | 'history' | 'close' | typeof Symbol.asyncDispose>
> = {
  keyStatus: [0, SIGNAL],
  rootKeyStatus: [0, SIGNAL],
  rotate: [0, { ...SIGNAL, force: true, ifActive: true }],
  migrate: [0, { ...SIGNAL, reencrypt: true, wait: true, ttlMs: true, onProgress: true }],
  rewrapRoot: [0, { ...SIGNAL, force: true }],
  switchHistory: [1, SIGNAL],
  shred: [0, { ...SIGNAL, ttlMs: true, onProgress: true }],
  encodeName: [1, SIGNAL],
  decodeName: [1, SIGNAL],
  verify: [0, { ...CALL, repair: true, since: true, historyDays: true }],
  checkpoint: [0, { ...CALL, since: true, historyDays: true }],
  expire: [
    0,
    {
      ...CALL,
      afterDays: true,
      historyDays: true,
      recordDays: true,
      conversationDays: true,
      dryRun: true,
    },
  ],
  export: [0, { ...CALL, to: true }],
};

/**
 * The time to live of an administration's keyring (milliseconds): short, because its verbs must see the keyring as it
 * is.
 */
const ADMIN_TTL_MS = 60_000;

/** Opens the administration as `openAdmin` does, which loads this module. */
export async function openTenantAdmin(given: MemoryOptions): Promise<TenantAdmin> {
  const options: MemoryOptions = Object(given);
  const keyring = { ...options.keyring, ttlMs: ADMIN_TTL_MS };
  const mounts = new Set((options.mounts ?? []).map(({ at }) => parseMemoryPath(at)));
  const { parts, settings, close } = await openTenant({
    ...options,
    // Who looks after tenants may begin one.
    ...(options.createTenants === false && { createTenants: true }),
    keyring,
  });
  const { context, tree, rootKeys, versions, guard, watch } = parts;
  const closeWatched = async (): Promise<void> => {
    await close();
    await watch?.closed();
  };
  const { layout, keyrings } = context;
  const operator = lazily(
    (call) => call(),
    async () =>
      (await import('../admin/operator-verbs.ts')).createOperatorVerbs(context, {
        rootKeys,
        guard,
        versions,
      }),
    {
      keyStatus: [0],
      rootKeyStatus: [0],
      rotate: [0],
      migrate: [0],
      rewrapRoot: [0],
      switchHistory: [1],
      shred: [0],
      export: [0],
    },
  );

  async function loadKeyring({ signal }: RequestOptions): Promise<LoadedKeyring> {
    const loaded = await keyrings.load({ signal });
    if (loaded !== undefined) return loaded;
    throw new MemoryError('not_found', 'nothing was ever written for this tenant; is its name right?');
  }

  const verbs: TenantAdmin = {
    tenant: layout.tenant,
    ...operator,
    history: guardedHistory(
      openHistory((call) => call(), {
        context,
        tree,
        versions,
        seen: { isAlwaysDirectory: (path) => mounts.has(path) },
        actor: settings.actor,
        retentionDays: settings.history.days,
      }),
    ),
    encodeName: async (path, request = {}) => {
      const { names } = await loadKeyring(request);
      return fileKey(layout, names, parseMemoryPath(path));
    },
    decodeName: async (key, request = {}) => {
      const { names } = await loadKeyring(request);
      return parseFileKey(layout, names, key);
    },
    verify: (request) => parts.verify({ actor: settings.actor, ...request }),
    checkpoint: (request) => parts.checkpoint({ actor: settings.actor, ...request }),
    expire: async (request = {}) => {
      const recordsReads = settings.expireAfterDays !== undefined;
      if (request.afterDays !== undefined && !recordsReads && !request.dryRun) {
        throw new MemoryError(
          'misconfigured',
          `${settings.nameOf('expireAfterDays')} is not set, so reads are not recorded and nothing may expire.`,
        );
      }
      return parts.expire(request);
    },
    close: closeWatched,
    [Symbol.asyncDispose]: closeWatched,
  };
  const admin = heardVerbs(verbs, context.logger);
  return guarded('admin', watch?.verbs('admin', admin, settings.actor) ?? admin, OPTIONS);
}
