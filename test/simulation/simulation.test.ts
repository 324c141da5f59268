import { describe, expect, it } from 'vitest';
import { FROZEN_SEEDS } from './frozen-seeds.ts';
import type { StoreClass } from './sim-store.ts';
import { simulate } from './simulate.ts';
import { THEMES } from './workload.ts';

const CLASSES: readonly StoreClass[] = ['guarded', 'unguarded'];
const SEEDS = 1_000;
const SEEDS_PER_TEST = 100;

for (const storeClass of CLASSES) {
  describe(`many processes on a store of class ${storeClass}`, () => {
    for (let first = 1; first <= SEEDS; first += SEEDS_PER_TEST) {
      const last = first + SEEDS_PER_TEST - 1;
      it(`get answers that can all be true, seeds ${first} to ${last}`, { timeout: 60_000 }, async () => {
        for (let seed = first; seed <= last; seed++) {
          const { complaint } = await simulate({ seed, storeClass });
          expect(complaint, `seed ${seed}`).toBeUndefined();
        }
      });
    }

    for (const { mistake, ...frozen } of FROZEN_SEEDS.filter((each) => each.storeClass === storeClass)) {
      it(`no longer meet this: ${mistake} (seed ${frozen.seed})`, async () => {
        expect((await simulate(frozen)).complaint).toBeUndefined();
      });
    }
  });
}

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
    const simulation = { seed: 1611, storeClass: 'unguarded', themeName: 'clashes' } as const;
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
