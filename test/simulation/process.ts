import { verifyTree } from '../../src/admin/verify/verify.ts';
import { MemoryError } from '../../src/errors.ts';
import type { RandomBytes } from '../../src/format/sodium.ts';
import { createHistory } from '../../src/history/history.ts';
import { VERSION_SAVER } from '../../src/history/save/version-saver.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyringCache, type LoadedKeyring } from '../../src/keys/keyring-cache.ts';
import { guardDeletes } from '../../src/store/guarded-delete.ts';
import type { ObjectStore } from '../../src/store/port.ts';
// Loaded now: virtual time would pass while it is loaded by the first rename.
import '../../src/history/change/redact.ts';
import '../../src/tree/list-parts.ts';
import '../../src/tree/remove.ts';
import '../../src/tree/rename/rename.ts';
import '../../src/tree/rename/lease.ts';
import '../../src/tree/rename/rename-directory.ts';
import { createStamps } from '../../src/stamps.ts';
import { createSightings, type Sightings } from '../../src/tree/sightings.ts';
import type { HistorySaver, Tenant } from '../../src/tree/tenant.ts';
import { createTree } from '../../src/tree/tree.ts';
import { createVersionCaches, DEFAULT_CACHE_BYTES } from '../../src/tree/version-cache.ts';
import { memoryOf } from '../stage/client-memory.ts';
import { silentLogger } from '../stage/silent-logger.ts';
import type { Chance } from './chance.ts';
import { createConnection } from './connection.ts';
import type { Weather } from './faults.ts';
import {
  type Alarm,
  type Command,
  describeCommand,
  describeResult,
  type History,
  type Operation,
  type Result,
  underWay,
} from './history.ts';
import { createLife, type Fate, type Life } from './life.ts';
import { type Chore, createOperator, TTL_MS } from './operator.ts';
import { failureOf, recordCommands } from './record-commands.ts';
import type { Scheduler } from './scheduler.ts';
import type { Server } from './server.ts';
import { createSimStore, type StoreClass } from './sim-store.ts';
import { LAYOUT, ROOT_KEY } from './tenant.ts';
import type { Trace } from './trace.ts';

/** The things that all processes of one simulation share. */
export interface World {
  readonly scheduler: Scheduler;
  readonly server: Server;
  readonly storeClass: StoreClass;
  readonly trace: Trace;
  readonly history: History;
  readonly weather: () => Weather;
  readonly keeping: Keeping;
  /** True where a process undoes and restores beside the others. */
  readonly takesBack: boolean;
  /** A deliberate bug; none unless a test is about whether it would be found. */
  readonly bug: Bug;
}

/**
 * The times at which the tenant keeps history: never, from its beginning, or from a moment on that processes learn of
 * late.
 */
export const KEEPINGS = ['never', 'always', 'turned on'] as const;
export type Keeping = (typeof KEEPINGS)[number];

/**
 * Answers the time for which a process may work with a keyring: where history is turned on, less than its commands
 * take.
 */
export function ttlOf(keeping: Keeping): number {
  return keeping === 'turned on' ? 2_000 : TTL_MS;
}

/** Stands between a process and its store, above and below the wrapper that guards deletes. */
export interface Bug {
  above?(store: ObjectStore, life: Life): ObjectStore;
  below?(store: ObjectStore, life: Life): ObjectStore;
  /** Draws instead of the process. */
  random?(random: RandomBytes): RandomBytes;
  /** Judges what a process sees instead of the process's own sightings. */
  sightings?(): Sightings;
  /** Stands before the saver of versions. */
  saver?(saver: HistorySaver, context: Tenant): HistorySaver;
  /** Chooses the actor of a command while others of the process are under way. */
  actor?(actor: string | undefined, open: ReadonlySet<Operation>): string | undefined;
}

