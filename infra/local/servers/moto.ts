import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory, type Environment, findCommand } from '../programs/find-program.ts';
import { startGuarded } from '../programs/guarded-process.ts';
import type { InstallOptions } from '../programs/install-options.ts';

const MOTO_VERSION = '5.2.5';
const INSTALL_WITHIN_MS = 5 * 60_000;
const INTERPRETER = join('bin', 'python3');
const run = promisify(execFile);

/** moto's server, which speaks for many services of AWS, KMS among them. */
export interface MotoServer {
  readonly endpoint: string;
  readonly version: string;
  stop(): Promise<void>;
}

/**
 * Starts a moto of this run alone, from a virtual environment in the cache folder, which is made once. Never throws:
 * it answers the reason of a failure in one line.
 */
export async function startMoto(
  env: Environment,
  options: InstallOptions,
): Promise<MotoServer | { readonly reason: string }> {
  try {
    const python = await motoPython(env, options);
    if (typeof python === 'object') return python;
    const { url, stop } = await startGuarded({
      program: python,
      arguments: ({ address }) => {
        const [host = '', port = ''] = address.split(':');
        return ['-m', 'moto.server', '-H', host, '-p', port];
      },
      env: {},
      healthPath: '/moto-api/',
      signal: options.signal,
    });
    return { endpoint: url, version: MOTO_VERSION, stop };
  } catch (error) {
    return { reason: `moto: ${firstLine(error)}` };
  }
}

/** Finds the interpreter of the virtual environment that holds moto, or makes that environment. */
async function motoPython(
  env: Environment,
  { mayInstall, say, signal }: InstallOptions,
): Promise<string | { readonly reason: string }> {
  const cache = cacheDirectory(env);
  const place = placeIn(cache);
  if (await exists(join(place, INTERPRETER))) return join(place, INTERPRETER);
  if (!mayInstall) {
    return { reason: 'moto is not installed; `npm run cloud` installs it, once, 300 MB from PyPI' };
  }
  const python = await findPython(env);
  if (typeof python === 'object') return python;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'build-'));
  try {
    say(`installing moto ${MOTO_VERSION} from PyPI, once, about a minute; it is kept in ${place}`);
    const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 2 ** 24, ...(signal && { signal }) };
    await run(python, ['-m', 'venv', scratch], options);
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      `moto[server]==${MOTO_VERSION}`,
    ];
    await run(join(scratch, INTERPRETER), pip, options);
    // The interpreter finds its packages by its own place, so a finished environment may be moved as a whole.
    await rename(scratch, place).catch(async (error: unknown) => {
      if (!(await exists(join(place, INTERPRETER)))) throw error;
    });
    return join(place, INTERPRETER);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Tells why moto is missing and cannot be installed here, before any installation; undefined when it can. */
export async function whyNoMoto(env: Environment): Promise<string | undefined> {
  if (await exists(join(placeIn(cacheDirectory(env)), INTERPRETER))) return undefined;
  const python = await findPython(env);
  return typeof python === 'object' ? python.reason : undefined;
}

/** Finds a Python that can make virtual environments. */
async function findPython(env: Environment): Promise<string | { readonly reason: string }> {
  const python = await findCommand(env, 'python3');
  if (python === undefined)
    return { reason: 'no python3 to run moto with: apt-get install python3 python3-venv' };
  const works = await run(python, ['-c', 'import venv, ensurepip'], { timeout: 30_000 }).catch(
    () => undefined,
  );
  if (works !== undefined) return python;
  return { reason: 'python3 has no venv to install moto into: apt-get install python3-venv' };
}

function placeIn(cache: string): string {
  return join(cache, `moto-${MOTO_VERSION}`);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n')[0] ?? '';
}
