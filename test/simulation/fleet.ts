import type { Chance } from './chance.ts';
import type { Fate } from './life.ts';
import { CHORES } from './operator.ts';
import { createProcess, type Process, ttlOf, type World } from './process.ts';
import type { Workload } from './workload.ts';

const MOST_BOUNDARIES = 60;
/** The number of looks through the tree of a process at once, where a theme wants them. */
const VERIFIERS = 3;

const OPERATORS = 2;
/** The most versions that are redacted, where any are. */
const MOST_REDACTIONS = 8;
/** The number of times that something is undone or restored. */
const TAKINGS_BACK = 5;
/** The most times that an operator tries to turn history on, of a tenant that may not be there yet. */
const MOST_TURNS = 20;

/**
 * Starts several processes, each with some calls at once, which work through commands of the workload. Some of them
 * are killed or frozen at a boundary; where one is killed another takes its place after a while.
 */
export function startFleet(
  world: World,
  options: { readonly workload: Workload; readonly chance: Chance; readonly fate?: Fate | undefined },
): void {
  const { scheduler } = world;
  const { workload, chance, fate } = options;
  const restless = chance.happens(0.6);

  const start = (name: string, commands: number): void => {
    const process = createProcess(world, {
      name,
      chance: chance.fork(name),
      fates: fatesOf(name),
    });
    let left = commands;
    const callers = chance.between(1, 3);
    for (let caller = 0; caller < callers; caller++) {
      void work(process, () => left-- > 0);
    }
    for (let at = 0; workload.verifies && at < VERIFIERS; at++) void verify(process, () => left > 0);
    process.life.onKill(() => {
      if (left > 0) scheduler.after(chance.fraction() * 15_000, () => start(`${name}'`, left));
    });
  };

  const fatesOf = (name: string): readonly Fate[] => {
    const drawn = restless ? drawFates(chance) : [];
    if (fate === undefined) return drawn;
    return name === 'p1' ? [fate] : [];
  };

  const work = async (process: Process, another: () => boolean): Promise<void> => {
    while (another()) {
      await process.life.pause(chance.fraction() ** 3 * chance.pick([10, 200, 4_000]));
      await process.run(workload.next());
    }
  };

  const verify = async (process: Process, another: () => boolean): Promise<void> => {
    while (another()) {
      await process.life.pause(chance.fraction() * 100);
      await process.verify();
    }
  };

  /** Does chores while any process works, and a little longer. */
  const operate = async (process: Process, chores: number): Promise<void> => {
    for (let left = chores; left > 0; left--) {
      await process.life.pause(chance.fraction() ** 2 * chance.pick([50, 1_000, 20_000]));
      await process.operate(chance.pick(CHORES));
    }
  };

  /** Turns history on; processes learn of it within their time to live. */
  const keep = async (process: Process, pauses: Chance): Promise<void> => {
    for (let left = MOST_TURNS; left > 0; left--) {
      await process.life.pause(pauses.fraction() ** 2 * 3_000);
      if (!(await process.turnHistoryOn())) continue;
      world.history.keptSince = scheduler.now() + ttlOf(world.keeping);
      return;
    }
  };

  /** Redacts versions while commands replace files. */
  const redact = async (process: Process, pauses: Chance): Promise<void> => {
    for (let left = MOST_REDACTIONS; left > 0; left--) {
      await process.life.pause(pauses.fraction() ** 2 * pauses.pick([100, 2_000]));
      await process.redact();
    }
  };

  /** Undoes and restores while commands change the files. */
  const takeBack = async (process: Process, pauses: Chance): Promise<void> => {
    for (let left = TAKINGS_BACK; left > 0; left--) {
      await process.life.pause(pauses.fraction() ** 2 * pauses.pick([200, 4_000]));
      await process.takeBack();
    }
  };

  if (world.takesBack && world.keeping !== 'never') {
    const own = chance.fork('restorer');
    const fates = restless ? drawFates(own.fork('fates')) : [];
    void takeBack(createProcess(world, { name: 'restorer', chance: own, fates }), own.fork('pauses'));
  }
  const own = chance.fork('redactor');
  if (world.keeping !== 'never' && own.happens(0.3)) {
    void redact(createProcess(world, { name: 'redactor', chance: own, fates: [] }), own.fork('pauses'));
  }
  if (world.keeping === 'turned on') {
    const own = chance.fork('keeper');
    void keep(createProcess(world, { name: 'keeper', chance: own, fates: [] }), own.fork('pauses'));
  }
  for (let at = 1; workload.operated && at <= OPERATORS; at++) {
    const name = `op${at}`;
    const process = createProcess(world, { name, chance: chance.fork(name), fates: fatesOf(name) });
    void operate(process, chance.between(4, 10));
  }
  const processes = chance.between(2, 4);
  for (let at = 1; at <= processes; at++) start(`p${at}`, chance.between(2, 5));
}

function drawFates(chance: Chance): readonly Fate[] {
  const boundary = (): number => chance.between(1, MOST_BOUNDARIES);
  const fates: Fate[] = [];
  if (chance.happens(0.5)) fates.push({ kind: 'kill', boundary: boundary() });
  while (chance.happens(0.4)) {
    fates.push({
      kind: 'freeze',
      boundary: boundary(),
      ms: chance.fraction() * chance.pick([1_000, 15_000, 200_000]),
    });
  }
  return fates;
}
