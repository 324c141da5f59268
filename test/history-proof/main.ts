import { availableParallelism } from 'node:os';
import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';
import { PARTS, type Part, tasksOf } from './parts.ts';
import { rowOf, runTasks } from './run-tasks.ts';

const USAGE = `npm run prove history -- [--part NAME]… [--seed N] [--share X] [--at-once N]

What is proved of the history by number, in its full size: hours on two cores. CI tries a part of each.

  --part NAME   ${PARTS.join(', ')}; all unless named.
  --seed N      From 1 on; another number draws others.
  --share X     How much of it; 1 is the full size, 0.01 a hundredth.
  --at-once N   Programs that run at the same time; the processor's cores.
  --help        Prints this.

Exit code 0: all of it holds, 1: something does not, 130: it was ended before.
`;

function parseExtent(): { parts: ReadonlySet<Part>; seed: number; share: number; atOnce: number } {
  const { values } = readCall(USAGE, {
    options: {
      part: { type: 'string', multiple: true, default: [...PARTS] },
      seed: { type: 'string', default: '1' },
      share: { type: 'string', default: '1' },
      'at-once': { type: 'string', default: `${availableParallelism()}` },
    },
  });
  const [seed, share, atOnce] = [Number(values.seed), Number(values.share), Number(values['at-once'])];
  const parts = new Set(PARTS.filter((part) => values.part.includes(part)));
  const isKnown = values.part.every((name) => parts.has(name as Part));
  const areWhole = [seed, atOnce].every((number) => Number.isSafeInteger(number) && number > 0);
  if (!isKnown || !areWhole || !(share > 0 && share <= 1))
    return refuseCall(USAGE, 'Give parts among those, whole numbers, and a share up to 1');
  return { parts, seed, share, atOnce };
}

async function main(): Promise<void> {
  const extent = parseExtent();
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort());
  const results = await runTasks(tasksOf(extent.parts, extent), {
    atOnce: extent.atOnce,
    signal: ending.signal,
    tell: (line) => console.log(line),
  });
  console.log('\nThe proof of the history:');
  for (const result of results) console.log(`  ${rowOf(result)}`);
  const holds = results.every(({ verdict }) => verdict === 'holds');
  process.exitCode = ending.signal.aborted ? 130 : holds ? 0 : 1;
}

await main();
