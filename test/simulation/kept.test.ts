import { describe, expect, it } from 'vitest';
import { amount } from '../runner/thorough.ts';
import { CI_SEEDS, keepingOf, keptSeedsOf } from './seeds.ts';
import type { StoreClass } from './sim-store.ts';
import { type SimulationOptions, simulate } from './simulate.ts';
import { THEMES } from './workload.ts';

const FILES = { storeClass: 'guarded', themeName: 'files', keeping: 'always' } as const;
/** A weather and a theme in which answers come when the key may be another one. */
const LATE = { themeName: 'edits under changing keys', weatherName: 'tardy', keeping: 'always' } as const;
const CLASSES: readonly StoreClass[] = ['guarded', 'unguarded'];

/** The seeds whose log, or whose judge, was wrong once. */
const FROZEN: readonly Pick<
  SimulationOptions,
  'seed' | 'storeClass' | 'keeping' | 'takesBack' | 'themeName'
>[] = [
  { seed: 795, storeClass: 'unguarded', keeping: 'always' },
  { seed: 798, storeClass: 'unguarded', keeping: 'turned on' },
  { seed: 799, storeClass: 'unguarded', keeping: 'always' },
  { seed: 1136, storeClass: 'guarded', keeping: 'always' },
  { seed: 1772, storeClass: 'guarded', keeping: 'turned on' },
  { seed: 1899, storeClass: 'guarded', keeping: 'always' },
  { seed: 2364, storeClass: 'guarded', keeping: 'always' },
  { seed: 2482, storeClass: 'guarded', keeping: 'always' },
  { seed: 3150, storeClass: 'unguarded', keeping: 'always' },
  { seed: 3226, storeClass: 'guarded', keeping: 'turned on' },
  { seed: 3556, storeClass: 'guarded', keeping: 'turned on' },
  { seed: 15071, storeClass: 'guarded', keeping: 'always' },
  // A clock that is a month slow wrote and renamed a file: the version that it replaced was listed after that.
  { seed: 3241, storeClass: 'guarded', keeping: 'always' },
  // A version that was deleted at one place was told of at another one, where it had been sealed again.
  { seed: 2021, storeClass: 'guarded', keeping: 'always', takesBack: true },
  { seed: 18036, storeClass: 'unguarded', keeping: 'turned on' },
  // A text was redacted while it was written back: what lay there is put back, which is a write as well.
  { seed: 9, storeClass: 'unguarded', keeping: 'always', takesBack: true, themeName: 'one file' },
];

describe('many processes of a tenant that keeps history', () => {
  for (const { name: themeName } of THEMES) {
    const seeds = amount({ usual: 4, thorough: keptSeedsOf(themeName, 'kept') });
    it(`leave a log of what happened, and of nothing else: ${themeName}, ${seeds} seeds`, {
      timeout: 120_000,
    }, async () => {
      for (let seed = 1; seed <= seeds; seed++) {
        const keeping = keepingOf(seed);
        for (const storeClass of CLASSES) {
          const { complaint } = await simulate({ seed, storeClass, themeName, keeping });
          expect(complaint, `seed ${seed}, ${storeClass}`).toBeUndefined();
        }
      }
    });
  }

  it.each(FROZEN)('leave such a log again, $keeping, $storeClass, seed $seed', async (frozen) => {
    expect((await simulate(frozen)).complaint).toBeUndefined();
  });

  const ofEach = amount({ usual: 2, thorough: keptSeedsOf('files', 'taken back') });
  it(`leave such a log beside one that undoes and restores, ${ofEach} seeds of each theme`, {
    timeout: 120_000,
  }, async () => {
    const met = new Set<string>();
    for (const { name: themeName } of THEMES) {
      for (let seed = 1; seed <= ofEach; seed++) {
        for (const storeClass of CLASSES) {
          const where = { seed, storeClass, themeName, keeping: 'always', takesBack: true } as const;
          const { complaint, history } = await simulate(where);
          expect(complaint, `seed ${seed}, ${storeClass}, ${themeName}`).toBeUndefined();
          for (const { restores, command, result } of history.operations)
            if (restores && result?.ok) met.add(command.command);
        }
      }
    }
    for (const command of ['create', 'str_replace', 'delete']) expect(met).toContain(command);
  });

  const late = amount({ usual: 60, thorough: CI_SEEDS[LATE.themeName] });
  it(`see and save both attempts of a write that is sealed anew, ${late} seeds`, {
    timeout: 120_000,
  }, async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= late; seed++) {
      for (const storeClass of CLASSES) {
        const { complaint, attempts } = await simulate({ ...LATE, seed, storeClass });
        expect(complaint, `seed ${seed}, ${storeClass}`).toBeUndefined();
        for (const {
          attempts: [first, second],
          read,
          saved,
        } of attempts()) {
          expect(second.bound).toBeGreaterThan(first.bound);
          if (read.every(Boolean)) seen.add('both read');
          if (read.every(Boolean) && saved.every(Boolean)) seen.add('both read and saved');
        }
      }
    }
    expect([...seen].sort()).toEqual(['both read', 'both read and saved']);
  });

  it('replace, delete and rename what is kept, and redact some of it', async () => {
    const met = new Set<string>();
    for (let seed = 1; seed <= 20; seed++) {
      const { history } = await simulate({ ...FILES, seed });
      for (const state of history.redactions.values()) met.add(`redaction ${state}`);
      for (const { command, result, actor } of history.operations) {
        if (result?.ok) met.add(`${command.command} ${actor === undefined ? 'of none' : 'of an actor'}`);
      }
    }
    for (const command of ['create', 'insert', 'delete', 'rename']) {
      expect(met).toContain(`${command} of an actor`);
      expect(met).toContain(`${command} of none`);
    }
    expect(met).toContain('redaction done');
  });
});
