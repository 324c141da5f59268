import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../infra/local/servers/find-program.ts';
import manifest from './package.json' with { type: 'json' };

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const ROOT_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const PATIENCE_MS = 600_000;

/**
 * Installs the packages of the frameworks into the cache folder, once for each state of their lock file, and links them
 * into the `node_modules` of this repository, where everything here finds them. They are a third of a gigabyte that only
 * their own tests and the check of types need, so `npm ci` leaves them out. Of processes that ask at once, one installs.
 *
 * @throws When they cannot be had; the message names the command that failed and what npm said.
 */
export async function installHostPackages(): Promise<void> {
  const cache = cacheDirectory(process.env);
  const lock = await readFile(join(FOLDER, 'package-lock.json'));
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const place = join(cache, `hosts-${digest}`);
  if (!existsSync(place)) {
    await mkdir(cache, { recursive: true });
    // A file is locked until the process that did it unlocks it or ends.
    const queue = new DatabaseSync(join(cache, 'hosts-queue.sqlite'));
    try {
      queue.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}; BEGIN EXCLUSIVE`);
      if (!existsSync(place)) await installInto(place);
    } finally {
      queue.close();
    }
  }
  await Promise.all(Object.keys(manifest.dependencies).map((name) => link(name, place)));
}

async function installInto(place: string): Promise<void> {
  console.log('Installing the packages of the frameworks that test/hosts tries, once …');
  const scratch = `${place}-unfinished`;
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch);
  for (const name of ['package.json', 'package-lock.json']) {
    await copyFile(join(FOLDER, name), join(scratch, name));
  }
  try {
    await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: scratch });
  } catch (error) {
    const { stderr = String(error) } = error as { readonly stderr?: string };
    throw new Error(
      `The packages of test/hosts cannot be installed: "npm ci" failed. Their first use needs a network.\n${stderr}`,
    );
  }
  await rename(scratch, place);
}

/** A package that the repository has itself stays as it is; test/hosts/install.test.ts holds it to the same version. */
async function link(name: string, place: string): Promise<void> {
  const target = join(place, 'node_modules', name);
  const path = join(ROOT_MODULES, name);
  const present = await readlink(path).catch((error: NodeJS.ErrnoException) => error.code);
  if (present === target || present === 'EINVAL') return;
  await rm(path, { force: true });
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path).catch((error: NodeJS.ErrnoException) => {
    // Another process was first.
    if (error.code !== 'EEXIST') throw error;
  });
}

if (import.meta.main) await installHostPackages();
