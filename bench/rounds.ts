import { Bench } from 'tinybench';
import type { Lab } from './lab.ts';
import type { Comparison, Cost, Round, TimeKind } from './report/row.ts';

type Calls = Readonly<Record<string, () => Promise<unknown> | unknown>>;

const NOW: Readonly<Record<TimeKind, () => number>> = {
  wall: () => performance.now(),
  processor() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
};

/**
 * Runs the contestants in turns, each round in another order, so that a noisy machine moves all sides alike. What
 * `measure` returns nothing for has no cost in that round.
 */
export async function inTurns(
  names: readonly string[],
  rounds: number,
  measure: (name: string, round: number) => Promise<Cost | undefined>,
): Promise<readonly Round[]> {
  const results: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = round % names.length;
    const costs = new Map<string, Cost>();
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      const cost = await measure(name, round);
      if (cost !== undefined) costs.set(name, cost);
    }
    results.push(costs);
  }
  return results;
}

/** The cost of one call to this process. */
export async function costOf(call: () => Promise<unknown>): Promise<Cost> {
  const [wall, processor] = [NOW.wall(), NOW.processor()];
  await call();
  return { wall: NOW.wall() - wall, processor: NOW.processor() - processor };
}

/**
 * Compares calls that are short and may be repeated as often as one likes: in each round each contestant runs for 50
 * ms, and its cost is the median of its calls. The first contestant is the reference.
 */
export async function compareCalls(
  lab: Lab,
  work: string,
  contestants: Calls,
  options: { readonly time?: TimeKind } & Pick<Comparison, 'goals' | 'notes'> = {},
): Promise<void> {
  const { time = 'wall', ...shown } = options;
  const names = Object.keys(contestants);
  const rounds = await inTurns(names, lab.isQuick ? 3 : 9, async (name, round) => {
    const lengths = { time: 50, iterations: 3, warmup: round === 0, warmupTime: 100 };
    const bench = new Bench({ name: work, now: NOW[time], ...lengths });
    const call = contestants[name] ?? (() => {});
    const answer = call();
    // Asked to find that out by itself, it would not wait for the answer of its first call.
    bench.add(name, call, { async: answer instanceof Promise });
    await answer;
    await bench.run();
    const result = bench.tasks[0]?.result;
    if (result?.state === 'errored') throw result.error;
    if (result?.state !== 'completed') throw new Error(`${work}, ${name}: ${result?.state}`);
    const { p50 } = result.latency;
    return { [time]: p50 };
  });
  lab.compare({ work, reference: names[0] ?? '', time, rounds, ...shown });
}
