import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Environment, findCommand } from '../../../infra/local/programs/find-program.ts';
import { isCi } from '../../../infra/local/programs/install-options.ts';
import { pythonEnvironment } from '../../../infra/local/programs/python-environment.ts';
import type { S3Server } from '../../../infra/local/servers/s3-server.ts';

const REQUIREMENTS = fileURLToPath(new URL('../../../infra/local/programs/aws-cli.txt', import.meta.url));
const LONGEST_COPY_MS = 60_000;

/** The AWS command line, which knows nothing of this project: what an operator copies buckets with. */
export interface AwsCli {
  /** Runs `aws s3` with these arguments against the server. */
  s3(server: S3Server, ...args: readonly string[]): Promise<void>;
}

/**
 * The AWS command line on PATH, or one in a virtual environment of the tests' cache folder, which only CI=true makes:
 * 200 MB are more than a newcomer expects of a test run. Never throws for what is not there: it gives the reason.
 */
export async function findAwsCli(env: Environment): Promise<AwsCli | { readonly reason: string }> {
  const onPath = await findCommand(env, 'aws');
  if (onPath !== undefined) return awsCli(onPath, []);
  const command = await findCommand(env, 'python3');
  if (command === undefined) return { reason: 'neither aws nor python3 on PATH' };
  try {
    const mayInstall = isCi(env);
    const place = { command, name: 'aws-cli', requirements: REQUIREMENTS, mayInstall };
    return awsCli(await pythonEnvironment(env, place), ['-m', 'awscli']);
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { reason: `${line}; CI=true installs it, once, 200 MB from PyPI` };
  }
}

function awsCli(program: string, first: readonly string[]): AwsCli {
  return {
    async s3({ endpoint, region, accessKeyId, secretAccessKey }, ...args) {
      const all = [...first, 's3', ...args, '--endpoint-url', endpoint, '--only-show-errors'];
      await promisify(execFile)(program, all, {
        timeout: LONGEST_COPY_MS,
        // Nothing of the configuration of the user who runs the tests.
        env: {
          PATH: process.env['PATH'],
          AWS_ACCESS_KEY_ID: accessKeyId,
          AWS_SECRET_ACCESS_KEY: secretAccessKey,
          AWS_DEFAULT_REGION: region,
          AWS_CONFIG_FILE: '/dev/null',
          AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
          AWS_EC2_METADATA_DISABLED: 'true',
        },
      });
    },
  };
}
