import { describe, expect, it } from 'vitest';
import { isAlarm } from '../../src/tree/findings.ts';
import type { StoreCall } from '../doubles/intercepted-store.ts';
import { ATTACKS, attack } from './attacks.ts';
import { runHonestly } from './honest.ts';
import { createWorld, HOUR } from './world.ts';

/** `npm run checkpoints` tries 10,000 and 200,000. */
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

/** What each once hid. Two new files of one millisecond and size were taken for one version: that hid all but the first of them. */
const FROZEN = [
  // A process had saved it where it lay before, and then found that it had been renamed.
  ['final 518', 'drops a file'],
  ['final 1355', 'puts all files and their history back, and leaves the checkpoint'],
  ['final 1921', 'rolls a file back, and has it written'],
  // The text of one of two was gone, and the other had been replaced before the checkpoint.
  ['first 2023', 'deletes what the history has of a delete'],
  // What was written had replaced a version that lay elsewhere at the checkpoint, which a rename that was cut off leaves too.
  ['strict 12', 'rolls a file back, and has it written'],
  // It was gone, and another one of the same millisecond and size was there: it was no migration that had sealed it again.
  ['strict 21', 'puts all files and their history back, and leaves the checkpoint'],
  // Another one of the same millisecond and size had been renamed and replaced: it was not this one, sealed again.
  ['fourteenth 1142', 'drops a file'],
  // It had been saved where it lay before a rename, and was migrated behind that.
  ['final-two 3835', 'deletes what the history has of a delete'],
  ['final-two 6686', 'drops a file'],
] as const;

describe('an attack that once was not named', () => {
  it.each(FROZEN)('is named: %s, who %s', async (seed, name) => {
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
    // Renamed while a checkpoint was taken, which so has it nowhere, after it was written past what that one could have had.
    'alias-m 87',
    // A file was deleted where a directory's rename had copied it to, and the process that finished the rename copied it again.
    'seventh 21407',
    // It was sealed again by a migration, and renamed by a process that was cut off.
    'sixth 20852',
    // It was deleted while it was renamed, so that its copy was taken back, which a checkpoint had seen.
    'sixth 22199',
    // A rename that was cut off left two of it, and both were written.
    'sixth 31601',
    // It was renamed while a checkpoint was taken, and sealed again twice: the version that was renamed is known by that alone.
    'ninth 24805',
    // Of two of it one had been written at a path, and the other was renamed there once that was deleted.
    'eleventh 30160',
    'twelfth 31147',
    // It was renamed by a process that was cut off, sealed again by a migration, and written.
    'eleventh 46233',
    'fourteenth 6525',
    // It was copied by a process that was cut off, while a checkpoint was taken and it was replaced, and the copy was sealed again.
    'twelfth 47582',
    // Of two copies that a rename had left one was renamed away, and the other to its place, by a process whose clock is slow.
    'seventeenth 10376',
    // Of two copies that a rename had left each was written, and one then renamed to where the other had been written.
    'twenty-third 2218',
    // It was written and renamed while a checkpoint was taken, by a process that was cut off, and bound again by a migration.
    'same 2721',
    // Two renames raced while a checkpoint was taken: it had the copy of the one that lost, whose clock was ahead of the other's.
    'u2 18734',
    // A file was deleted where a directory's rename had copied it to, and much later the process that finished the rename copied it again.
    'findB 2344',
    // A directory's rename was cut off and lost its source; a checkpoint much later had the copy, which was taken back then.
    'findA 3305',
    // It was edited while a rename copied it, and the copy arrived behind the checkpoint that has the edit.
    'findD 1357',
    // It was renamed, and back by a process that was cut off, while its source was edited there.
    'findE 4289',
  ])('raise none in a run that once did: %s', async (seed) => {
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
            const alarms = (await world.since(each)).filter(isAlarm);
            expect(alarms, `${request} ${dies}`).toEqual([]);
          }
          await world.close();
        }
      }
    },
  );
});
