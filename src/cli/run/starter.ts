import { readFileSync } from 'node:fs';
import { type Environment, processEnvironment } from '../../open/options/environment.ts';

const LOOK_MS = 1_000;

/** The variable in which npm, pnpm and Yarn name the command of theirs that started a program. */
const STARTED_BY = 'npm_command';
const WATCHED: ReadonlySet<string> = new Set(['exec', 'run-script']);

/** The shells that a package manager puts between itself and a program. */
const SHELL = /^(?:ba|da|a|k|z)?sh$/;

/**
 * Calls `onGone` once when the package manager that started this process has ended. `npx` passes a signal on to its
 * shell alone, and the end of a terminal to nobody, so that a server would stay behind and hold its port. A process
 * that was started without a package manager is not watched: it may be meant to outlive its shell. Returns what ends
 * the watch.
 */
export function watchStarter(onGone: () => void, env: Environment = processEnvironment()): () => void {
  if (!WATCHED.has(env[STARTED_BY] ?? '')) return () => {};
  const parent = process.ppid;
  const shell = readProcess(parent);
  const manager = shell !== undefined && SHELL.test(shell.name) ? shell.parent : undefined;
  const isThere = (): boolean =>
    process.ppid === parent && (manager === undefined || readProcess(parent)?.parent === manager);
  const timer = setInterval(() => {
    if (isThere()) return;
    clearInterval(timer);
    onGone();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Reads the name and the parent of a process from Linux; undefined where the process is gone, and on other systems,
 * where a shell makes room for the one program that it runs.
 */
function readProcess(pid: number): { readonly name: string; readonly parent: number } | undefined {
  try {
    // The name stands in brackets, and may hold any character.
    const [, name, parent] =
      /^\d+ \((.*)\) \S+ (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return name === undefined ? undefined : { name, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
