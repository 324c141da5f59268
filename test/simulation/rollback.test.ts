import { beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import type { StoredObject } from '../../src/store/port.ts';
import { createChance } from './chance.ts';
import { FAIR_WEATHER } from './faults.ts';
import { type Command, emptyHistory, type Result } from './history.ts';
import { createProcess, type Process, type World } from './process.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { createServer, type Server } from './server.ts';
import type { StoreClass } from './sim-store.ts';
import { LAYOUT, pathOf } from './tenant.ts';
import { createTrace } from './trace.ts';
import { createWorkload, THEMES, type Theme } from './workload.ts';

const CLASSES: readonly StoreClass[] = ['guarded', 'unguarded'];
const LISTING = "Here're the files and directories";
const SEEDS = 12;
const COMMANDS = 12;

beforeAll(loadSodium);

describe('a process that has seen every version of every file', () => {
  for (const storeClass of CLASSES) {
    for (const { name: themeName } of THEMES) {
      it(`refuses each older one that is put back, a new process reads it: ${themeName}, ${storeClass}`, async () => {
        let attacks = 0;
        for (let seed = 1; seed <= SEEDS; seed++) attacks += await attack({ seed, storeClass, themeName });
        expect(attacks).toBeGreaterThan(SEEDS);
      });
    }
  }
});

/** Answers how often an older version was put back. */
async function attack(options: {
  readonly seed: number;
  readonly storeClass: StoreClass;
  readonly themeName: Theme['name'];
}): Promise<number> {
  const { seed, storeClass, themeName } = options;
  const theme = THEMES.find(({ name }) => name === themeName);
  if (theme === undefined) throw new Error('there is no such theme');
  const chance = createChance(`rollback/${storeClass}/${seed}`);
  const scheduler = createScheduler();
  const history = emptyHistory();
  const server = createServer(scheduler.now);
  const world: World = {
    scheduler,
    server,
    storeClass,
    history,
    trace: createTrace(scheduler.now),
    weather: () => FAIR_WEATHER,
    keeping: 'never',
    takesBack: false,
    bug: {},
  };
  const start = (name: string): Process =>
    createProcess(world, { name, chance: chance.fork(name), fates: [] });
  const run = (process: Process, command: Command): Promise<Result> =>
    finish(scheduler, process.run(command));
  const workload = createWorkload(theme, chance.fork('workload'));
  const [witness, other] = [start('witness'), start('other')];
  const versions = new Map<ObjectKey, Map<string, StoredObject>>();

  for (const command of [...workload.initial, ...Array.from({ length: COMMANDS }, workload.next)]) {
    await run(chance.pick([witness, other]), command);
    await scheduler.run();
    keepAll(server, versions);
    for (const key of versions.keys()) await run(witness, { command: 'view', path: pathOf(key) });
  }
  expect(history.alarms).toEqual([]);

  let [attacks, listings] = [0, 0];
  for (const [key, ofKey] of versions) {
    const path = pathOf(key);
    const current = server.get(key);
    for (const [etag, { body }] of ofKey) {
      if (etag === current?.etag) continue;
      attacks += 1;
      server.put(key, body, 'overwrite');
      const seen = await run(witness, { command: 'view', path });
      // A process that knows of files below the path lists those, and reads nothing that may lie at the path itself.
      const isListing = seen.ok && String(seen.content).startsWith(LISTING);
      if (!isListing) expect(seen, `seed ${seed}, ${path}`).toMatchObject({ ok: false, code: 'integrity' });
      listings += isListing ? 1 : 0;
      expect(await run(start(`new ${attacks}`), { command: 'view', path })).toMatchObject({ ok: true });
    }
    if (current === undefined) server.remove({ key });
    else server.put(key, current.body, 'overwrite');
    const after = await run(witness, { command: 'view', path });
    expect(after, `seed ${seed}, ${path}`).not.toMatchObject({ code: 'integrity' });
    if (current !== undefined) expect(after).toMatchObject({ ok: true });
  }
  expect(history.alarms).toHaveLength(attacks - listings);
  return attacks;
}

function keepAll(server: Server, versions: Map<ObjectKey, Map<string, StoredObject>>): void {
  for (const key of server.keys()) {
    const stored = key.startsWith(LAYOUT.data) ? server.get(key) : undefined;
    if (stored === undefined) continue;
    const ofKey = versions.get(key) ?? new Map<string, StoredObject>();
    versions.set(key, ofKey.set(stored.etag, stored));
  }
}

async function finish<T>(scheduler: Scheduler, work: Promise<T>): Promise<T> {
  let over = false;
  const ended = (): void => {
    over = true;
  };
  work.then(ended, ended);
  await scheduler.run(() => over);
  return work;
}
