import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMinio, startVersitygw } from '../../infra/local/programs/binary.ts';
import { findProgram } from '../../infra/local/programs/find-program.ts';
import { goInstall } from '../../infra/local/programs/go-install.ts';
import { MINIO, VERSITYGW } from '../../infra/local/programs/pinned.ts';
import type { Chance } from '../simulation/chance.ts';
import { createTestBucket } from '../stage/s3.ts';
import { type Reaction, startS3Proxy } from '../stage/s3-proxy.ts';

export type StoreName = 'sqlite' | 'minio' | 'versitygw';

export const STORES: readonly StoreName[] = ['sqlite', 'minio', 'versitygw'];

/** A real store with room for many tenants. */
export interface Site extends AsyncDisposable {
  /** How a process opens it. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on answers and requests get lost and late, where there is a network. */
  storm(chance: Chance): void;
  calm(): void;
  /** Resolves once no request is on its way that was on its way at the call. */
  settled(): Promise<void>;
  /** True where clients send requests again whose answers were lost. */
  readonly resends: boolean;
}

/** @throws Error with a reason where the server cannot be had. */
export async function openSite(name: StoreName): Promise<Site> {
  const rootKey = randomBytes(32).toString('base64');
  return name === 'sqlite' ? openSqlite(rootKey) : openS3(name, rootKey);
}

async function openSqlite(rootKey: string): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'linearizability-store-'));
  return {
    env: { SEALED_MEMORY_STORE: `sqlite:${join(folder, 'store.db')}`, SEALED_MEMORY_ROOT_KEY: rootKey },
    storm() {},
    calm() {},
    async settled() {},
    resends: false,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

async function openS3(name: 'minio' | 'versitygw', rootKey: string): Promise<Site> {
  const program = name === 'minio' ? MINIO : VERSITYGW;
  const say = (line: string): void => console.error(line);
  const found = (await findProgram(process.env, program)) ?? (await goInstall(process.env, program, say));
  if ('reason' in found) throw new Error(found.reason);
  const attempt = await (name === 'minio' ? startMinio(found) : startVersitygw(found));
  if ('reason' in attempt) throw new Error(attempt.reason);
  const { server, stop } = attempt.running;
  const bucket = await createTestBucket(server);
  const proxy = await startS3Proxy(server.endpoint);
  return {
    env: {
      SEALED_MEMORY_STORE: `s3://${bucket.bucket}/judged`,
      SEALED_MEMORY_ROOT_KEY: rootKey,
      SEALED_MEMORY_S3_ENDPOINT: proxy.endpoint,
      SEALED_MEMORY_S3_REGION: server.region,
      AWS_ACCESS_KEY_ID: server.accessKeyId,
      AWS_SECRET_ACCESS_KEY: server.secretAccessKey,
    },
    storm: (chance) => proxy.react(() => weather(chance)),
    calm: () => proxy.react(() => 'forward'),
    settled: proxy.settled,
    resends: true,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      bucket.client.destroy();
      await stop();
    },
  };
}

async function weather(chance: Chance): Promise<Reaction> {
  if (chance.happens(0.1)) await sleep(chance.fraction() ** 2 * 600);
  if (chance.happens(0.02)) return 'lose_answer';
  if (chance.happens(0.01)) return 'lose_request';
  return chance.happens(0.005) ? 'break_body' : 'forward';
}
