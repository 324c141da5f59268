import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';
import { WEATHERS } from './faults.ts';
import { KEEPINGS } from './process.ts';
import type { StoreClass } from './sim-store.ts';
import { drawKeeping, simulate } from './simulate.ts';
import { THEMES } from './workload.ts';

const USAGE =
  'npm run prove simulation -- --seeds A..B [--store guarded|unguarded] [--theme NAME] [--weather NAME] [--history never|always|turned on] [--take-back] [--trace]';

/** Runs seeds one after the other and prints those that fail; `--trace` shows each of them request by request. */
async function main(): Promise<void> {
  const { values } = readCall(USAGE, {
    options: {
      seeds: { type: 'string', default: '1..1000' },
      store: { type: 'string' },
      theme: { type: 'string' },
      weather: { type: 'string' },
      history: { type: 'string' },
      'take-back': { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
    },
  });
  const [first, last = first] = values.seeds.split('..').map(Number);
  const classes = ['guarded', 'unguarded'].filter(
    (each) => values.store === undefined || values.store === each,
  );
  if (first === undefined || last === undefined || Number.isNaN(first + last) || classes.length === 0) {
    return refuseCall(USAGE, 'Give seeds such as 1..1000, and guarded or unguarded for the store');
  }
  const themeName = THEMES.find(({ name }) => name === values.theme)?.name;
  if (values.theme !== undefined && themeName === undefined)
    return refuseCall(USAGE, 'There is no such theme');
  const keeping = KEEPINGS.find((name) => name === values.history);
  if (values.history !== undefined && keeping === undefined)
    return refuseCall(USAGE, 'There is no such history');
  const weatherName = WEATHERS.find((name) => name === values.weather);
  if (values.weather !== undefined && weatherName === undefined)
    return refuseCall(USAGE, 'There is no such weather');
  const begun = Date.now();
  let failed = 0;
  let undecided = 0;
  let run = 0;
  let alarms = 0;
  for (let seed = first; seed <= last; seed++) {
    for (const storeClass of classes as StoreClass[]) {
      run += 1;
      const simulation = await simulate({
        seed,
        storeClass,
        themeName,
        weatherName,
        keeping: keeping ?? drawKeeping(storeClass, seed),
        takesBack: values['take-back'],
      });
      const { complaint, theme, weather } = simulation;
      if (simulation.history.alarms.length > 0) alarms += 1;
      if (values.trace) console.log(simulation.trace().join('\n'));
      if (complaint === undefined) continue;
      if (complaint.undecided) undecided += 1;
      else failed += 1;
      console.log(
        `seed ${seed} on a store of class ${storeClass} (${theme}, ${weather}): ${complaint.problem}`,
      );
      for (const detail of complaint.details) console.log(`  ${detail}`);
      const where = [
        ...(themeName === undefined ? [] : [` --theme '${themeName}'`]),
        ...(weatherName === undefined ? [] : [` --weather ${weatherName}`]),
        ...(keeping === undefined ? [] : [` --history '${keeping}'`]),
        ...(values['take-back'] ? [' --take-back'] : []),
      ].join('');
      console.log(
        `  replay: npm run prove simulation -- --seeds ${seed} --store ${storeClass}${where} --trace`,
      );
    }
  }
  console.log(
    `${run} simulations, ${failed} failed, ${undecided} undecided, ${alarms} with rightful alarms, ${((Date.now() - begun) / 1000).toFixed(1)} s`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

await main();
