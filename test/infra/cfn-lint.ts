import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Environment, findCommand } from '../../infra/local/programs/find-program.ts';
import { pythonEnvironment } from '../../infra/local/programs/python-environment.ts';

const REQUIREMENTS = fileURLToPath(new URL('../python/cfn-lint.txt', import.meta.url));

/** Its own command holds the path of the folder it was installed in, which has moved since. */
const RUN = 'import sys; from cfnlint.runner import main; sys.exit(main())';

/** A reference to a role enforces the dependency that the CDK also writes down. */
const IGNORED = ['W3005'];

/** AWS's linter of CloudFormation templates. */
export interface CfnLint {
  /** The findings, warnings included, one a line; none: an empty list. */
  lint(template: string): Promise<readonly string[]>;
}

/**
 * cfn-lint from a virtual environment in the tests' cache folder. Never throws for what is not there: it gives the
 * reason.
 */
export async function findCfnLint(env: Environment): Promise<CfnLint | { readonly reason: string }> {
  // 180 MB are more than a newcomer expects of a test run.
  if (env['CI'] !== 'true' && env['TEST_CFN_LINT'] !== 'install') {
    return { reason: 'CI=true or TEST_CFN_LINT=install installs it, once, 180 MB from PyPI' };
  }
  const command = await findCommand(env, 'python3');
  if (command === undefined) return { reason: 'no python3 on PATH' };
  try {
    const interpreter = await pythonEnvironment(env, {
      command,
      name: 'cfn-lint',
      requirements: REQUIREMENTS,
    });
    return { lint: (template) => lint(interpreter, template) };
  } catch (error) {
    return { reason: `pip could not install it: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function lint(interpreter: string, template: string): Promise<readonly string[]> {
  const options = ['--format', 'parseable', '--regions', 'eu-central-1', '--ignore-checks', ...IGNORED];
  const child = spawn(interpreter, ['-c', RUN, ...options], { stdio: 'pipe' });
  const [output, complaint] = [text(child.stdout), text(child.stderr)];
  child.stdin.on('error', () => {});
  child.stdin.end(template);
  const [code] = (await once(child, 'close')) as [number | null];
  const findings = (await output).split('\n').filter((line) => line !== '');
  // Its code says of which kinds the findings are; 1 and 32 are failures of its own.
  if (code === null || code === 1 || code === 32 || (code === 0) !== (findings.length === 0)) {
    throw new Error(`cfn-lint ended with ${code}: ${await complaint}`);
  }
  return findings;
}
