import { LONGEST_TTL_MS, type LoadedKeyring } from '../../keys/keyring-cache.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import type { Progress, Tenant } from '../../tree/tenant.ts';
import type { Finding } from '../findings.ts';
import type { KeyVersionUse } from './key-status.ts';
import { type DoneObjects, migrateOnce } from './migrate-pass.ts';
import { judgeOldKeys, readKeyringFacts, retireKeys } from './retire-keys.ts';
import { rotateKey } from './rotate.ts';

export interface MigrationProgress extends Progress {
  /** The number of the pass, from 1. */
  readonly pass: number;
  /** The end of a wait: milliseconds since the epoch, by this machine's clock. Absent while a pass is at work. */
  readonly waitingUntil?: number;
}

export interface MigrationReport {
  readonly passes: number;
  /** The number of objects that the last pass looked at. */
  readonly objects: number;
  /** Objects brought under the active key, by all passes. */
  readonly rebound: number;
  /** The number of times that another writer wrote an object first. */
  readonly skipped: number;
  /** Objects that the last pass left alone, because a rename or a turn is at work with them. */
  readonly busy: number;
  /** Objects that the last pass left to the next one, because they were written less than a minute before. */
  readonly young: number;
  readonly problems: readonly Finding[];
  /** The keys that the keyring holds at the end, each with the number of objects that the last pass left under it. */
  readonly versions: readonly KeyVersionUse[];
  /** The version that a re-encryption made before anything else, because the active key had to be replaced. */
  readonly madeKey: number | undefined;
  readonly retired: readonly number[];
  /** Old versions that stay until the damaged or too large objects among the problems are mended or removed. */
  readonly blocked: readonly number[];
  /**
   * The time from which a migration can retire the remaining old keys that are not blocked: milliseconds since the
   * epoch, by the server's clock. Undefined when every old key is retired.
   */
  readonly retireAfter: number | undefined;
  /**
   * True: a re-encryption has ended. The active key is the only one, and all objects that open have data keys drawn
   * under it. A checkpoint that is taken now later shows objects that somebody puts back from before.
   */
  readonly wantsCheckpoint: boolean;
}

export interface MigrateOptions {
  /**
   * True to seal objects whose data key is from before the active tenant key with a fresh one, instead of only binding
   * them to that key. The run first makes a new tenant key when the active key already has such an object.
   */
  readonly reencrypt?: boolean | undefined;
  /** True to continue until the old keys are retired. */
  readonly wait?: boolean | undefined;
  /** The longest time to live that any process gives its keyring; 900,000 by default. */
  readonly ttlMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: MigrationProgress) => void) | undefined;
}

type MigrateRequest = MigrateOptions & { readonly editor: KeyringEditor };

/** The most passes in a row: where each found something to write, others are simply at work. */
const MOST_PASSES = 8;
const LOOK_AGAIN_MS = 10_000;
const CATCH_UP_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** The step of a server's clock, which tells whole seconds. */
const CLOCK_STEP_MS = 1_000;

/**
 * Brings every object of the tenant under the active tenant key, and retires the other keys: they leave the keyring
 * when a pass that began at least twice `ttlMs` after the last write of the keyring found no object under them. Killed
 * at any moment it is simply run again. It reports objects that cannot be opened, and leaves them as they are.
 *
 * @throws MemoryError the errors of the store, the keyring and the root key; `aborted`.
 */
