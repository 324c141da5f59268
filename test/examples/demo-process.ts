import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PROGRAM_ENV } from '../stage/programs.ts';

export interface DemoRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningDemo {
  readonly pid: number;
  /** Resolves with the first match in what was printed so far or is printed later; rejects when the process ends. */
  printed(pattern: RegExp): Promise<RegExpMatchArray>;
  readonly ended: Promise<DemoRun>;
}

export type DemoScript = 'main.ts' | 'conversation.ts';

/** Starts a script of the demo in an environment that holds `env` and nothing of this machine's settings. */
export function startDemo(
  script: DemoScript,
  options: { readonly args?: readonly string[]; readonly env: Readonly<Record<string, string>> },
): RunningDemo {
  const path = fileURLToPath(new URL(`../../examples/demo/${script}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...(options.args ?? [])], {
    env: { ...PROGRAM_ENV, HOME: process.env['HOME'], ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<DemoRun>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  return {
    pid: child.pid ?? 0,
    ended,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = stdout.match(pattern);
          if (match) resolve(match);
        };
        child.stdout.on('data', look);
        look();
        ended.then(() => reject(new Error(`the demo ended without printing ${pattern}: ${stderr}`)), reject);
      }),
  };
}

export function runDemo(
  script: DemoScript,
  options: { readonly args?: readonly string[]; readonly env: Readonly<Record<string, string>> },
): Promise<DemoRun> {
  return startDemo(script, options).ended;
}

/**
 * Words of the conversation that only a reader with the key may find in the store. Each has four characters or more:
 * random bytes hold shorter ones by chance.
 */
export const SECRET_WORDS: readonly string[] = [
  ...['Kestrel', 'Acme', 'Bakery', 'Budget', 'euros', 'Mails', 'press', 'public'],
  ...['kestrel', 'acme-bakery', 'customers', 'plans', 'scratch', 'sessions', 'bakery.md'],
];

/** The memory commands a run printed, in order. */
export function printedCommands(stdout: string): readonly string[] {
  return [...stdout.matchAll(/^→ (\w+) /gm)].map(([, command = '']) => command);
}
