import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLI_PROGRAM, PROGRAM_ENV } from './programs.ts';

/** A folder without settings of a project or of a person. */
const EMPTY_FOLDER = mkdtempSync(join(tmpdir(), 'sealed-memory-cli-'));
process.on('exit', () => rmSync(EMPTY_FOLDER, { recursive: true, force: true }));

export interface CliRun {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Uint8Array;
}

export interface CliOptions {
  /** All of the environment but PATH: nothing of the test's own reaches the program. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  /** Options for Node itself. */
  readonly nodeArgs?: readonly string[];
  /** In a process group of its own, as a shell starts it: what it starts may signal the whole group. */
  readonly detached?: boolean;
}

/** A setting under which the CLI runs without anything outside its process. */
export const CLI_MEMORY_ENV: Readonly<Record<string, string>> = {
  SEALED_MEMORY_STORE: 'memory:',
  SEALED_MEMORY_TENANT: 'acme',
  SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 7).toString('base64'),
};

export function startCli(args: readonly string[], options: CliOptions = {}): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [...(options.nodeArgs ?? []), CLI_PROGRAM, ...args], {
    cwd: options.cwd ?? EMPTY_FOLDER,
    env: { ...PROGRAM_ENV, HOME: EMPTY_FOLDER, ...options.env },
    detached: options.detached ?? false,
  });
}

/** Runs the CLI to its end, with `input` as its whole standard input. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const child = startCli(args, options);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const bytes = await stdout;
  return { code, signal, stdout: bytes.toString('utf8'), stderr: (await stderr).toString('utf8'), bytes };
}

/** Sends the inputs through `exec --jsonl` and returns the answers in the order they came. */
export async function execLines(
  inputs: readonly unknown[],
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const input = inputs.map((line) => `${JSON.stringify(line)}\n`).join('');
  const { stdout, stderr, code } = await runCli(['exec', '--jsonl', ...flags], { env, input });
  if (code !== 0) throw new Error(`exec ended with ${code}: ${stderr}`);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}
