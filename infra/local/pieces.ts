import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle, WORKER_ENTRY } from '../bundle.ts';
import { findRuntimeClient, whyNoRuntimeClient } from './lambda/runtime-client.ts';
import type { Environment } from './programs/find-program.ts';
import type { InstallOptions } from './programs/install-options.ts';
import { locateMinio, whyNoMinio } from './servers/locate.ts';
import { startMoto, whyNoMoto } from './servers/moto.ts';
import type { S3Server } from './servers/s3-server.ts';

/** The pieces of the cloud on one machine. */
export interface Pieces extends AsyncDisposable {
  readonly minio: S3Server;
  /** The endpoint of moto. */
  readonly moto: string;
  readonly runtimeClient: string;
  /** The folder of a bundle made just now. */
  readonly bundle: string;
}

/** Finds the pieces that are missing and cannot be had here, before any installation, with one sentence for each. */
export async function findObstacles(env: Environment): Promise<readonly string[]> {
  const reasons = await Promise.all([whyNoMinio(env), whyNoRuntimeClient(env), whyNoMoto(env)]);
  return reasons.filter((reason) => reason !== undefined);
}

/**
 * Gets everything but MinIO, or one sentence for each piece that is not available here.
 *
 * @throws the signal's reason when it is aborted meanwhile.
 */
export async function getPieces(
  env: Environment,
  minio: S3Server,
  options: InstallOptions,
): Promise<Pieces | { readonly reasons: readonly string[] }> {
  const stack = new AsyncDisposableStack();
  // One follows the other: both installations want the whole machine.
  const client = await findRuntimeClient(env, options);
  options.signal?.throwIfAborted();
  const moto = await startMoto(env, options);
  if ('stop' in moto) stack.defer(moto.stop);
  if ('reason' in client || 'reason' in moto) {
    await stack.disposeAsync();
    return { reasons: [client, moto].flatMap((piece) => ('reason' in piece ? [piece.reason] : [])) };
  }
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-bundle-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await bundle({ entry: WORKER_ENTRY, folder });
  return {
    minio,
    moto: moto.endpoint,
    runtimeClient: client.script,
    bundle: folder,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Gets MinIO as the tests find it; an endpoint of another operator is not asked for session policies. */
export async function getMinio(
  env: Environment,
  { say }: InstallOptions,
): Promise<{ readonly minio: S3Server; stop(): Promise<void> } | { readonly reason: string }> {
  const wanted = env['TEST_S3'] === 'docker' || env['TEST_S3'] === 'binary' ? env['TEST_S3'] : '';
  const attempt = await locateMinio(env, wanted, say);
  if ('reason' in attempt) return { reason: `MinIO: ${attempt.reason}` };
  return { minio: attempt.running.server, stop: attempt.running.stop };
}
