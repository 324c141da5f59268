import type { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { createTree } from '../../src/tree/tree.ts';
import { type Chance, createChance } from '../simulation/chance.ts';
import type { Command, Result } from '../simulation/history.ts';
import { memoryOf } from '../stage/client-memory.ts';
import { silentLogger } from '../stage/silent-logger.ts';
import { type Around, interceptStore, noAnswer } from '../stage/store-wrappers.ts';
import { createSite, type StoreKind, type TestSite } from '../stage/test-tree.ts';
import { readLog } from './judge-log.ts';
import { CLIENTS, type Kind, planHistory } from './plan.ts';
import { type Played, type Player, type RecordedHistory, recordHistory } from './recording.ts';

/** A deliberate mistake in every process of a history: in how it uses its store, or in how it answers. */
export interface RacedSeam {
  store?(store: ObjectStore, life: BuggyLife): ObjectStore;
  run?(run: Run, life: BuggyLife): Run;
}

type Run = (command: Command) => Promise<Result>;

/** The facts that a seeded bug may know of its process. */
export interface BuggyLife {
  /** The command under way. */
  command(): Command['command'] | undefined;
  isFile(key: ObjectKey): boolean;
  isHistory(key: ObjectKey): boolean;
  readonly chance: Chance;
  /** The store without what makes deletes guarded. */
  readonly base: ObjectStore;
  pause(ms: number): Promise<void>;
}

const LONGEST_DELAY_MS = 40;

/**
 * Records a history of processes that are none: memories with caches of their own over one store, in virtual time,
 * whose requests and answers are late and get lost, and which die. The same seed gives the same history.
 */
export async function recordRace(race: {
  readonly seed: string;
  readonly kind: Kind;
  readonly storeKind: StoreKind;
  readonly bug?: RacedSeam | undefined;
  readonly history?: 'kept' | 'not kept';
}): Promise<RecordedHistory> {
  const { seed, kind, storeKind, bug, history: keeping = 'not kept' } = race;
  const keepsHistory = keeping === 'kept';
  const chance = createChance(`race ${seed}`);
  const site = await createSite(storeKind, chance.between(1, 1_000_000));
  let instant = 0;
  const now = (): number => ++instant;
  const players = await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) =>
      createRacer({ site, keepsHistory, bug, now, chance: chance.fork(`${at}`) }),
    ),
  );
  const observer = await createRacer({
    site,
    keepsHistory,
    bug: undefined,
    now,
    chance: chance.fork('observer'),
    calm: true,
  });
  const pause = (ms: number): Promise<void> => site.time.pause(ms);
  const history = await recordHistory({
    plan: planHistory(seed, kind, keeping),
    players,
    observer,
    chance: chance.fork('rests'),
    pause,
    // Whatever is still on its way arrives meanwhile.
    calm: () => pause(5_000),
    settled: async () => {
      await pause(2 * LONGEST_DELAY_MS + 1);
      return now();
    },
    resends: false,
  });
  await site.base[Symbol.asyncDispose]();
  return history;
}

interface Racer {
  readonly site: TestSite;
  readonly keepsHistory: boolean;
  readonly bug: RacedSeam | undefined;
  readonly now: () => number;
  readonly chance: Chance;
  readonly calm?: boolean;
}

/** Plays one process after the other: a new one takes the place of one that has died. */
async function createRacer(racer: Racer): Promise<Player> {
  const { now, chance, site, calm = false } = racer;
  let lives = 0;
  const born = (): Promise<Life> => startLife(racer, chance.fork(`life ${++lives}`), calm);
  let life = await born();
  return {
    async run(_, command): Promise<Played> {
      if (life.isDead()) {
        await site.time.pause(chance.fraction() * 100);
        life = await born();
      }
      const call = now();
      const result = await Promise.race([life.run(command), life.died]);
      return { call, end: now(), result };
    },
    log: () => readLog(life.history),
  };
}

interface Life {
  readonly run: Run;
  readonly history: Memory['history'];
  readonly died: Promise<undefined>;
  isDead(): boolean;
}

async function startLife({ site, keepsHistory, bug }: Racer, chance: Chance, calm: boolean): Promise<Life> {
  const client = await site.client({ delayMs: LONGEST_DELAY_MS, keepsHistory });
  const { tenant } = await client.open();
  const death = Promise.withResolvers<undefined>();
  const lastRequest = chance.happens(0.25) && !calm ? chance.between(1, 25) : Number.POSITIVE_INFINITY;
  let [requests, dead] = [0, false];
  const around: Around = async (call, proceed) => {
    if (dead) return new Promise<never>(() => {});
    if (++requests > lastRequest) {
      dead = true;
      // It dies before its request has left it, or while that is on its way.
      if (chance.happens(0.5)) void proceed().catch(() => {});
      death.resolve(undefined);
      return new Promise<never>(() => {});
    }
    const isWrite = call.verb === 'put' || call.verb === 'delete';
    if (calm || !isWrite || !chance.happens(0.04)) return proceed();
    if (chance.happens(0.5)) await proceed();
    throw noAnswer();
  };
  let underWay: Command['command'] | undefined;
  const buggy: BuggyLife = {
    command: () => underWay,
    isFile: (key) => key.startsWith(client.layout.data),
    isHistory: (key) => key.startsWith(`${client.layout.tenantPrefix}history/`),
    chance,
    base: site.base,
    pause: (ms) => site.time.pause(ms),
  };
  const faulty = interceptStore(tenant.store, around);
  const store = bug?.store?.(faulty, buggy) ?? faulty;
  const tree = createTree({ ...tenant, store, logger: silentLogger });
  const memory = memoryOf({ tree, tenant });
  const run: Run = async (command) => {
    underWay = command.command;
    return resultOf(memory, command);
  };
  return {
    run: bug?.run?.(run, buggy) ?? run,
    history: memory.history,
    died: death.promise,
    isDead: () => dead,
  };
}

async function resultOf(memory: Memory, command: Command): Promise<Result> {
  const answer = await memory.execute(command);
  if (!answer.isError) return { ok: true, content: String(answer.content) };
  const { code, details } = answer.error as MemoryError;
  const reason = details['reason'];
  return { ok: false, code, reason: typeof reason === 'string' ? reason : undefined };
}
