import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheDirectory, type Environment, findCommand } from '../../infra/local/servers/find-program.ts';

const FOLDER = fileURLToPath(new URL('../python/', import.meta.url));
const REQUIREMENTS = join(FOLDER, 'requirements.txt');
const LONGEST_INSTALL_MS = 300_000;
const INTERPRETER = ['bin', 'python'];

/** The second implementation of the format, in test/python, with what it needs installed. */
export interface Python {
  /** Sends requests to test/python/answer.py; one answer each, in order. */
  ask(requests: readonly PythonRequest[]): Promise<readonly PythonAnswer[]>;
  /** Runs a program of test/python; what it says when it fails, or nothing. */
  complaintOf(program: string, ...args: readonly string[]): Promise<string>;
  /** What starts a program of test/python, for a shell. */
  commandOf(program: string): string;
}

/** `action` is one of answer.py; bytes stand as base64. */
export type PythonRequest = Readonly<Record<string, unknown>> & { readonly action: string };

/** `code` is what the format calls the failure. */
export type PythonAnswer =
  | { readonly result: unknown; readonly code?: never }
  | { readonly code: string; readonly result?: never };

export interface PythonEnvironment {
  /** The path of a Python 3. */
  readonly command: string;
  /** What the folder's name begins with. */
  readonly name: string;
  /** The path of a file for pip. */
  readonly requirements: string;
  /** Unless given, it is made when it is not there. */
  readonly mayInstall?: boolean;
}

/**
 * Python 3 in a virtual environment of the tests' cache folder, made on first use with venv and pip. Never throws for
 * what is not there: it gives the reason.
 */
export async function findPython(env: Environment): Promise<Python | { readonly reason: string }> {
  const command = await findCommand(env, 'python3');
  if (command === undefined) return { reason: 'no python3 on PATH' };
  try {
    const interpreter = await pythonEnvironment(env, { command, name: 'python', requirements: REQUIREMENTS });
    return {
      ask: (requests) => ask(interpreter, requests),
      complaintOf: (program, ...args) => complaintOf(interpreter, [join(FOLDER, program), ...args]),
      commandOf: (program) =>
        [interpreter, '-B', join(FOLDER, program)].map((word) => JSON.stringify(word)).join(' '),
    };
  } catch (error) {
    const lines = error instanceof Error ? error.message.trim().split('\n') : [String(error)];
    return { reason: `python3 with venv and pip is needed, but: ${lines.slice(0, 4).join(' ')}` };
  }
}

/**
 * The interpreter of a virtual environment in the cache folder that was made for exactly this Python and these
 * requirements.
 */
export async function pythonEnvironment(
  env: Environment,
  { command, name, requirements, mayInstall = true }: PythonEnvironment,
): Promise<string> {
  const version = await run(command, ['-c', 'import sys; print(sys.executable, sys.version)']);
  const wanted = createHash('sha256')
    .update(version)
    .update(await readFile(requirements));
  const cache = cacheDirectory(env);
  const finished = join(cache, `${name}-${wanted.digest('hex').slice(0, 16)}`);
  if (!(await exists(finished))) {
    if (!mayInstall) throw new Error('it is not installed');
    await mkdir(cache, { recursive: true });
    const scratch = await mkdtemp(join(cache, `${name}-build-`));
    try {
      await run(command, ['-m', 'venv', scratch]);
      const pip = [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--only-binary',
        ':all:',
      ];
      await run(join(scratch, ...INTERPRETER), [...pip, '--retries', '2', '--requirement', requirements]);
      // Another run may have been faster: its environment is as good.
      await rename(scratch, finished).catch(async (error: unknown) => {
        if (!(await exists(finished))) throw error;
      });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
  return join(finished, ...INTERPRETER);
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { timeout: LONGEST_INSTALL_MS });
  return stdout;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function complaintOf(interpreter: string, args: readonly string[]): Promise<string> {
  const child = spawn(interpreter, ['-B', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  const complaint = text(child.stderr);
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 ? '' : `it ended with ${code}: ${await complaint}`;
}

async function ask(
  interpreter: string,
  requests: readonly PythonRequest[],
): Promise<readonly PythonAnswer[]> {
  const child = spawn(interpreter, ['-B', join(FOLDER, 'answer.py')], { stdio: 'pipe' });
  const [output, complaint] = [text(child.stdout), text(child.stderr)];
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(requests));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`answer.py ended with ${code}: ${await complaint}`);
  return JSON.parse(await output) as readonly PythonAnswer[];
}
