import { describe, expect, it } from 'vitest';
import { amount } from '../runner/thorough.ts';
import { seedsOf } from './seeds.ts';
import type { StoreClass } from './sim-store.ts';
import { simulate } from './simulate.ts';
import { THEMES } from './workload.ts';

const CLASSES: readonly StoreClass[] = ['guarded', 'unguarded'];

for (const storeClass of CLASSES) {
  describe(`many processes on a store of class ${storeClass}`, () => {
    for (const { name: themeName } of THEMES) {
      const seeds = seedsOf(themeName);
      it(`get answers that can all be true: ${themeName}, ${seeds} seeds`, { timeout: 120_000 }, async () => {
        for (let seed = 1; seed <= seeds; seed++) {
          const { complaint } = await simulate({ seed, storeClass, themeName });
          expect(complaint, `seed ${seed}`).toBeUndefined();
        }
      });
    }
  });
}

describe('a network and a server that fail at every fourth request', () => {
  for (const { name: themeName } of THEMES) {
    const seeds = amount({ usual: 6, thorough: 50 });
    it(`make no answer untrue: ${themeName}, ${seeds} seeds`, { timeout: 120_000 }, async () => {
      for (let seed = 1; seed <= seeds; seed++) {
        for (const storeClass of CLASSES) {
          const { complaint } = await simulate({ seed, storeClass, themeName, weatherName: 'storm' });
          expect(complaint, `seed ${seed}, ${storeClass}`).toBeUndefined();
        }
      }
    });
  }
});

describe('a network that delivers later than anything is waited for', () => {
  const THEMES_THEN = ['one file', 'files', 'changing keys'] as const;
  const SEEDS = amount({ usual: 20, thorough: 60 });

  it('loses nothing on a guarded store', { timeout: 60_000 }, async () => {
    for (const themeName of THEMES_THEN) {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const gale = { seed, storeClass: 'guarded', themeName, weatherName: 'gale' } as const;
        const { complaint, history } = await simulate(gale);
        expect(complaint, `${themeName}, seed ${seed}`).toBeUndefined();
        expect(history.strayDeletes).toEqual([]);
      }
    }
  });

  it('removes from an unguarded one only what its late DELETE of a tombstone hits', {
    timeout: 60_000,
  }, async () => {
    for (const themeName of THEMES_THEN) {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const gale = { seed, storeClass: 'unguarded', themeName, weatherName: 'gale' } as const;
        expect((await simulate(gale)).complaint, `${themeName}, seed ${seed}`).toBeUndefined();
      }
    }
  });
});

describe('a simulation', () => {
  it('is the same, request by request, for the same seed', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const [once, again] = [
        await simulate({ seed, storeClass: 'unguarded' }),
        await simulate({ seed, storeClass: 'unguarded' }),
      ];
      expect(again.trace()).toEqual(once.trace());
      expect(once.trace().length).toBeGreaterThan(20);
    }
  });

  it('lets a process refuse what a create that was executed twice has brought back', async () => {
    const simulation = {
      seed: 652,
      storeClass: 'unguarded',
      themeName: 'changing keys',
      weatherName: 'storm',
    } as const;
    const { complaint, history } = await simulate(simulation);
    expect(complaint).toBeUndefined();
    expect(history.alarms).toHaveLength(1);
    const [alarm] = history.alarms;
    const strays = history.strayCreates.filter(({ key, again }) => again && key === alarm?.key);
    expect(strays).toHaveLength(1);
  });

  it('meets every theme, every command and every kind of answer', async () => {
    const [themes, answers] = [new Set<string>(), new Set<string>()];
    for (let seed = 1; seed <= 150; seed++) {
      const { theme, history } = await simulate({ seed, storeClass: 'guarded' });
      themes.add(theme);
      for (const { command, result } of history.operations) {
        const answer = result === undefined ? 'none' : result.ok ? 'ok' : result.code;
        answers.add(`${command.command} ${answer}`);
      }
    }
    expect([...themes].sort()).toEqual(THEMES.map(({ name }) => name).sort());
    for (const command of ['create', 'insert', 'delete', 'rename']) {
      for (const answer of ['ok', 'none', 'unavailable']) expect(answers).toContain(`${command} ${answer}`);
    }
    expect(answers).toContain('rename outcome_unknown');
    expect(answers).toContain('create already_exists');
    expect(answers).toContain('create is_directory');
  });
});
