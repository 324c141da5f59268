import { readFileSync, writeFileSync } from 'node:fs';
import { ROOMS } from './rooms.ts';

const PLACE = new URL('scores.json', import.meta.url);

/** The mutants of a room or a file, and how many of them the tests killed. */
export interface Score {
  readonly mutants: number;
  readonly killed: number;
}

/** The score of every file, by its path. */
export type Scores = Readonly<Record<string, Score>>;

/** The last scores that were recorded, room by room; a room that was never measured is not among them. */
export function recordedScores(): Readonly<Record<string, Scores>> {
  return JSON.parse(readFileSync(PLACE, 'utf8')) as Readonly<Record<string, Scores>>;
}

/** Records the scores of all files of a room. */
export function recordScores(room: string, scores: Scores): void {
  const all = { ...recordedScores(), [room]: scores };
  const ordered = Object.fromEntries(
    Object.keys(ROOMS).flatMap((name) => (all[name] ? [[name, all[name]]] : [])),
  );
  writeFileSync(PLACE, `${JSON.stringify(ordered, null, 2)}\n`);
}

export function sum(scores: Scores): Score {
  const all = Object.values(scores);
  return {
    mutants: all.reduce((total, { mutants }) => total + mutants, 0),
    killed: all.reduce((total, { killed }) => total + killed, 0),
  };
}

/** Killed ÷ made; 1 where there are none. */
export function share({ mutants, killed }: Score): number {
  return mutants === 0 ? 1 : killed / mutants;
}

/** A share of 0.9514 is `95.1 %`, always rounded down: a goal is reached or missed. */
export function percent(value: number): string {
  return `${(Math.floor(value * 1_000) / 10).toFixed(1)} %`;
}
