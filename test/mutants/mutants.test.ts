import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MOST_ROWS, ROOMS, sourcesOf } from './rooms.ts';
import { recordedScores, rowOf, sum } from './scores.ts';
import { SURVIVORS } from './survivors.ts';

describe('the rows of mutants that stay', () => {
  it('name lines that are there', () => {
    const gone = SURVIVORS.filter(({ file, line }) => !linesOf(file).includes(line));
    expect(gone.map(({ file, line }) => `${file}: ${line}`)).toEqual([]);
  });

  it('stand once each, with a sentence', () => {
    const keys = SURVIVORS.map(({ file, mutator, line, becomes = '' }) =>
      [file, mutator, line, becomes].join('\n'),
    );
    expect(new Set(keys).size).toBe(keys.length);
    expect(SURVIVORS.filter(({ why }) => !/^[A-Z`].{15,}\.$/s.test(why))).toEqual([]);
  });

  it('are at most three of a hundred mutants of the files that were measured in a room', () => {
    for (const [room, scores] of Object.entries(recordedScores())) {
      const rows = SURVIVORS.filter(({ file }) => file in scores).length;
      expect(rows, room).toBeLessThanOrEqual(sum(scores).mutants * MOST_ROWS);
    }
  });
});

describe('the scores', () => {
  const page = readFileSync('docs/testing.md', 'utf8');

  it.each(Object.keys(ROOMS))('of %s stand in docs/testing.md as they were recorded', (room) => {
    expect(page.split('\n')).toContain(rowOf(room));
  });

  it('are of files that are there', () => {
    const gone = Object.entries(recordedScores()).flatMap(([room, scores]) =>
      Object.keys(scores).filter((file) => !sourcesOf(room).includes(file)),
    );
    expect(gone).toEqual([]);
  });
});

function linesOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim());
}
