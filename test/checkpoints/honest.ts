import { type Finding, weightOf } from '../../src/admin/findings.ts';
import { type Chance, createChance } from '../simulation/chance.ts';
import type { StoreCall } from '../stage/store-wrappers.ts';
import type { TestClient } from '../stage/test-tree.ts';
import { act, createWorld, HOUR, MINUTE, placeOf, type World, type WorldOptions } from './world.ts';

/** The result of one run of honest processes. */
export interface HonestRun {
  /** Findings since any of its checkpoints that are alarms: none is right. */
  readonly alarms: readonly string[];
  /** Findings that say that it cannot be told. */
  readonly untold: number;
  readonly crashes: number;
  readonly restored: boolean;
}

/** Copies of a directory's rename are taken to arrive before its lease ends. */
const LATEST_MS = 4_000;

/**
 * Processes work on a tenant at once, which keeps history nine times of ten, with clocks that differ; some die at a
 * request, and what they sent last may arrive later; keys are migrated and checkpoints written meanwhile, and now and
 * then the files are put back to an earlier time on purpose. Then a process that has seen nothing looks since each
 * line.
 */
export async function runHonestly(seed: string, clocks: WorldOptions['clocks'] = 'near'): Promise<HonestRun> {
  const keepsHistory = createChance(`history ${seed}`).happens(0.9);
  const world = await createWorld(seed, { delayMs: 40, history: keepsHistory ? 'on' : 'off', clocks });
  const { chance, site } = world;
  try {
    const lines: string[] = [];
    let [crashes, restored] = [0, false];
    let migrating: Promise<void> | undefined;
    const processes = [await world.process(), await world.process()];
    await processes[0]?.create('/memories/a', 'a');
    let kept = await world.bucket();
    for (let step = chance.between(4, 10); step > 0; step--) {
      const kind = chance.fraction();
      if (kind < 0.06)
        migrating ??= world.migrate(chance.happens(0.5)).then(async () => {
          // A bucket that was kept before cannot be opened any more.
          kept = await world.bucket();
          migrating = undefined;
        });
      else if (kind < 0.1) kept = await world.bucket();
      else if (kind < 0.13 && keepsHistory && lines[0] !== undefined) {
        await migrating;
        await settle(world);
        await world.putBack(kept, '/data/');
        restored = true;
        // Older lines are thrown away.
        lines.splice(0, lines.length, await world.beginAnew());
        for (const index of processes.keys()) processes[index] = await world.process();
      } else {
        const work = processes.map(async (client, index) => {
          if (!(await actOrDie(client, { chance: chance.fork(`${step} ${index}`), world }))) return;
          crashes += 1;
          processes[index] = await world.process();
        });
        if (chance.happens(0.35)) work.push(world.checkpoint().then((line) => void lines.push(line)));
        await Promise.all(work);
      }
      await site.time.pause(chance.pick([1, 100, MINUTE, 10 * MINUTE, HOUR, 30 * HOUR]) * chance.fraction());
    }
    if (lines.length === 0) lines.push(await world.checkpoint());
    if (chance.happens(0.5)) await actOrDie(await world.process(), { chance: chance.fork('last'), world });
    await migrating;
    const asked = new Set([lines[0], lines.at(-1), chance.pick(lines)]);
    const findings: Finding[] = [];
    // Others work on while it looks.
    const beside = chance.fork('beside').happens(0.3) ? processes : [];
    const work = beside.map((client, index) =>
      actOrDie(client, { chance: chance.fork(`beside ${index}`), world }),
    );
    for (const line of asked) if (line !== undefined) findings.push(...(await world.since(line)));
    await Promise.all(work);
    return {
      alarms: findings
        .filter((each) => weightOf(each) === 'alarm')
        .map((finding) => `${placeOf(finding)}: ${JSON.stringify(finding)}`),
      untold: findings.filter((each) => weightOf(each) === 'untold').length,
      crashes,
      restored,
    };
  } finally {
    await world.close();
  }
}

/** Lets the requests arrive that are under way, and the next process finish a rename whose process died. */
async function settle({ site, process }: World): Promise<void> {
  await site.time.pause(10 * MINUTE);
  await (await process()).paths().catch(() => undefined);
  await site.time.pause(MINUTE);
}

/** True: the process died at one of its requests, which may arrive later, and what it had to do ends nowhere. */
async function actOrDie(
  client: TestClient,
  { chance, world }: { readonly chance: Chance; readonly world: World },
): Promise<boolean> {
  let left = chance.happens(0.15) ? chance.between(1, 12) : Number.POSITIVE_INFINITY;
  const died = Promise.withResolvers<'died'>();
  client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left > 0) return proceed();
    if (left === 0 && chance.happens(0.5)) {
      void world.site.time.pause(chance.fraction() * LATEST_MS).then(async () => {
        if (call.verb !== 'list') await proceed().catch(() => undefined);
      });
    }
    died.resolve('died');
    return new Promise<T>(() => {});
  });
  const ended = await Promise.race([act(client, chance).then(() => 'ended' as const), died.promise]);
  return ended === 'died';
}
