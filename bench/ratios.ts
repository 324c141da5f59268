import { Bench } from 'tinybench';

export type Contestants = Readonly<Record<string, () => Promise<unknown> | unknown>>;

/**
 * Runs the contestants interleaved and prints each one's median time per call as a ratio to the first one's, so that
 * a noisy machine moves both sides alike.
 */
export async function printRatios(title: string, contestants: Contestants): Promise<void> {
  const bench = new Bench({ name: title, time: 400, warmupTime: 100 });
  for (const [name, run] of Object.entries(contestants)) bench.add(name, run);
  await bench.run();
  const medians = bench.tasks.map((task) => {
    if (task.result.state === 'errored') throw task.result.error;
    if (task.result.state !== 'completed') throw new Error(`${title}, ${task.name}: ${task.result.state}`);
    return { name: task.name, ms: task.result.latency.p50 };
  });
  const reference = medians[0]?.ms ?? Number.NaN;
  for (const { name, ms } of medians) {
    const ratio = (ms / reference).toFixed(2).padStart(8);
    console.log(`  ${title.padEnd(24)} ${name.padEnd(34)} ${ratio}   (${(ms * 1000).toFixed(1)} µs)`);
  }
}
