import { Bench } from 'tinybench';

export type Contestants = Readonly<Record<string, () => Promise<unknown> | unknown>>;

/** `wall`: what a caller waits. `processor`: what the process computes, whatever else the machine is busy with. */
export type TimeKind = 'wall' | 'processor';

const ROUNDS = 9;
const NOW: Readonly<Record<TimeKind, () => number>> = {
  wall: () => performance.now(),
  processor() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
};

/**
 * Runs the contestants in turns, each round in another order, and prints each one's median time per call as a ratio to
 * the first one's in the same round, so that a noisy machine moves all sides alike: the median of the rounds.
 */
export async function printRatios(
  title: string,
  contestants: Contestants,
  { time = 'wall' }: { readonly time?: TimeKind } = {},
): Promise<void> {
  const names = Object.keys(contestants);
  const rounds: ReadonlyMap<string, number>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const first = round % names.length;
    const order = [...names.slice(first), ...names.slice(0, first)];
    rounds.push(await runOnce(title, { order, contestants, warmUp: round === 0, now: NOW[time] }));
  }
  const reference = names[0] ?? '';
  for (const name of names) {
    const times = rounds.map((round) => round.get(name) ?? Number.NaN);
    const ratio = median(times.map((time, index) => time / (rounds[index]?.get(reference) ?? Number.NaN)));
    const shown = ratio.toFixed(2).padStart(8);
    console.log(
      `  ${title.padEnd(24)} ${name.padEnd(34)} ${shown}   (${(median(times) * 1000).toFixed(1)} µs)`,
    );
  }
}

/** The median time of one call of each contestant, in milliseconds. */
async function runOnce(
  title: string,
  round: {
    readonly order: readonly string[];
    readonly contestants: Contestants;
    readonly warmUp: boolean;
    readonly now: () => number;
  },
): Promise<ReadonlyMap<string, number>> {
  const { now, warmUp } = round;
  const lengths = { time: 50, iterations: 3, warmup: warmUp, warmupTime: 100 };
  const bench = new Bench({ name: title, now, ...lengths });
  for (const name of round.order) bench.add(name, round.contestants[name] ?? (() => {}));
  await bench.run();
  return new Map(
    bench.tasks.map(({ name, result }) => {
      if (result.state === 'errored') throw result.error;
      if (result.state !== 'completed') throw new Error(`${title}, ${name}: ${result.state}`);
      return [name, result.latency.p50];
    }),
  );
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
