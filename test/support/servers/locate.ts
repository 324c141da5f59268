import { startMinio, startVersitygw } from './binary.ts';
import { startMinioContainer } from './docker.ts';
import { useEndpoint } from './endpoint.ts';
import { type Environment, findProgram } from './find-program.ts';
import { goInstall } from './go-install.ts';
import { type GoProgram, MINIO, VERSITYGW } from './pinned.ts';
import { type Attempt, type RunningServer, type S3Outcome, serverTitle } from './s3-server.ts';

const HOW_TO_GET_MINIO =
  'start Docker, or put a minio binary on PATH, or install Go (MinIO is then built once), or set TEST_S3=<endpoint URL> with AWS credentials';

export interface Located {
  readonly running: readonly RunningServer[];
  readonly outcome: S3Outcome;
}

/**
 * Gets MinIO and VersityGW by the first way that works: an endpoint (`TEST_S3=<URL>`), Docker, a binary on
 * PATH or in the cache, a build with Go. `TEST_S3=docker|binary|<URL>` allows one way only. Never throws for
 * a server that is not there; the outcome says so, and says whether that fails the run.
 */
export async function locateServers(env: Environment, say: (line: string) => void): Promise<Located> {
  const wanted = env['TEST_S3'] ?? '';
  const inCi = env['CI'] === 'true' || env['CI'] === '1';
  const minio = await locateMinio(env, wanted, say);
  if ('reason' in minio) {
    const notRun = wanted ? `TEST_S3=${wanted}, but ${minio.reason}` : HOW_TO_GET_MINIO;
    return { running: [], outcome: { notRun, notes: [], fails: inCi || wanted !== '' } };
  }
  const first = minio.running;
  if (first.server.name === 'versitygw') return { running: [first], outcome: { notes: [], fails: false } };
  const mayBuild = inCi || first.server.binary !== undefined;
  const versitygw = await fromBinary(env, VERSITYGW, { mayBuild, say });
  if ('running' in versitygw) {
    return { running: [first, versitygw.running], outcome: { notes: [], fails: false } };
  }
  const note = `VersityGW was not there, its suites did not run: ${versitygw.reason}`;
  return { running: [first], outcome: { notes: [note], fails: inCi } };
}

async function locateMinio(env: Environment, wanted: string, say: (line: string) => void): Promise<Attempt> {
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

async function fromBinary(
  env: Environment,
  program: GoProgram,
  options: { readonly mayBuild: boolean; readonly say: (line: string) => void },
): Promise<Attempt> {
  const missing = `no ${program.command} binary on PATH or in the cache`;
  let found = await findProgram(env, program);
  if (!found) {
    if (!options.mayBuild) return { reason: missing };
    const built = await goInstall(env, program, options.say);
    if ('reason' in built) return { reason: `${missing}, and ${built.reason}` };
    found = built;
  }
  const attempt = await (program === MINIO ? startMinio(found) : startVersitygw(found));
  return 'running' in attempt ? attempt : { reason: `${serverTitle(program.server)} from ${attempt.reason}` };
}
