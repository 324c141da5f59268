import { readFileSync, writeFileSync } from 'node:fs';
import type { Draw } from './draw.ts';
import { ROOMS, sourcesOf } from './rooms.ts';

const PLACE = new URL('scores.json', import.meta.url);
const DRAWS = new URL('draws.json', import.meta.url);
const PAGE = new URL('../../docs/testing.md', import.meta.url);

/** The mutants of a room or a file, and how many of them the tests killed. */
export interface Score {
  readonly mutants: number;
  readonly killed: number;
}

/** The score of every file, by its path. */
export type Scores = Readonly<Record<string, Score>>;

/** The last scores that were recorded, room by room; a file that was never measured is not among them. */
export function recordedScores(): Readonly<Record<string, Scores>> {
  return JSON.parse(readFileSync(PLACE, 'utf8')) as Readonly<Record<string, Scores>>;
}

/** Records the scores of some files of a room, here and in docs/testing.md, and forgets those of files that are gone. */
export function recordScores(room: string, scores: Scores): void {
  const before = recordedScores();
  const known: Scores = { ...before[room], ...scores };
  const kept = sourcesOf(room).flatMap((file) => (known[file] ? [[file, known[file]] as const] : []));
  const all = { ...before, [room]: Object.fromEntries(kept) };
  writeFileSync(PLACE, `${JSON.stringify(inOrder(all), null, 2)}\n`);
  writeRow(room);
}

/** The last draw from each room that was recorded, and its score. */
function recordedDraws(): Readonly<Record<string, Draw & Score>> {
  return JSON.parse(readFileSync(DRAWS, 'utf8')) as Readonly<Record<string, Draw & Score>>;
}

/** Records the score of a draw from a whole room, here and in docs/testing.md. */
export function recordDraw(room: string, draw: Draw & Score): void {
  writeFileSync(DRAWS, `${JSON.stringify(inOrder({ ...recordedDraws(), [room]: draw }), null, 2)}\n`);
  writeRow(room);
}

function inOrder<T>(byRoom: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.keys(ROOMS).flatMap((name) => (byRoom[name] ? [[name, byRoom[name]]] : [])),
  );
}

function writeRow(room: string): void {
  const row = new RegExp(`^\\| \`${room}\` \\|.*$`, 'm');
  writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(row, rowOf(room)));
}

/** The row of a room in docs/testing.md: its goal, the files that were measured, what was killed, the score, and a draw. */
export function rowOf(room: string): string {
  const scores = recordedScores()[room] ?? {};
  const { killed, mutants } = sum(scores);
  const files = `${Object.keys(scores).length} of ${sourcesOf(room).length}`;
  const drawn = recordedDraws()[room];
  const score = mutants === 0 ? '' : percent(share({ killed, mutants }));
  const cells = [
    `\`${room}\``,
    `${(ROOMS[room]?.goal ?? 1) * 100} %`,
    files,
    `${killed} of ${mutants}`,
    score,
    drawn === undefined ? '' : `${drawn.killed} of ${drawn.mutants}: ${percent(share(drawn))}`,
  ];
  return `| ${cells.join(' | ')} |`;
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
