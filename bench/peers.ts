import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findCommand, findProgram } from '../infra/local/programs/find-program.ts';
import { goInstall } from '../infra/local/programs/go-install.ts';
import type { GoProgram } from '../infra/local/programs/pinned.ts';
import { pythonEnvironment } from '../infra/local/programs/python-environment.ts';
import type { S3Server } from '../infra/local/servers/s3-server.ts';
import { type Lab, temporaryFolder } from './lab.ts';
import type { Cost } from './report/row.ts';
import { childrenTimes } from './report/shell-times.ts';

/** Encrypts on the client, as this library does. */
const RCLONE: GoProgram = {
  title: 'rclone',
  command: 'rclone',
  module: 'github.com/rclone/rclone',
  moduleVersion: 'v1.76.0',
  packagePath: 'github.com/rclone/rclone',
  version: '1.76.0',
  minimumGo: [1, 26],
  buildTime: '3 to 5 minutes on two cores',
};

/** Copies on the server and encrypts nothing. */
const MC: GoProgram = {
  title: 'mc',
  command: 'mc',
  module: 'github.com/minio/mc',
  moduleVersion: 'v0.0.0-20250313080218-cf909e1063a9',
  packagePath: 'github.com/minio/mc',
  version: '2025-03-13',
  minimumGo: [1, 23],
  buildTime: 'about a minute on two cores',
};

const AWS = fileURLToPath(new URL('../infra/local/programs/aws-cli.txt', import.meta.url));

/** Another program that keeps directories in buckets. Directories are named without slashes at their ends. */
export interface Peer {
  readonly name: string;
  /** Not as it comes: set up for this server by one who knows how. */
  readonly isTuned: boolean;
  /** Uploads a folder of this machine. */
  upload(at: PeerPlace, folder: string, directory: string): Promise<unknown>;
  rename(at: PeerPlace, from: string, to: string): Promise<Cost>;
  remove(at: PeerPlace, directory: string): Promise<Cost>;
}

interface PeerPlace {
  readonly server: S3Server;
  readonly bucket: string;
}

/**
 * rclone at its defaults and tuned, mc and the AWS command line: from PATH, from the cache, or built or installed into
 * it once. What cannot be had is named.
 */
export async function findPeers(lab: Lab): Promise<readonly Peer[]> {
  const home = await temporaryFolder(lab);
  const found: Peer[] = [];
  const attempts = {
    'rclone, as it comes and tuned': findRclone,
    mc: findMc,
    'the AWS command line': findAws,
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    const peers = await attempt(lab, home).catch((error: unknown) => ({ reason: firstLine(error) }));
    if ('reason' in peers) lab.lacks(name, peers.reason);
    else found.push(...peers);
  }
  return found;
}

function firstLine(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return line;
}

type Attempt = Promise<readonly Peer[] | { readonly reason: string }>;

async function findRclone({ say }: Lab, home: string): Attempt {
  const { env } = process;
  const program = (await findProgram(env, RCLONE)) ?? (await goInstall(env, RCLONE, say));
  if ('reason' in program) return program;
  const obscured = promisify(execFile)(program.path, ['obscure', 'benchmark'], { env: { HOME: home } });
  const password = (await obscured).stdout.trim();
  const peer = (name: string, tuning: readonly string[]): Peer => {
    const run = ({ server, bucket }: PeerPlace, ...args: readonly string[]): Promise<Cost> =>
      runPeer(program.path, [...args, ...tuning], {
        HOME: home,
        RCLONE_CONFIG: '/dev/null',
        RCLONE_CONFIG_RAW_TYPE: 's3',
        RCLONE_CONFIG_RAW_PROVIDER: 'Minio',
        RCLONE_CONFIG_RAW_ENDPOINT: server.endpoint,
        RCLONE_CONFIG_RAW_REGION: server.region,
        RCLONE_CONFIG_RAW_ACCESS_KEY_ID: server.accessKeyId,
        RCLONE_CONFIG_RAW_SECRET_ACCESS_KEY: server.secretAccessKey,
        RCLONE_CONFIG_SEALED_TYPE: 'crypt',
        RCLONE_CONFIG_SEALED_REMOTE: `raw:${bucket}`,
        RCLONE_CONFIG_SEALED_PASSWORD: password,
      });
    return {
      name,
      isTuned: tuning.length > 0,
      upload: (at, folder, directory) => run(at, 'copy', '--transfers', '32', folder, `sealed:${directory}`),
      rename: (at, from, to) => run(at, 'moveto', `sealed:${from}`, `sealed:${to}`),
      remove: (at, directory) => run(at, 'purge', `sealed:${directory}`),
    };
  };
  const title = `rclone ${program.version.replace(/^v/, '')} crypt`;
  return [peer(title, []), peer(`${title}, 64 at once`, ['--transfers', '64', '--checkers', '64'])];
}

