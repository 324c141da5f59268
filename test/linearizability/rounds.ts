import { setTimeout as sleep } from 'node:timers/promises';
import { type Chance, createChance } from '../simulation/chance.ts';
import { type Fleet, now, startFleet } from './fleet.ts';
import { CLIENTS, KINDS, type Plan, planHistory } from './plan.ts';
import { type RecordedHistory, recordHistory } from './recording.ts';
import type { Site } from './stores.ts';

/** The number of histories that the same processes record at once, so that each fault meets all of them. */
const TOGETHER = 24;
const LONGER_THAN_A_LEASE_MS = 12_000;

interface Fault {
  /** It comes when this share of all commands is done. */
  readonly at: number;
  readonly kind: 'kill' | 'freeze' | 'operate';
  readonly player: number;
  /** How long a freeze lasts. */
  readonly ms: number;
  /** A process is rarely at a request when a fault comes at the end of another one's command: kills wait so long. */
  readonly lateMs: number;
}

/** Records so many histories on a real store, by processes that are killed and stopped, while keys are rotated. */
export async function recordRounds(
  site: Site,
  {
    seed,
    histories,
    onRound,
  }: { readonly seed: string; readonly histories: number; readonly onRound?: (done: number) => void },
): Promise<readonly RecordedHistory[]> {
  const fleet = startFleet(CLIENTS, site.env);
  const recorded: RecordedHistory[] = [];
  try {
    for (let round = 1; recorded.length < histories; round++) {
      const size = Math.min(TOGETHER, histories - recorded.length);
      recorded.push(...(await recordRound({ site, fleet, seed: `${seed}-${round}`, size })));
      onRound?.(recorded.length);
    }
  } finally {
    await fleet.stop();
  }
  return recorded;
}

async function recordRound(round: {
  readonly site: Site;
  readonly fleet: Fleet;
  readonly seed: string;
  readonly size: number;
}): Promise<readonly RecordedHistory[]> {
  const { site, fleet, seed, size } = round;
  const chance = createChance(seed);
  const plans = Array.from({ length: size }, (_, at) => {
    const kind = KINDS[at % KINDS.length];
    if (kind === undefined) throw new Error('there are no kinds of histories');
    // Every other plan of each kind keeps history.
    const isKept = Math.floor(at / KINDS.length) % 2 === 1;
    return planHistory(`${seed}-${at}`, kind, isKept ? 'kept' : 'not kept');
  });
  const commands = plans.reduce((sum, plan) => sum + commandsOf(plan), 0);
  const faults = [...drawFaults(chance.fork('faults'))].sort((one, other) => one.at - other.at);
  const under = new Set<Promise<unknown>>();
  let done = 0;

  const meetFaults = (): void => {
    done += 1;
    for (let next = faults[0]; next !== undefined && next.at * commands <= done; next = faults[0]) {
      faults.shift();
      under.add(meet(fleet, next, plans));
    }
  };
  const observer = fleet.newcomer();
  if (chance.happens(0.7)) site.storm(chance.fork('weather'));
  let racing = plans.length;
  const everyHistory = Promise.withResolvers<void>();
  const calm = async (): Promise<void> => {
    racing -= 1;
    if (racing === 0) everyHistory.resolve();
    await everyHistory.promise;
    await Promise.all(under);
    site.calm();
  };
  const settled = async (): Promise<number> => {
    await site.settled();
    return now();
  };
  const pause = async (ms: number): Promise<void> => void (await sleep(ms));
  return Promise.all(
    plans.map((plan) =>
      recordHistory({
        plan,
        players: fleet.players,
        observer,
        chance: chance.fork(plan.name),
        pause,
        onCommand: meetFaults,
        calm,
        settled,
        resends: site.resends,
      }),
    ),
  );
}

function commandsOf({ initial, clients }: Plan): number {
  return initial.length + clients.reduce((sum, list) => sum + list.length, 0);
}

function* drawFaults(chance: Chance): Generator<Fault> {
  const fault = (kind: Fault['kind'], ms = 0): Fault => ({
    at: chance.fraction(),
    kind,
    player: chance.between(0, CLIENTS - 1),
    ms,
    lateMs: kind === 'freeze' ? 0 : chance.fraction() * 30,
  });
  while (chance.happens(0.6)) yield fault('kill');
  while (chance.happens(0.6)) yield fault('freeze', chance.fraction() * chance.pick([50, 400, 3_000]));
  if (chance.happens(0.1)) yield fault('freeze', LONGER_THAN_A_LEASE_MS);
  while (chance.happens(0.6)) yield fault('operate');
}

async function meet(fleet: Fleet, fault: Fault, plans: readonly Plan[]): Promise<void> {
  const { kind, player, ms, lateMs } = fault;
  await sleep(lateMs);
  if (kind === 'kill') fleet.kill(player);
  else if (kind === 'freeze') await fleet.freeze(player, ms);
  else await Promise.all(plans.map(({ name }) => fleet.operate(name)));
}