export async function migrateObjects(tenant: Tenant, options: MigrateRequest): Promise<MigrationReport> {
  const { editor, reencrypt = false, wait = false, ttlMs = LONGEST_TTL_MS, signal, onProgress } = options;
  const totals = { passes: 0, rebound: 0, skipped: 0 };
  const retired: number[] = [];
  let madeKey: number | undefined;
  /** The objects under the active key that the passes have seen until now. */
  let known: { readonly active: number; readonly done: DoneObjects } | undefined;

  for (let inARow = 1; ; inARow++) {
    const facts = await readKeyringFacts(editor, { signal });
    if (facts === undefined) return NOTHING_TO_MIGRATE;
    const keyring = await catchUp(tenant, facts.epoch, options);
    const { active } = facts;
    if (known?.active !== active) known = { active, done: new Map() };
    const endsWhereKeyIsNeeded = reencrypt && totals.passes === 0;
    totals.passes++;
    const pass = await migrateOnce({
      reencrypt,
      endsWhereKeyIsNeeded,
      tenant,
      keyring,
      done: known.done,
      signal,
      onProgress: (progress) => onProgress?.({ ...progress, pass: totals.passes }),
    });
    if (pass.needsKey) {
      const { stamps, random } = tenant;
      const given = { force: true, ifActive: active, signal };
      const { version, rotated } = await rotateKey({ editor, clock: stamps.now, random }, given);
      if (rotated) madeKey = version;
    }
    totals.rebound += pass.rebound;
    totals.skipped += pass.newer;
    const now = await tenant.keyrings.load({ signal });
    const hasMovedOn = now === undefined || now.epoch > facts.epoch;
    const mayHaveMissed = pass.needsKey || pass.rebound + pass.newer + pass.gone > 0;
    if ((hasMovedOn || mayHaveMissed) && inARow < MOST_PASSES) continue;

    const { free, blocked } = hasMovedOn ? { free: [], blocked: [] } : judgeOldKeys(facts, pass);
    const done = (old: readonly number[], writtenAt: number): MigrationReport => {
      const { objects, busy, young, problems, left } = pass;
      const isComplete = !hasMovedOn && !mayHaveMissed && busy + young === 0;
      return {
        ...totals,
        objects,
        busy,
        young,
        problems,
        madeKey,
        retired,
        blocked,
        versions: [...old, active].map((version) => ({
          version,
          active: version === active,
          objects: left.get(version) ?? 0,
        })),
        retireAfter: old.length === 0 ? undefined : writtenAt + 2 * ttlMs,
        wantsCheckpoint: reencrypt && isComplete && old.length === 0,
      };
    };
    const dueInMs = 2 * ttlMs - facts.ageMs;
    const held = facts.old.length - free.length - blocked.length;
    const isDue = dueInMs <= 0;
    const isWorthWaiting = wait && (held > 0 || pass.busy + pass.young > 0 || (!isDue && free.length > 0));
    if (isWorthWaiting) {
      await waitFor(tenant, isDue ? LOOK_AGAIN_MS : dueInMs + CLOCK_STEP_MS, options, (waitingUntil) =>
        onProgress?.({ done: pass.objects, total: pass.objects, pass: totals.passes, waitingUntil }),
      );
      inARow = 0;
      continue;
    }
    if (!isDue || free.length === 0) return done(facts.old, facts.writtenAt);
    const written = await retireKeys(editor, facts, { versions: free, signal });
    if (written === undefined) continue;
    retired.push(...free);
    return done(
      facts.old.filter((version) => !free.includes(version)),
      written.writtenAt,
    );
  }
}

/** Loads the keyring of this process, and looks past its cache until it has at least `epoch`. */
async function catchUp(tenant: Tenant, epoch: number, { signal }: MigrateOptions): Promise<LoadedKeyring> {
  let loaded = await tenant.keyrings.load({ signal });
  for (let looks = 0; loaded === undefined || loaded.epoch < epoch; looks++) {
    if (looks > 0) await tenant.pause(CATCH_UP_MS, signal);
    loaded = await tenant.keyrings.look({ signal });
  }
  return loaded;
}

/** Waits in short pieces, so that a machine that slept looks at its clocks again soon. */
async function waitFor(
  tenant: Tenant,
  ms: number,
  { signal }: MigrateOptions,
  report: (until: number) => void,
): Promise<void> {
  const until = tenant.clock() + ms;
  for (let rest = ms; rest > 0; rest = until - tenant.clock()) {
    report(until);
    await tenant.pause(Math.min(rest, LONGEST_PAUSE_MS), signal);
  }
}

/** The report for a tenant without a keyring. */
const NOTHING_TO_MIGRATE: MigrationReport = {
  passes: 0,
  objects: 0,
  rebound: 0,
  skipped: 0,
  busy: 0,
  young: 0,
  problems: [],
  versions: [],
  madeKey: undefined,
  retired: [],
  blocked: [],
  retireAfter: undefined,
  wantsCheckpoint: false,
};
