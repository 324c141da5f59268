import { spawn } from 'node:child_process';
import { once } from 'node:events';
import pLimit from 'p-limit';
import type { Task } from './parts.ts';

/** `cut off`: the caller ended it, or it was not begun. */
type Verdict = 'holds' | 'FAILED' | 'cut off';

export interface Result {
  readonly task: Task;
  readonly verdict: Verdict;
  /** The line in which the program says how often it was tried; empty where it did not come to that. */
  readonly said: string;
  readonly seconds: number;
}

/**
 * Runs the programs, some at once. One holds that ends well and says that it has tried as much as was asked for. The
 * output of any other is told whole. With the signal all that run are ended, with what they have started.
 */
export async function runTasks(
  tasks: readonly Task[],
  {
    atOnce,
    signal,
    tell,
  }: { readonly atOnce: number; readonly signal: AbortSignal; readonly tell: (line: string) => void },
): Promise<readonly Result[]> {
  const limit = pLimit(atOnce);
  const running = new Map<Task, number>();
  const progress = setInterval(() => {
    const each = [...running].map(([{ part, what }, begun]) => `${part}, ${what}: ${secondsSince(begun)} s`);
    tell(`Running: ${each.join('; ')}`);
  }, 60_000);
  const run = async (task: Task): Promise<Result> => {
    if (signal.aborted) return { task, verdict: 'cut off', said: '', seconds: 0 };
    const begun = Date.now();
    running.set(task, begun);
    const { code, output } = await runProgram(task, signal);
    running.delete(task);
    const [said = '', tried] = [...output.matchAll(task.tried)].at(-1) ?? [];
    const ended = code === 0 && Number(tried) === task.count ? 'holds' : 'FAILED';
    const verdict = signal.aborted && ended === 'FAILED' ? 'cut off' : ended;
    if (verdict === 'FAILED') tell(output);
    const result: Result = { task, verdict, said, seconds: secondsSince(begun) };
    tell(rowOf(result));
    return result;
  };
  try {
    return await Promise.all(tasks.map((task) => limit(run, task)));
  } finally {
    clearInterval(progress);
  }
}

async function runProgram(
  { args, env }: Task,
  signal: AbortSignal,
): Promise<{ readonly code: number | null; readonly output: string }> {
  // In a group of its own: Vitest's workers end with it.
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
  });
  const end = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', end, { once: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  signal.removeEventListener('abort', end);
  return { code, output };
}

export function rowOf({ task, verdict, said, seconds }: Result): string {
  const { part, what, count } = task;
  return `${verdict.padEnd(7)} ${`${seconds}`.padStart(6)} s  ${part}: ${count} ${what}${said && ` (${said})`}`;
}

function secondsSince(begun: number): number {
  return Math.round((Date.now() - begun) / 1_000);
}
