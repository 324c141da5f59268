import { findProgram } from '../infra/local/programs/find-program.ts';
import { goInstall } from '../infra/local/programs/go-install.ts';
import { TOXIPROXY } from '../infra/local/programs/pinned.ts';
import { createTestBucket, type TestBucket } from '../infra/local/servers/fresh-bucket.ts';
import { locateMinio } from '../infra/local/servers/locate.ts';
import type { S3Server } from '../infra/local/servers/s3-server.ts';
import { startToxiproxy } from '../infra/local/servers/toxiproxy.ts';
import { once } from '../src/time.ts';
import type { Lab } from './lab.ts';

/** How long an answer is held back on the far site. */
const LATENCY_MS = 20;

/** MinIO of this run, reached directly or as from far away. */
export interface Site {
  readonly server: S3Server;
  /** The words of a row on the way to it. */
  readonly title: string;
}

export interface Sites {
  readonly near: Site;
  /** The same server; absent without the proxy that delays it. */
  readonly far?: Site;
  /** Those that are there. */
  readonly all: readonly Site[];
  /** A fresh bucket. It goes with the server. */
  bucket(): Promise<TestBucket['bucket']>;
}

/** Starts the servers of a run, once and for the group that asks first. */
export type FindSites = (lab: Lab) => Promise<Sites | undefined>;

/** MinIO of this run, from its program or, with TEST_S3=docker, from its image; and a proxy that delays its answers. */
export function findSites(env: NodeJS.ProcessEnv): FindSites {
  let found: (() => Promise<Sites | { readonly reason: string }>) | undefined;
  return async (lab) => {
    found ??= once(() => startSites(env, lab));
    const sites = await found();
    if ('reason' in sites) {
      lab.lacks('everything on S3', sites.reason);
      return undefined;
    }
    if (sites.far === undefined) lab.lacks(`everything at ${LATENCY_MS} ms`, 'no Toxiproxy');
    return sites;
  };
}

async function startSites(
  env: NodeJS.ProcessEnv,
  { stack, say }: Lab,
): Promise<Sites | { readonly reason: string }> {
  // Never a server that was there before: what is measured fills it, and removes nothing.
  const minio = await locateMinio(env, env['TEST_S3'] === 'docker' ? 'docker' : 'binary', say);
  if ('reason' in minio) return minio;
  const { server, stop } = minio.running;
  stack.defer(stop);
  const near = { server, title: 'loopback' };
  const program = (await findProgram(env, TOXIPROXY)) ?? (await goInstall(env, TOXIPROXY, say));
  const bucket = async (): Promise<string> => {
    const made = await createTestBucket(server);
    made.client.destroy();
    return made.bucket;
  };
  if ('reason' in program) return { near, all: [near], bucket };
  const toxiproxy = await startToxiproxy(program.path);
  stack.defer(toxiproxy.stop);
  const way = await toxiproxy.wayTo(server.endpoint);
  await way.spoil({ type: 'latency', stream: 'downstream', attributes: { latency: LATENCY_MS } });
  const far = { server: { ...server, endpoint: way.endpoint }, title: `${LATENCY_MS} ms` };
  return { near, far, all: [near, far], bucket };
}