/** One simulated process: a memory with caches of its own. */
export interface Process {
  readonly life: Life;
  /** Carries a command out and puts it into the history; never settles once the process is dead. */
  run(command: Command): Promise<Result>;
  /** Looks through the whole tree, past the order of commands. What it finds is no part of the history. */
  verify(): Promise<void>;
  /** Undoes what an actor did, or restores a version or a moment; each write of it is a command in the history. */
  takeBack(): Promise<void>;
  /** Takes the text of some version that was replaced out of the history. */
  redact(): Promise<void>;
  /** Makes the tenant keep its history, and answers whether it certainly does. */
  turnHistoryOn(): Promise<boolean>;
  /** Does what an operator does beside all commands. What goes wrong with it is no part of the history. */
  operate(chore: Chore): Promise<void>;
  /** The keyring as the process has it in its cache, once a command has needed it. */
  keyring(): Promise<LoadedKeyring | undefined>;
}

/** The most by which the clocks of processes are off, in milliseconds. */
const MOST_SKEW_MS = 120_000;
const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
/** Larger differences of clocks: hours, and months where history is kept, whose order no clock may decide. */
const FAR_SKEWS_MS = {
  never: [0, -11 * HOUR_MS, 5 * HOUR_MS, 400 * DAY_MS, 400 * DAY_MS + 5 * HOUR_MS],
  kept: [0, 0, -30 * DAY_MS, 400 * DAY_MS],
} as const;

const ACTORS = ['ann', 'bob'] as const;

/** The sizes of caches: room for all that a process reads, for two files, and for none. */
const CACHE_BYTES = [DEFAULT_CACHE_BYTES, DEFAULT_CACHE_BYTES, DEFAULT_CACHE_BYTES, 1_500, 0] as const;

