import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A program by the name that a script of package.json takes. */
export interface NamedProgram {
  /** The first is what is run. */
  readonly command: readonly [string, ...(readonly string[])];
  /** The result, in a few words. */
  readonly gives: string;
}

/**
 * Runs the program that `argv` begins with, with the rest of it, and sets its exit code. Without a known name the
 * programs are listed on standard error, with exit code 2; with `--help` on standard output.
 */
export async function runNamed(
  script: string,
  programs: Readonly<Record<string, NamedProgram>>,
  [name = '', ...options]: readonly string[],
): Promise<void> {
  const program = programs[name];
  if (program === undefined) return list(script, programs, name);
  const [command, ...given] = program.command;
  const child = spawn(command, [...given, ...options], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to the program too, which ends in its own time.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => void child.kill('SIGTERM'));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}

function list(script: string, programs: Readonly<Record<string, NamedProgram>>, name: string): void {
  const isAsked = name === '--help' || name === '-h';
  const width = Math.max(...Object.keys(programs).map(({ length }) => length)) + 2;
  const lines = Object.entries(programs).map(([each, { gives }]) => `  ${each.padEnd(width)}${gives}\n`);
  const usage = `npm run ${script} NAME [-- OPTIONS]\n\n${lines.join('')}`;
  if (isAsked) process.stdout.write(usage);
  else process.stderr.write(`${script}: "${name}" is none of these.\n\n${usage}`);
  process.exitCode = isAsked ? 0 : 2;
}
