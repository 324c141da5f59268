import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Environment, findCommand } from '../../infra/local/programs/find-program.ts';
import { pythonEnvironment } from '../../infra/local/programs/python-environment.ts';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const REQUIREMENTS = join(FOLDER, 'requirements.txt');

/** The second implementation of the format, in test/python, with what it needs installed. */
export interface Python {
  /** Sends requests to test/python/answer.py; one answer each, in order. */
  ask(requests: readonly PythonRequest[]): Promise<readonly PythonAnswer[]>;
  /** Runs a program of test/python; what it says when it fails, or nothing. */
  complaintOf(program: string, ...args: readonly string[]): Promise<string>;
  /** Answers the command that starts a program of test/python, for a shell. */
  commandOf(program: string): string;
}

/** `action` is one of answer.py; bytes stand as base64. */
export type PythonRequest = Readonly<Record<string, unknown>> & { readonly action: string };

/** `code` is what the format calls the failure. */
export type PythonAnswer =
  | { readonly result: unknown; readonly code?: never }
  | { readonly code: string; readonly result?: never };

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
