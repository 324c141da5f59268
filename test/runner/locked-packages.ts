import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../infra/local/programs/find-program.ts';

const PATIENCE_MS = 600_000;

/**
 * Installs what the package.json and the lock file in `folder` name, once for each state of the lock file, in the cache
 * folder that all checkouts share. Of processes that ask at once, one installs.
 *
 * @returns The `node_modules` with the packages.
 * @throws When they cannot be had; the message says what npm said.
 */
export async function installLocked(folder: string): Promise<string> {
  const cache = cacheDirectory(process.env);
  const lock = await readFile(join(folder, 'package-lock.json'));
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const place = join(cache, `${basename(folder)}-${digest}`);
  if (!existsSync(place)) {
    await mkdir(cache, { recursive: true });
    // A file stays locked until the process that locked it unlocks it or ends.
    const queue = new DatabaseSync(join(cache, 'packages-queue.sqlite'));
    try {
      queue.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}; BEGIN EXCLUSIVE`);
      if (!existsSync(place)) await install(folder, place);
    } finally {
      queue.close();
    }
  }
  return join(place, 'node_modules');
}

async function install(folder: string, place: string): Promise<void> {
  console.log(`Installing the packages of ${basename(folder)}, once …`);
  const scratch = `${place}-unfinished`;
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch);
  for (const name of ['package.json', 'package-lock.json']) {
    await copyFile(join(folder, name), join(scratch, name));
  }
  try {
    await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: scratch });
  } catch (error) {
    const { stderr = String(error) } = error as { readonly stderr?: string };
    throw new Error(
      `"npm ci" failed for the packages of ${basename(folder)}, whose first use needs a network.\n${stderr}`,
    );
  }
  await rename(scratch, place);
}
