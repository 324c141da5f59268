import { describe, expect, it } from 'vitest';
import { drawsOf } from '../runner/draws.ts';
import { amount } from '../runner/thorough.ts';
import { STORE_KINDS } from '../stage/test-tree.ts';
import { type Answer, DEEDS, killTurn, SCRIPTS } from './killed-turns.ts';

/** The turns of each of the four cases. Where each is killed is drawn, of all requests of its script. */
const TURNS = amount({ usual: 60, thorough: 1_000 });

describe.each([
  { history: 'off', keepsHistory: false },
  { history: 'on', keepsHistory: true },
])('a turn whose worker is killed at a request, with history $history,', ({ keepsHistory }) => {
  it.each([
    { company: 'alone', isAlone: true },
    { company: 'beside another writer', isAlone: false },
  ])(
    'makes no edit twice $company, and loses none without a word',
    { timeout: 600_000 },
    async ({ company, isAlone }) => {
      const draw = drawsOf(`turns killed ${company}, ${keepsHistory}`);
      const below = (limit: number): number => Math.floor(draw() * limit);
      const pick = <T>(list: readonly T[]): T => list[below(list.length)] ?? expect.unreachable();
      const lengths = new Map<string, number>();
      const answers: Answer[] = [];
      for (let turn = 0; turn < TURNS; turn++) {
        const [kind, script, seed] = [pick(STORE_KINDS), pick(SCRIPTS), below(2 ** 31)];
        const place = { kind, keepsHistory, script, seed } as const;
        const name = `${kind} ${SCRIPTS.indexOf(script)}`;
        const length = lengths.get(name) ?? (await killTurn(place)).requests;
        lengths.set(name, length);
        const death = { request: below(length), isApplied: draw() < 0.5 };
        const [title, deed] = pick(Object.entries(DEEDS));
        const moment = below(length * 3);
        const beside = {
          deed,
          worker: moment < length ? 'first' : 'next',
          ...(moment < length * 2 && { request: moment % length }),
        } as const;
        const report = await killTurn({ ...place, death, ...(!isAlone && { beside }) });
        expect(report.faults, JSON.stringify({ ...place, death, title, beside })).toEqual([]);
        answers.push(...report.answers);
      }
      const said = answers.filter(({ says }) => says === 'ok');
      expect(said.length).toBeGreaterThan(answers.length / 2);
      if (!isAlone) return;
      // Alone, what was written is told as done: only what leaves no file behind cannot be told.
      const untold = answers.filter(({ says, times }) => says !== 'ok' && times > 0);
      expect(untold.filter(({ command }) => command !== 'delete' && command !== 'rename')).toEqual([]);
    },
  );
});
