import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory, type Environment } from './find-program.ts';

const LONGEST_INSTALL_MS = 300_000;
const INTERPRETER = ['bin', 'python'];

export interface PythonEnvironment {
  /** The path of a Python 3. */
  readonly command: string;
  /** The beginning of the folder's name. */
  readonly name: string;
  /** The path of a file for pip. */
  readonly requirements: string;
  /** True where the environment may be made when it is absent; default true. */
  readonly mayInstall?: boolean;
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
