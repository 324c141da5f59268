import { OFFSET } from '../../src/format/header.ts';
import { type OpenedObject, open } from '../../src/format/object.ts';
import { type LogicalName, logicalName, type ObjectKey } from '../../src/format/object-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import type { SealingKeys } from '../../src/format/wrap.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyringCache } from '../../src/keys/keyring-cache.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import type { ETag, ObjectStore } from '../../src/store/port.ts';
import { createChance } from './chance.ts';
import { drawWeather, FAIR_WEATHER, LATEST_MS, type Weather } from './faults.ts';
import { startFleet } from './fleet.ts';
import { emptyHistory, type History } from './history.ts';
import { type Complaint, judge, pathsOf } from './judge.ts';
import { judgeKept, textIn } from './judge-kept.ts';
import type { Fate } from './life.ts';
import { type Bug, createProcess, type Keeping, type Process, type World } from './process.ts';
import { seenAttempts } from './saved-versions.ts';
import { createScheduler } from './scheduler.ts';
import { createServer } from './server.ts';
import type { StoreClass } from './sim-store.ts';
import { LAYOUT, pathOf, ROOT_KEY } from './tenant.ts';
import { createTrace } from './trace.ts';
import { createWorkload, NAMED_THEMES, THEMES, type Theme } from './workload.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly storeClass: StoreClass;
  readonly bug?: Bug;
  /** The times at which history is kept; never unless given. */
  readonly keeping?: Keeping | undefined;
  /** True where a process undoes and restores beside the others and history is kept; false unless given. */
  readonly takesBack?: boolean | undefined;
  /** The theme; the seed draws one unless it is named. */
  readonly themeName?: Theme['name'] | undefined;
  /** The weather; the seed draws one unless it is named. */
  readonly weatherName?: Weather['name'] | undefined;
  /** The fate of the first process of the fleet, in place of the fates that the seed has for all of them. */
  readonly fate?: Fate | undefined;
}

export interface Simulation {
  readonly theme: Theme['name'];
  readonly weather: Weather['name'];
  readonly complaint: Complaint;
  readonly history: History;
  /** Opens an object that was written at a path of the tree, and answers its text. */
  textOf(key: ObjectKey, body: Uint8Array): string;
  /** Lists the writes that were sealed anew after their first attempt, and who saw which. */
  attempts(): ReturnType<typeof seenAttempts>;
  /** Answers what happened, request by request. */
  trace(): readonly string[];
}

/** The time, in milliseconds, after which nothing is on its way any more and every tombstone may be taken over. */
const CALM_MS = LATEST_MS + 180_000;

/**
 * Runs one simulation: some files are made in peace, then processes work on them at once, in the weather of the seed,
 * until nothing moves any more; then a fresh process looks at everything. The same seed gives the same simulation.
 */
export async function simulate(options: SimulationOptions): Promise<Simulation> {
  const { seed, storeClass, bug = {}, themeName, weatherName, fate } = options;
  const { keeping = 'never', takesBack = false } = options;
  await loadSodium();
  const chance = createChance(`${storeClass}/${seed}`);
  const scheduler = createScheduler();
  const trace = createTrace(scheduler.now);
  const history = emptyHistory();
  const drawn = drawWeather(chance, weatherName);
  let weather: Weather = FAIR_WEATHER;
  const server = createServer(scheduler.now);
  if (keeping === 'always') history.keptSince = scheduler.now();
  const world: World = {
    scheduler,
    server,
    storeClass,
    trace,
    history,
    keeping,
    takesBack,
    bug,
    weather: () => weather,
  };
  const drawnTheme = chance.pick(THEMES);
  const theme = NAMED_THEMES.find(({ name }) => name === themeName) ?? drawnTheme;
  const workload = createWorkload(theme, chance.fork('workload'));

  const finish = async <T>(work: Promise<T>): Promise<T> => {
    let over = false;
    const ended = (): void => {
      over = true;
    };
    work.then(ended, ended);
    await scheduler.run(() => over);
    if (!over) throw new Error('a process waits for something that never comes');
    return work;
  };
  const peaceful = (name: string): Process =>
    createProcess(world, { name, chance: chance.fork(name), fates: [] });

  if (chance.happens(0.8)) {
    const founder = peaceful('founder');
    await finish(inTurn(workload.initial, (command) => founder.run(command)));
  }
  weather = drawn;
  startFleet(world, { workload, chance: chance.fork('fleet'), fate });
  await scheduler.run();
  weather = FAIR_WEATHER;
  scheduler.after(CALM_MS, () => {});
  await scheduler.run();

  const auditor = peaceful('auditor');
  const paths = [...pathsOf(history), '/memories'];
  const audit = (): Promise<void> => inTurn(paths, (path) => auditor.run({ command: 'view', path }));
  // The first look lets the auditor finish what others have left, the second one finds it finished.
  await finish(audit());
  await scheduler.run();
  await finish(audit());
  const keyring = await finish(auditor.keyring());
  // Those that were retired since, too: what they sealed may arrive late, and cannot be read.
  const everyKeyring = await finish(openAll(server.written(LAYOUT.keyring)));
  const openAs = (name: LogicalName, object: Uint8Array): OpenedObject => {
    if (keyring === undefined) throw new Error('there is a file but no keyring');
    for (const keys of [keyring.keys, ...everyKeyring]) {
      if (keys.find(object.subarray(OFFSET.keyId, OFFSET.nonce)) === undefined) continue;
      return open({ keys, name, object });
    }
    throw new Error('a file was sealed under a key that never was');
  };
  const openAt = (path: string, object: Uint8Array): OpenedObject =>
    openAs(logicalName(parseMemoryPath(path)), object);
  const textOf = (key: ObjectKey, body: Uint8Array): string => textIn(openAt(pathOf(key), body));
  const complaint =
    judge({ history, server, textOf }) ??
    (await judgeKept({ history, server, weather: drawn.name, openAt, openAs }));
  return {
    theme: theme.name,
    weather: drawn.name,
    complaint,
    history,
    textOf,
    trace: trace.lines,
    attempts: () => seenAttempts(history, { openAt, openAs }),
  };
}

/** Draws from a stream of its own, so that a seed has the same commands and the same weather either way. */
export function drawKeeping(storeClass: StoreClass, seed: number): Keeping {
  return createChance(`${storeClass}/${seed}/keeping`).pick([
    'never',
    'never',
    'never',
    'always',
    'turned on',
  ]);
}

/** Opens the keys of every keyring that was ever written. */
async function openAll(bodies: readonly Uint8Array[]): Promise<readonly SealingKeys[]> {
  const rootKeys = [envRootKey(ROOT_KEY)];
  const opened = bodies.map(async (body) => {
    const store = {
      get: async () => ({ body, etag: '' as ETag, size: body.length, lastModified: 0, servedAt: 0 }),
    };
    const keyrings = createKeyringCache({ store: store as unknown as ObjectStore, layout: LAYOUT, rootKeys });
    return (await keyrings.load())?.keys;
  });
  return (await Promise.all(opened)).filter((keys) => keys !== undefined);
}

async function inTurn<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  for (const item of items) await run(item);
}