async function findMc({ say }: Lab, home: string): Attempt {
  const { env } = process;
  const onPath = await findProgram(env, MC);
  // Midnight Commander has the same name, and a version of three numbers.
  const isOther = onPath !== undefined && /^v?\d+\.\d+\.\d+/.test(onPath.version);
  const found = isOther ? await findProgram({ ...env, PATH: '' }, MC) : onPath;
  const program = found ?? (await goInstall(env, MC, say));
  if ('reason' in program) return program;
  const run = ({ server }: PeerPlace, ...args: readonly string[]): Promise<Cost> => {
    const { protocol, host } = new URL(server.endpoint);
    const way = `${protocol}//${server.accessKeyId}:${server.secretAccessKey}@${host}`;
    return runPeer(program.path, ['--quiet', ...args], { HOME: home, MC_HOST_bench: way });
  };
  const at = ({ bucket }: PeerPlace, directory: string): string => `bench/${bucket}/${directory}/`;
  return [
    {
      name: `mc ${program.version}`,
      isTuned: false,
      upload: (place, folder, directory) =>
        run(place, 'cp', '--recursive', `${folder}/`, at(place, directory)),
      rename: (place, from, to) => run(place, 'mv', '--recursive', at(place, from), at(place, to)),
      remove: (place, directory) => run(place, 'rm', '--recursive', '--force', at(place, directory)),
    },
  ];
}

async function findAws({ say }: Lab, home: string): Attempt {
  const { env } = process;
  const onPath = await findCommand(env, 'aws');
  const command = await findCommand(env, 'python3');
  if (onPath === undefined && command === undefined) return { reason: 'neither aws nor python3 on PATH' };
  if (onPath === undefined)
    say('installing the AWS command line with pip, once, 200 MB, unless it is in the cache');
  const [program, first] =
    onPath === undefined
      ? [
          await pythonEnvironment(env, { command: command ?? '', name: 'aws-cli', requirements: AWS }),
          ['-m', 'awscli'],
        ]
      : [onPath, []];
  const asked = await promisify(execFile)(program, [...first, '--version'], { env: { PATH: env['PATH'] } });
  const version = /aws-cli\/([\d.]+)/.exec(asked.stdout)?.[1] ?? 'of unknown version';
  const run = ({ server }: PeerPlace, ...args: readonly string[]): Promise<Cost> =>
    runPeer(
      program,
      [...first, 's3', ...args, '--recursive', '--only-show-errors', '--endpoint-url', server.endpoint],
      {
        HOME: home,
        AWS_ACCESS_KEY_ID: server.accessKeyId,
        AWS_SECRET_ACCESS_KEY: server.secretAccessKey,
        AWS_DEFAULT_REGION: server.region,
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    );
  const at = ({ bucket }: PeerPlace, directory: string): string => `s3://${bucket}/${directory}/`;
  return [
    {
      name: `aws s3 ${version}`,
      isTuned: false,
      upload: (place, folder, directory) => run(place, 'cp', folder, at(place, directory)),
      rename: (place, from, to) => run(place, 'mv', at(place, from), at(place, to)),
      remove: (place, directory) => run(place, 'rm', at(place, directory)),
    },
  ];
}

/** A shell that says, at the end, what processor time its children took. */
const TIMED = '"$@" >/dev/null; code=$?; times; exit $code';

/** Runs a program to its end, which comes with this process at the latest, and tells what it took. */
async function runPeer(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Cost> {
  const began = performance.now();
  const child = spawn('sh', ['-c', TIMED, 'sh', program, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
  });
  const kill = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  process.once('exit', kill);
  try {
    const [told, complaint] = [text(child.stdout), text(child.stderr)];
    const [code] = (await once(child, 'close')) as [number | null];
    const wall = performance.now() - began;
    if (code !== 0) throw new Error(`${program} ended with ${code}: ${(await complaint).slice(-500)}`);
    return { wall, processor: childrenTimes(await told) };
  } finally {
    process.off('exit', kill);
  }
}
