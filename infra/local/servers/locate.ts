import { startMinio, startVersitygw } from '../programs/binary.ts';
import { type Environment, type FoundProgram, findCommand, findProgram } from '../programs/find-program.ts';
import { goInstall } from '../programs/go-install.ts';
import { isCi } from '../programs/install-options.ts';
import { type GoProgram, MINIO, TOXIPROXY, VERSITYGW } from '../programs/pinned.ts';
import { startMinioContainer } from './docker.ts';
import { useEndpoint } from './endpoint.ts';
import type { Attempt, FaultPrograms, RunningServer, S3Outcome } from './s3-server.ts';

const HOW_TO_GET_MINIO =
  'start Docker, or put a minio binary on PATH, or install Go (MinIO is then built once), or set TEST_S3=<endpoint URL> with AWS credentials';

export interface Located {
  readonly running: readonly RunningServer[];
  readonly outcome: S3Outcome;
  readonly programs: FaultPrograms;
}

/**
 * Gets MinIO and VersityGW by the first way that works: an endpoint (`TEST_S3=<URL>`), Docker, a binary on PATH or in
 * the cache, a build with Go. `TEST_S3=docker|binary|<URL>` allows one way only. Never throws for a missing server; the
 * outcome names it, and says whether that fails the run.
 */
export async function locateServers(env: Environment, say: (line: string) => void): Promise<Located> {
  const wanted = env['TEST_S3'] ?? '';
  const inCi = isCi(env);
  const minio = await locateMinio(env, wanted, say);
  if ('reason' in minio) {
    const notRun = wanted ? `TEST_S3=${wanted}, but ${minio.reason}` : HOW_TO_GET_MINIO;
    return { running: [], outcome: { notRun, notes: [], fails: inCi || wanted !== '' }, programs: {} };
  }
  const first = minio.running;
  if (first.server.name === 'versitygw') {
    return { running: [first], outcome: { notes: [], fails: false }, programs: {} };
  }
  const mayBuild = inCi || first.server.binary !== undefined;
  const versitygw = await fromBinary(env, VERSITYGW, { mayBuild, say });
  const { programs, notes: missing } = await findFaultPrograms(env, say);
  const notes =
    'running' in versitygw
      ? missing
      : [`VersityGW was not there, its suites did not run: ${versitygw.reason}`, ...missing];
  return {
    running: 'running' in versitygw ? [first, versitygw.running] : [first],
    outcome: { notes, fails: inCi && notes.length > 0 },
    programs,
  };
}

/** Gets Toxiproxy, built when it is missing, and a MinIO that a test may kill, which is never built for that alone. */
async function findFaultPrograms(
  env: Environment,
  say: (line: string) => void,
): Promise<{ readonly programs: FaultPrograms; readonly notes: readonly string[] }> {
  const toxiproxy = await getProgram(env, TOXIPROXY, { mayBuild: true, say });
  const minio = await getProgram(env, MINIO, { mayBuild: false, say });
  const programs = {
    ...('path' in toxiproxy && { toxiproxy: toxiproxy.path }),
    ...('path' in minio && { minio: minio.path }),
  };
  if ('reason' in toxiproxy) {
    return { programs, notes: [`the suite of network faults did not run: ${toxiproxy.reason}`] };
  }
  const notes = 'reason' in minio ? [`MinIO was not killed and restarted: ${minio.reason}`] : [];
  return { programs, notes };
}

export async function locateMinio(
  env: Environment,
  wanted: string,
  say: (line: string) => void,
): Promise<Attempt> {
  if (/^https?:\/\//.test(wanted)) return useEndpoint(env, wanted);
  if (wanted === 'docker') return startMinioContainer(env, say);
  if (wanted === 'binary') return fromBinary(env, MINIO, { mayBuild: true, say });
  if (wanted !== '') return { reason: 'it must be docker, binary or an endpoint URL' };
  const docker = await startMinioContainer(env, say);
  if ('running' in docker) return docker;
  say(`not by Docker: ${docker.reason}`);
  const binary = await fromBinary(env, MINIO, { mayBuild: true, say });
  if ('reason' in binary) say(`not by a binary: ${binary.reason}`);
  return binary;
}

/** Tells why MinIO is missing and cannot be had here, before any installation; undefined when it seems available. */
export async function whyNoMinio(env: Environment): Promise<string | undefined> {
  if (env['TEST_S3']) return undefined;
  const ways = await Promise.all([
    findProgram(env, MINIO),
    findCommand(env, 'docker'),
    findCommand(env, 'go'),
  ]);
  return ways.every((way) => way === undefined) ? `no MinIO: ${HOW_TO_GET_MINIO}` : undefined;
}

async function fromBinary(env: Environment, program: GoProgram, options: BuildOptions): Promise<Attempt> {
  const found = await getProgram(env, program, options);
  if ('reason' in found) return found;
  const attempt = await (program === MINIO ? startMinio(found) : startVersitygw(found));
  return 'running' in attempt ? attempt : { reason: `${program.title} from ${attempt.reason}` };
}

interface BuildOptions {
  readonly mayBuild: boolean;
  readonly say: (line: string) => void;
}

async function getProgram(
  env: Environment,
  program: GoProgram,
  { mayBuild, say }: BuildOptions,
): Promise<FoundProgram | { readonly reason: string }> {
  const found = await findProgram(env, program);
  if (found) return found;
  const missing = `no ${program.command} binary on PATH or in the cache`;
  if (!mayBuild) return { reason: missing };
  const built = await goInstall(env, program, say);
  return 'reason' in built ? { reason: `${missing}, and ${built.reason}` } : built;
}
