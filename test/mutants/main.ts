import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';
import { ROOMS, roomOf, sourcesOf } from './rooms.ts';
import type { MutantRun } from './run.ts';
import { percent, recordDraw, recordedScores, recordScores, type Scores, share, sum } from './scores.ts';

const USAGE = `npm run prove mutants -- [ROOM|FILE ...] [--since COMMIT] [--minutes N] [--jobs N] [--static]
                                [--draw SHARE] [--seed N] [--record]

Makes mutants of the code (StrykerJS), and runs the unit tests of their room against each. Ends with 1 where a score is
below its goal and below what was recorded before; a single file without a record is only told. Without a room: all of
them, which takes hours.

  ROOM            A folder of src, one of ${Object.keys(ROOMS).join(', ')}.
  FILE            A file in one of them.
  --since COMMIT  The files that were changed since then.
  --minutes N     Stops after this time, and says what was left out.
  --jobs N        Mutants that are tried side by side; 2.
  --static        Tries those too that act while a module is loaded, with all tests of the room against each.
  --draw SHARE    Tries this share of the mutants alone, such as 0.1, drawn by a seed.
  --seed N        The seed of the draw; 1.
  --record        Writes the scores of the files that were tried whole into test/mutants/scores.json; of whole rooms that
                  were drawn from, into test/mutants/draws.json.
  --help          Prints this.
`;

async function main(): Promise<void> {
  const { values, positionals } = readCall(USAGE, {
    allowPositionals: true,
    options: {
      since: { type: 'string' },
      minutes: { type: 'string' },
      jobs: { type: 'string', default: '2' },
      static: { type: 'boolean', default: false },
      draw: { type: 'string' },
      seed: { type: 'string', default: '1' },
      record: { type: 'boolean', default: false },
    },
  });
  const [concurrency, minutes] = [Number(values.jobs), Number(values.minutes ?? 1)];
  if (!(Number.isSafeInteger(concurrency) && concurrency > 0))
    refuseCall(USAGE, 'Give a whole number of jobs');
  if (!(minutes > 0)) refuseCall(USAGE, 'Give a number of minutes above 0');
  const draw = values.draw === undefined ? undefined : { seed: values.seed, share: Number(values.draw) };
  if (draw !== undefined && !(draw.share > 0 && draw.share <= 1))
    refuseCall(USAGE, 'Give a share above 0, and at most 1');
  const endsAtMs = values.minutes === undefined ? undefined : Date.now() + minutes * 60_000;
  const wanted = byRoom(values.since === undefined ? named(positionals) : touchedSince(values.since));
  if (wanted.size === 0) console.log('No file in a room whose mutants are counted.');
  // Stryker takes a second to load, which a call that is refused does not wait for.
  const { runMutants } = await import('./run.ts');
  let [isGood, isStopped] = [true, false];
  for (const [room, files] of wanted) {
    if (isStopped) {
      console.log(`Left out, as the time was over: ${files.join(', ')}`);
      continue;
    }
    const run = await runMutants({ room, files, concurrency, endsAtMs, withStatic: values.static, draw });
    isStopped = run.isStopped;
    const isWhole = files.length === sourcesOf(room).length && !isStopped;
    isGood = tell(room, run, isWhole) && isGood;
    if (values.record && draw === undefined) recordScores(room, wholeFiles(files, run));
    if (values.record && draw !== undefined && isWhole) recordDraw(room, { ...draw, ...sum(run.scores) });
  }
  process.exitCode = isGood ? 0 : 1;
  if (isStopped) stop(process.exitCode);
}

/** Ends a run that is still under way as a signal would, at which Stryker keeps what it has found. */
function stop(code: number): void {
  process.once('exit', () => {
    process.exitCode = code;
  });
  process.kill(process.pid, 'SIGTERM');
}

function named(names: readonly string[]): readonly string[] {
  if (names.length === 0) return Object.keys(ROOMS).flatMap(sourcesOf);
  return names.flatMap((name) => {
    const plain = relative(process.cwd(), name).replace(/^src\/([^/]+)$/, '$1');
    if (plain in ROOMS) return sourcesOf(plain);
    if (roomOf(plain) === undefined || !existsSync(plain))
      return refuseCall(USAGE, `"${name}" is neither a room nor a file in one`);
    return [plain];
  });
}

function touchedSince(commit: string): readonly string[] {
  const changed = execFileSync('git', ['diff', '--name-only', '--diff-filter=d', commit, '--', 'src'], {
    encoding: 'utf8',
  });
  const rooms = new Set(Object.keys(ROOMS).flatMap(sourcesOf));
  return changed.split('\n').filter((file) => rooms.has(file));
}

function byRoom(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(new Set(files), (file) => roomOf(file) ?? '');
}

/** Prints what a run found. @returns whether every score is as high as it has to be. */
function tell(
  room: string,
  { scores, alive, excused, untested, loaded, isStopped }: MutantRun,
  isWhole: boolean,
): boolean {
  const goal = ROOMS[room]?.goal ?? 1;
  for (const line of alive) console.log(line);
  for (const [file, score] of Object.entries(scores))
    console.log(`${percent(share(score)).padStart(8)}  ${score.killed} of ${score.mutants}  ${file}`);
  const whole = sum(scores);
  console.log(
    `${room}: ${whole.killed} of ${whole.mutants} killed, ${percent(share(whole))} (goal ${percent(goal)}); ` +
      `${excused} excused by a row, ${alive.length} alive`,
  );
  if (loaded > 0)
    console.log(`Left out, as they act while a module is loaded: ${loaded} (--static tries them)`);
  if (isStopped && whole.mutants === 0) console.log(`Left out, as the time was over: all mutants of ${room}`);
  for (const [file, count] of Object.entries(untested))
    console.log(`Left out, as the time was over: ${count} mutants of ${file}`);
  const before = recordedScores()[room] ?? {};
  const fell = isWhole ? [] : fallen(scores, before, goal).filter((file) => !(file in untested));
  for (const file of fell) console.log(`${file} is below its goal, and below what it was`);
  return isWhole ? share(whole) >= goal : fell.length === 0;
}

function wholeFiles(files: readonly string[], { scores, untested, isStopped }: MutantRun): Scores {
  const none = { mutants: 0, killed: 0 };
  const tried = files.filter((file) => !(file in untested) && (file in scores || !isStopped));
  return Object.fromEntries(tried.map((file) => [file, scores[file] ?? none]));
}

function fallen(scores: Scores, before: Scores, goal: number): readonly string[] {
  return Object.entries(scores).flatMap(([file, score]) => {
    const was = before[file];
    return was !== undefined && share(score) < Math.min(goal, share(was)) ? [file] : [];
  });
}

await main();
