import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';
import { ATTACKS, attack } from './attacks.ts';
import { runHonestly } from './honest.ts';
import type { WorldOptions } from './world.ts';

const USAGE = `npm run prove checkpoints -- [--attacks N] [--runs N] [--seed WORD]

  --attacks N   Attacks after a checkpoint, each of which must be named; 10000.
  --runs N      Runs of honest processes, none of which may raise an alarm; 200000.
  --seed WORD   What both are drawn from; another word draws others. Several words can run side by side.
  --help        Prints this.
`;

/** Attacks after a checkpoint, all of which must be named, and honest runs, none of which may raise an alarm. */
async function main(): Promise<void> {
  const { values } = readCall(USAGE, {
    options: {
      attacks: { type: 'string', default: '10000' },
      runs: { type: 'string', default: '200000' },
      seed: { type: 'string', default: 'checkpoints' },
    },
  });
  const [attacks, runs] = [Number(values.attacks), Number(values.runs)];
  if (!Number.isSafeInteger(attacks + runs))
    return refuseCall(USAGE, 'Give whole numbers of attacks and runs');
  const isWhole = (await attackAll(attacks, values.seed)) && (await runAll(runs, values.seed));
  process.exitCode = isWhole ? 0 : 1;
}

/** One world of eight has clocks that are off by a day or two. */
function clocksOf(index: number): WorldOptions['clocks'] {
  return Math.floor(index / 8) % 8 === 0 ? 'hours off' : 'near';
}

async function attackAll(count: number, seed: string): Promise<boolean> {
  const names = Object.keys(ATTACKS);
  const tried = new Map(names.map((name) => [name, 0]));
  let [done, missed] = [0, 0];
  for (let index = 0; done < count; index++) {
    const name = names[index % names.length] ?? '';
    const at = `${seed} ${index}`;
    const told = await attack(at, name, clocksOf(index)).catch((error: unknown) => [String(error)]);
    if (told === 'none') continue;
    done += 1;
    tried.set(name, (tried.get(name) ?? 0) + 1);
    if (told.length > 0) {
      missed += 1;
      console.log(`seed "${at}": who ${name} is not named: ${told.join('; ')}`);
    }
    if (done % 1_000 === 0) console.log(`${done} attacks, ${missed} not named`);
  }
  for (const [name, times] of tried) console.log(`  ${times} times: ${name}`);
  console.log(`${done} attacks, ${missed} not named`);
  return missed === 0;
}

async function runAll(count: number, seed: string): Promise<boolean> {
  let [alarms, untold, crashes, restored] = [0, 0, 0, 0];
  for (let index = 0; index < count; index++) {
    const run = await runHonestly(`${seed} ${index}`, clocksOf(index));
    if (run.alarms.length > 0) console.log(`seed "${seed} ${index}": ${run.alarms.join('; ')}`);
    alarms += run.alarms.length > 0 ? 1 : 0;
    untold += run.untold > 0 ? 1 : 0;
    crashes += run.crashes;
    restored += run.restored ? 1 : 0;
    const isLast = index + 1 === count;
    if (isLast || (index + 1) % 1_000 === 0)
      console.log(
        `${index + 1} honest runs, ${alarms} with an alarm, ${untold} in which something cannot be told, ${crashes} crashes, ${restored} restores`,
      );
  }
  return alarms === 0;
}

await main();
