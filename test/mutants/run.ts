import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { type Draw, handOver, isDrawn } from './draw.ts';
import { LOADED, progress } from './plugins.ts';
import { ROOM_VARIABLE } from './rooms.ts';
import type { Score, Scores } from './scores.ts';
import { SURVIVORS } from './survivors.ts';

const FOLDER = 'test/mutants';
const KEPT = 'node_modules/.cache/mutants';
/** A mutant that makes a loop endless is stopped by Stryker's count of hits, long before. */
const PATIENCE_MS = 20_000;

export interface RunOptions {
  readonly room: string;
  readonly files: readonly string[];
  readonly concurrency: number;
  /** The time at which the answer is what was tried so far; the caller then ends the process. */
  readonly endsAtMs?: number | undefined;
  /** Tries those too that act while a module is loaded: no test is known to meet them, so all of the room run. */
  readonly withStatic: boolean;
  /** Tries the mutants of a draw alone, and keeps no results for later runs. */
  readonly draw?: Draw | undefined;
}

export interface MutantRun {
  readonly scores: Scores;
  /** Mutants that no test killed, and that no row excuses, as lines to read. */
  readonly alive: readonly string[];
  /** How many mutants are excused by a row. */
  readonly excused: number;
  /** How many were left out because they act while a module is loaded. */
  readonly loaded: number;
  /** The files of which some mutants were left out because the time was over, and how many. */
  readonly untested: Readonly<Record<string, number>>;
  /** True where the time was over before the end: Stryker is still at work. */
  readonly isStopped: boolean;
}

/**
 * Makes the mutants of some files of a room, and runs its tests against each. What was tried before is not tried again
 * while neither the mutant nor a test that meets it has changed.
 *
 * @throws When the tests are red without a mutant.
 */
export async function runMutants({
  room,
  files,
  concurrency,
  endsAtMs,
  withStatic,
  draw,
}: RunOptions): Promise<MutantRun> {
  process.env[ROOM_VARIABLE] = room;
  process.env['TEST_SEED'] ??= '1';
  handOver(draw);
  progress.planned = [];
  progress.tested = [];
  mkdirSync(KEPT, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'mutants-'));
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const running = new Stryker({
    mutate: [...files],
    testRunner: 'vitest',
    vitest: { configFile: `${FOLDER}/vitest.config.ts`, related: false },
    plugins: ['@stryker-mutator/vitest-runner', fileURLToPath(new URL('plugins.ts', import.meta.url))],
    ignorers: ['messages', ...(withStatic ? [] : ['loaded'])],
    reporters: ['progress-append-only', 'collector'],
    coverageAnalysis: 'perTest',
    ignoreStatic: !withStatic,
    checkers: draw === undefined ? [] : ['draw'],
    incremental: draw === undefined,
    incrementalFile: `${KEPT}/${room}.json`,
    // TypeScript 7 has no JavaScript API, with which Stryker would read a configuration that it finds.
    tsconfigFile: 'none.json',
    ignorePatterns: ['dist', 'docs/api', '.sealed-memory'],
    tempDirName: scratch,
    concurrency,
    timeoutMS: PATIENCE_MS,
    dryRunTimeoutMinutes: 20,
    allowConsoleColors: false,
  } as never).runMutationTest();
  const timeIsOver = endsAtMs === undefined ? [] : [sleep(endsAtMs - Date.now())];
  const isStopped = await Promise.race([running.then(() => false), ...timeIsOver]);
  const planned = progress.planned.filter((mutant) => draw === undefined || isDrawn(draw, mutant));
  // A result tells its place in numbers of its own, which begin with 1.
  const ids = new Set(planned.map(({ id }) => id));
  const tested = progress.tested.filter(({ id }) => ids.has(id));
  return { ...judge(tested, countByFile(planned)), isStopped };
}

function judge(
  tested: readonly Mutant[],
  planned: Readonly<Record<string, number>>,
): Omit<MutantRun, 'isStopped'> {
  const scores: Record<string, Score> = {};
  const alive: string[] = [];
  let [excused, loaded] = [0, 0];
  for (const mutant of tested) {
    const { status, statusReason } = mutant;
    if (status === 'Ignored' && statusReason?.startsWith(LOADED) === true) loaded += 1;
    // Ignored are the words of messages; what does not compile, or cannot be loaded, was made in vain.
    if (status === 'Ignored' || status === 'CompileError' || status === 'RuntimeError') continue;
    const file = relative(process.cwd(), mutant.fileName);
    const { mutants, killed } = scores[file] ?? { mutants: 0, killed: 0 };
    const isKilled = status === 'Killed' || status === 'Timeout';
    scores[file] = { mutants: mutants + 1, killed: killed + (isKilled ? 1 : 0) };
    if (isKilled) continue;
    const place = describePlace(file, mutant);
    if (isExcused(file, mutant, place.line)) excused += 1;
    else alive.push(place.text);
  }
  const seen = countByFile(tested);
  const untested = Object.entries(planned).map(([file, count]) => [file, count - (seen[file] ?? 0)] as const);
  return {
    scores,
    alive: alive.sort(),
    excused,
    loaded,
    untested: Object.fromEntries(untested.filter(([, count]) => count > 0)),
  };
}

function countByFile(mutants: readonly Mutant[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { fileName } of mutants) {
    const file = relative(process.cwd(), fileName);
    counts[file] = (counts[file] ?? 0) + 1;
  }
  return counts;
}

function describePlace(file: string, { location, mutatorName, replacement, status }: Mutant) {
  const row = location.start.line;
  const line = (readFileSync(file, 'utf8').split('\n')[row - 1] ?? '').trim();
  const unseen = status === 'NoCoverage' ? ' (no test comes here)' : '';
  const becomes = replacement.replace(/\s+/g, ' ').slice(0, 120);
  return { line, text: `${file}:${row} ${mutatorName}${unseen}\n    ${line}\n    → ${becomes}` };
}

function isExcused(file: string, { mutatorName, replacement }: Mutant, line: string): boolean {
  return SURVIVORS.some(
    (row) =>
      row.file === file &&
      row.mutator === mutatorName &&
      row.line === line &&
      (row.becomes === undefined || row.becomes === replacement),
  );
}

async function sleep(ms: number): Promise<true> {
  await new Promise((resolve) => void setTimeout(resolve, Math.max(0, ms)).unref());
  return true;
}