export function createProcess(
  world: World,
  options: { readonly name: string; readonly chance: Chance; readonly fates: readonly Fate[] },
): Process {
  const { scheduler, trace, history, storeClass, bug } = world;
  const { name, chance } = options;
  const open = new Set<Operation>();
  const life = createLife({ name, scheduler, trace, fates: options.fates });
  life.onKill(() => open.clear());
  const network = chance.fork('network');
  const connection = createConnection({
    life,
    scheduler,
    trace,
    open,
    chance: network,
    weather: world.weather,
  });
  const random: RandomBytes = (length) => chance.bytes(length);
  const own = { random: bug.random?.(random) ?? random, pause: life.pause };
  const far = chance.fork('clock').pick(FAR_SKEWS_MS[world.keeping === 'never' ? 'never' : 'kept']);
  const skew = chance.between(-MOST_SKEW_MS, MOST_SKEW_MS) + far;
  const actors = chance.fork('actors');
  const clock = (): number => Math.floor(scheduler.now() + skew);
  const plain = createSimStore({ ...world, connection, chance: network });
  const beneath = bug.below?.(plain, life) ?? plain;
  const guarded =
    storeClass === 'guarded'
      ? beneath
      : guardDeletes(beneath, {
          ...own,
          clock: life.monotonic,
          wallClock: clock,
          fraction: () => chance.fraction(),
        });
  const store = bug.above?.(guarded, life) ?? guarded;
  const keyrings = createKeyringCache({
    store,
    layout: LAYOUT,
    rootKeys: [envRootKey(ROOT_KEY, { random: own.random })],
    nameMode: 'plain',
    keepsHistory: world.keeping === 'always',
    ttlMs: ttlOf(world.keeping),
    clock,
    monotonic: life.monotonic,
    random: own.random,
  });
  const context: Tenant = {
    ...own,
    store,
    layout: LAYOUT,
    keyrings,
    sightings: noteAlarms(bug.sightings?.() ?? createSightings(), (sighting) => {
      history.alarms.push({ ...sighting, at: scheduler.now(), process: name });
      trace.note(name, `sees a version that was put back at ${sighting.key}`);
    }),
    cache: createVersionCaches(chance.fork('cache').pick(CACHE_BYTES))(),
    concurrency: 32,
    concurrentBytes: 33_554_432,
    monotonic: life.monotonic,
    stamps: createStamps({ clock, monotonic: life.monotonic }),
    maxFileBytes: 100_000,
    clock,
    logger: silentLogger,
    loadSaver: async () => bug.saver?.(VERSION_SAVER, context) ?? VERSION_SAVER,
  };
  const tree = createTree(context);
  const operator = createOperator({
    context,
    plain: beneath,
    storeClass,
    wallClock: clock,
    maySeeDamage: () => history.alarms.length > 0 || history.lateFiles.length > 0,
  });
  const memory = memoryOf({ tree, tenant: context });

  const begin = (command: Command, by: Pick<Operation, 'actor' | 'restores'>): Operation => {
    const start = scheduler.now();
    const operation: Operation = {
      id: history.operations.length + 1,
      process: name,
      command,
      ...by,
      start,
      end: undefined,
      result: undefined,
      wrote: false,
      lastExecuted: start,
      looked: [],
      landed: [],
    };
    history.operations.push(operation);
    return operation;
  };
  const opened = (operation: Operation): void => {
    open.add(operation);
    trace.note(`${name}#${operation.id}`, `── ${describeCommand(operation.command)}`);
  };
  const ended = (operation: Operation, result: Result): void => {
    operation.result = result;
    operation.end = scheduler.now();
    open.delete(operation);
    trace.note(`${name}#${operation.id}`, `── ${describeResult(result)}`);
  };
  /** The actor of an undo or a restore. */
  let asker: string | undefined;
  const restoring = createHistory(
    context,
    recordCommands(tree, async (command, act) => {
      const operation = begin(command, { actor: asker, restores: true });
      opened(operation);
      return underWay.run(operation, async () => {
        try {
          const done = await act();
          ended(operation, { ok: true, content: 'done' });
          return done;
        } catch (error) {
          ended(operation, failureOf(command, error));
          throw error;
        }
      });
    }),
  );

  return {
    life,
    keyring: () => keyrings.load(),
    async takeBack() {
      asker = ACTORS[actors.between(0, ACTORS.length)];
      const call = asker === undefined ? {} : { actor: asker };
      try {
        const what = actors.pick(['undo', 'restoreAt', 'restore'] as const);
        trace.note(name, `── ${what}`);
        if (what === 'undo')
          return void (await restoring.undo({
            writer: actors.pick(ACTORS),
            force: actors.happens(0.3),
            ...call,
          }));
        const entries = await restoring.list();
        const entry = entries[actors.between(0, Math.max(0, entries.length - 1))];
        if (entry === undefined) return;
        if (what === 'restore') await restoring.restore(entry, call);
        else
          await restoring.restoreAt(new Date(entry.time.getTime() + actors.between(0, 1)), {
            partial: actors.happens(0.5),
            ...call,
          });
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
        trace.note(name, `── ${error.code}`);
      }
    },
    async redact() {
      try {
        const replaced = (await memory.history.list()).filter(
          (entry) => entry.kind === 'written' && entry.end === 'replaced' && entry.text === 'kept',
        );
        const version = replaced[actors.between(0, replaced.length)];
        if (version === undefined) return;
        trace.note(name, `── redact ${version.path} ${version.version}`);
        history.redactions.set(version.version, 'asked');
        await memory.history.redact(version);
        history.redactions.set(version.version, 'done');
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
      }
    },
    turnHistoryOn: () =>
      operator('history').then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof MemoryError)) throw error;
          return false;
        },
      ),
    async operate(chore) {
      trace.note(name, `── ${chore}`);
      await operator(chore).catch((error: unknown) => {
        if (!(error instanceof MemoryError)) throw error;
        trace.note(name, `── ${error.code}`);
      });
    },
    async verify() {
      await verifyTree(context).catch((error: unknown) => {
        if (!(error instanceof MemoryError)) throw error;
      });
    },
    run(command) {
      const actor = ACTORS[actors.between(0, ACTORS.length)];
      const operation = begin(command, { actor, restores: false });
      const asked = bug.actor === undefined ? actor : bug.actor(actor, open);
      opened(operation);
      return underWay.run(operation, async () => {
        const answer = await memory.execute(command, { actor: asked });
        const result: Result = answer.isError
          ? { ok: false, code: answer.error.code, reason: text(answer.error.details['reason']) }
          : { ok: true, content: typeof answer.content === 'string' ? answer.content : '' };
        ended(operation, result);
        return result;
      });
    },
  };
}

/** Wraps the sightings, and reports each of their refusals. */
function noteAlarms(
  sightings: Sightings,
  note: (sighting: Pick<Alarm, 'key' | 'version'>) => void,
): Sightings {
  return {
    ...sightings,
    saw(sighting) {
      try {
        sightings.saw(sighting);
      } catch (error) {
        note({ key: sighting.key, version: sighting.version });
        throw error;
      }
    },
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
