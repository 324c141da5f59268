import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findRuntimeClient } from '../../../infra/local/lambda/runtime-client.ts';

describe('findRuntimeClient', () => {
  let folder: string;
  let said: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'runtime-client-'));
    said = [];
  });
  afterEach(() => rm(folder, { recursive: true }));

  const find = (mayInstall: boolean) =>
    findRuntimeClient(
      { PATH: join(folder, 'bin'), TEST_CACHE_DIR: join(folder, 'cache') },
      { mayInstall, say: (line) => said.push(line) },
    );

  async function addCommands(...names: readonly string[]): Promise<void> {
    await mkdir(join(folder, 'bin'), { recursive: true });
    for (const name of names) {
      await writeFile(join(folder, 'bin', name), '#!/bin/sh\n');
      await chmod(join(folder, 'bin', name), 0o755);
    }
  }

  it('installs nothing unless it may', async () => {
    expect(await find(false)).toEqual({ reason: expect.stringContaining('npm run cloud') });
    expect(await readdir(folder)).toEqual([]);
  });

  it('names the Debian packages that are missing, and begins nothing', async () => {
    await addCommands('g++', 'make', 'xz', 'python3');
    expect(await find(true)).toEqual({
      reason: 'aws-lambda-ric cannot be built: apt-get install cmake autoconf automake libtool',
    });
    expect(said).toEqual([]);
  });

  it('takes what is in the cache', async () => {
    const script = join(
      ...[folder, 'cache', 'aws-lambda-ric-4.0.2', 'node_modules', 'aws-lambda-ric', 'index.mjs'],
    );
    await mkdir(join(script, '..'), { recursive: true });
    await writeFile(script, '');
    expect(await find(false)).toEqual({ script });
  });
});
