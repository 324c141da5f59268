import { describe, expect, it } from 'vitest';
import { weightOf } from '../../src/admin/findings.ts';
import type { StoreCall } from '../stage/store-wrappers.ts';
import { ATTACKS, attack } from './attacks.ts';
import { runHonestly } from './honest.ts';
import { createWorld, HOUR } from './world.ts';

/** `npm run prove checkpoints` tries 10,000 and 200,000. */
const ATTEMPTS = 2;
const RUNS = 12;

describe('an attacker who writes the bucket after a checkpoint', () => {
  it.each(Object.keys(ATTACKS))('is named when he %s', { timeout: 60_000 }, async (name) => {
    let done = 0;
    for (let index = 0; done < ATTEMPTS; index++) {
      const missed = await attack(`${name} ${index}`, name);
      if (missed === 'none') continue;
      done += 1;
      expect(missed, `${name} ${index}`).toEqual([]);
    }
  });
});

describe('processes whose clocks are all off by a day or two, ahead and behind', () => {
  it('have an attacker named by whichever of them looks', { timeout: 120_000 }, async () => {
    const missed: string[] = [];
    let done = 0;
    for (const name of Object.keys(ATTACKS)) {
      const told = await attack(`far ${name}`, name, 'hours off');
      if (told === 'none') continue;
      done += 1;
      missed.push(...told);
    }
    expect(missed).toEqual([]);
    expect(done).toBeGreaterThan(Object.keys(ATTACKS).length / 2);
  });

  it('raise no alarm since any checkpoint of each other', { timeout: 120_000 }, async () => {
    for (let index = 0; index < RUNS; index++) {
      const { alarms } = await runHonestly(`far ${index}`, 'hours off');
      expect(alarms, `far ${index}`).toEqual([]);
    }
  });
});

describe('an attack that one rule of the judgement alone tells of', () => {
  it.each([
    // The history went back with the files: what an entry came to lies at a path that is wrong itself.
    ['rule 137', 'puts all files and their history back, and leaves the checkpoint'],
  ])('is named: %s, who %s', async (seed, name) => {
    expect(await attack(seed, name)).toEqual([]);
  });
});

describe('honest processes that crash, rename, migrate keys and restore', () => {
  it('raise no alarm since any checkpoint', { timeout: 120_000 }, async () => {
    let crashes = 0;
    for (let index = 0; index < RUNS; index++) {
      const run = await runHonestly(`ci ${index}`);
      expect(run.alarms, `ci ${index}`).toEqual([]);
      crashes += run.crashes;
    }
    expect(crashes).toBeGreaterThan(0);
  });

  it.each([
    // A file was deleted where a directory's rename had copied it to, and much later the process that finished the
    // rename copied it again.
    'findB 2344',
    // A directory's rename was cut off and lost its source; a checkpoint much later had the copy, which was taken back
    // then.
    'findA 3305',
    // It was edited while a rename copied it, and the copy arrived behind the checkpoint that has the edit.
    'findD 1357',
    // The same, and a migration bound the copy again a day later.
    'long5 2064',
    // A resumed rename copied a file to where its copy had been edited, and that second copy was deleted.
    'whole b 48072',
    // It was renamed, and back by a process that was cut off, while its source was edited there.
    'findE 4289',
    // The same, and a migration bound the copy again hours later.
    'whole b 75465',
    // It was put back on purpose, and had been written over, deleted and renamed before the history began anew.
    ...['rule 177', 'rule 1261', 'rule 86'],
    // It had been renamed to a place where nothing is known of it.
    'rule 1072',
    // It was bound shortly before the checkpoint, or while that was taken.
    ...['rule 62', 'rule 42'],
    // The history was kept only from some time after the checkpoint on.
    'rule 41',
    // It was deleted by a process that died before it could say so.
    'rule 719',
    // Another version of what was put back on purpose had come before the history began anew.
    'rule 946',
  ])('raise none in a run where one rule prevents it: %s', async (seed) => {
    expect((await runHonestly(seed)).alarms).toEqual([]);
  });
});

describe('a checkpoint at every request of a rename', () => {
  it.each([
    ['of a file', '/memories/d/a', '/memories/x'],
    ['of a directory', '/memories/d', '/memories/e'],
  ] as const)(
    'raises no alarm, whether the process goes on or dies there: %s',
    { timeout: 120_000 },
    async (_, from, to) => {
      for (const dies of [true, false]) {
        for (let request = 1, isOver = false; !isOver; request++) {
          const world = await createWorld(`rename ${request}`);
          const first = await world.process();
          for (const name of ['a', 'b']) await first.create(`/memories/d/${name}`, name);
          await world.site.time.pause(HOUR);
          const before = await world.checkpoint();
          const renamer = await world.process();
          const died = Promise.withResolvers<void>();
          let [left, line] = [request, ''];
          renamer.intercept(async <T>(_call: StoreCall, proceed: () => Promise<T>): Promise<T> => {
            left -= 1;
            if (left === 0) line = await world.checkpoint();
            if (left > 0 || !dies) return proceed();
            died.resolve();
            return new Promise<T>(() => {});
          });
          await Promise.race([renamer.rename(from, to), died.promise]);
          isOver = line === '';
          for (const each of isOver ? [before] : [before, line]) {
            const alarms = (await world.since(each)).filter((found) => weightOf(found) === 'alarm');
            expect(alarms, `${request} ${dies}`).toEqual([]);
          }
          await world.close();
        }
      }
    },
  );
});
