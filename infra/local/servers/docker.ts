import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { randomCredentials } from '../programs/binary.ts';
import type { Environment } from '../programs/find-program.ts';
import { MINIO_IMAGE } from '../programs/pinned.ts';
import type { Attempt } from './s3-server.ts';

const PULL_WITHIN_MS = 5 * 60_000;
const START_WITHIN_MS = 60_000;
const GUARD = fileURLToPath(new URL('container-guard.ts', import.meta.url));

/** Starts a MinIO of this run alone, in a container; `TEST_MINIO_IMAGE` may name the image. */
export async function startMinioContainer(env: Environment, say: (line: string) => void): Promise<Attempt> {
  // The clean-up container of testcontainers is one more image to pull; container-guard.ts does its work.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
  const image = env['TEST_MINIO_IMAGE'] || MINIO_IMAGE;
  const { getContainerRuntimeClient, ImageName } = await import('testcontainers');
  const { MinioContainer } = await import('@testcontainers/minio');
  try {
    const { image: images } = await getContainerRuntimeClient();
    const name = ImageName.fromString(image);
    if (!(await images.exists(name))) {
      say(`pulling ${image}`);
      await within(PULL_WITHIN_MS, images.pull(name));
    }
  } catch (error) {
    return { reason: whyNot(error) };
  }
  const run = randomUUID();
  const guard = guardContainers(run);
  const credentials = randomCredentials();
  try {
    const container = await new MinioContainer(image)
      .withUsername(credentials.accessKeyId)
      .withPassword(credentials.secretAccessKey)
      .withLabels({ 'sealed-memory.test-run': run })
      .withStartupTimeout(START_WITHIN_MS)
      .start();
    const server = {
      name: 'minio',
      endpoint: container.getConnectionUrl(),
      region: 'us-east-1',
      ...credentials,
      version: tagOf(image),
      how: `docker image ${image}`,
    } as const;
    const stop = async () => {
      await container.stop();
      guard.release();
    };
    return { running: { server, stop } };
  } catch (error) {
    guard.act();
    return { reason: `the container did not start: ${firstLine(error)}` };
  }
}

interface ContainerGuard {
  /** Ends the guard when no container is left to remove. */
  release(): void;
  /** Removes the containers of this run now. */
  act(): void;
}

/** Starts a process that removes this run's containers when this process ends without having done so. */
function guardContainers(run: string): ContainerGuard {
  const child = spawn(process.execPath, [GUARD, run], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.on('error', () => {});
  child.unref();
  return { release: () => child.kill(), act: () => child.stdin.end() };
}

function tagOf(image: string): string {
  return /:([\w.-]+)(?:@.*)?$/.exec(image)?.[1] ?? 'of unknown version';
}

function whyNot(error: unknown): string {
  const reason = firstLine(error);
  return reason.includes('container runtime') ? 'no Docker is running here' : reason;
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n')[0] ?? '';
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the image was not pulled within ${milliseconds / 60_000} minutes`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
