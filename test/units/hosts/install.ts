import { mkdir, readlink, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installLocked } from '../../runner/locked-packages.ts';
import manifest from './package.json' with { type: 'json' };

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const ROOT_MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

/**
 * Installs the packages of the frameworks, and links them into the `node_modules` of this repository, where everything
 * here finds them. They are a third of a gigabyte that only their own tests and the check of types need, so `npm ci`
 * leaves them out.
 *
 * @throws As {@link installLocked}.
 */
export async function installHostPackages(): Promise<void> {
  const modules = await installLocked(FOLDER);
  await Promise.all(Object.keys(manifest.dependencies).map((name) => link(name, modules)));
}

/** A package that the repository has itself stays as it is; a test holds it to the same version. */
async function link(name: string, modules: string): Promise<void> {
  const target = join(modules, name);
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
