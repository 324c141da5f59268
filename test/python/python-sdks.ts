import { fileURLToPath } from 'node:url';
import { type Environment, findCommand } from '../../infra/local/programs/find-program.ts';
import { pythonEnvironment } from '../../infra/local/programs/python-environment.ts';

const REQUIREMENTS = fileURLToPath(new URL('./package.txt', import.meta.url));

/**
 * A Python with `anthropic` and `claude-agent-sdk`, from a virtual environment in the tests' cache folder. Never throws
 * for what is not there: it gives the reason.
 */
export async function findPythonSdks(
  env: Environment,
): Promise<{ readonly interpreter: string } | { readonly reason: string }> {
  // 100 MB are more than a newcomer expects of a test run.
  if (env['CI'] !== 'true' && env['TEST_PYTHON_SDKS'] !== 'install') {
    return { reason: 'CI=true or TEST_PYTHON_SDKS=install installs both SDKs, once, 100 MB from PyPI' };
  }
  const command = await findCommand(env, 'python3');
  if (command === undefined) return { reason: 'no python3 on PATH' };
  try {
    const made = { command, name: 'python-sdks', requirements: REQUIREMENTS };
    return { interpreter: await pythonEnvironment(env, made) };
  } catch (error) {
    return {
      reason: `pip could not install the SDKs: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
