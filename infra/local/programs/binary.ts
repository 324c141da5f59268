import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Attempt, S3ServerName } from '../servers/s3-server.ts';
import type { FoundProgram } from './find-program.ts';
import { type GuardedProcess, startGuarded } from './guarded-process.ts';

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export function randomCredentials(): Credentials {
  return { accessKeyId: randomBytes(8).toString('hex'), secretAccessKey: randomBytes(16).toString('hex') };
}

/** Starts a MinIO of this run alone, from a program on this machine. */
export function startMinio(found: FoundProgram): Promise<Attempt> {
  return start('minio', found, (credentials) => launchMinio({ program: found.path, credentials }));
}

/**
 * Launches MinIO with its data in a folder of its own or in `data`, which stays, and at `address` where that is given.
 */
export function launchMinio(options: {
  readonly program: string;
  readonly credentials: Credentials;
  readonly data?: string;
  readonly address?: string;
}): Promise<GuardedProcess> {
  const { program, credentials, data, address: fixed } = options;
  return startGuarded({
    program,
    arguments: ({ address, directory }) => [
      'server',
      '--quiet',
      '--address',
      address,
      data ?? join(directory, 'data'),
    ],
    env: {
      MINIO_ROOT_USER: credentials.accessKeyId,
      MINIO_ROOT_PASSWORD: credentials.secretAccessKey,
      MINIO_BROWSER: 'off',
      MINIO_UPDATE: 'off',
    },
    healthPath: '/minio/health/live',
    ...(fixed !== undefined && { address: fixed }),
  });
}

/** Starts a VersityGW of this run alone, over a folder, able to keep versions, from a program on this machine. */
export function startVersitygw(found: FoundProgram): Promise<Attempt> {
  return start('versitygw', found, (credentials) =>
    startGuarded({
      program: found.path,
      within: ['data', 'versions'],
      arguments: ({ address, directory }) => {
        const gateway = ['--quiet', '--port', address, '--health', '/healthy'];
        return [
          ...gateway,
          'posix',
          '--versioning-dir',
          join(directory, 'versions'),
          join(directory, 'data'),
        ];
      },
      env: { ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey },
      healthPath: '/healthy',
    }),
  );
}

async function start(
  name: S3ServerName,
  found: FoundProgram,
  launch: (credentials: Credentials) => Promise<GuardedProcess>,
): Promise<Attempt> {
  const credentials = randomCredentials();
  try {
    const guarded = await launch(credentials);
    const server = {
      name,
      endpoint: guarded.url,
      region: 'us-east-1',
      ...credentials,
      version: found.version,
      how: found.how,
      binary: found.path,
    };
    return { running: { server, stop: guarded.stop } };
  } catch (error) {
    return { reason: `${found.path}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
