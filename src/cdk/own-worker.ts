import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Stage } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** The module that bundles, in the form in which this one is here: a source, or compiled. */
const BUNDLER = new URL(`worker-bundle${import.meta.url.slice(-3)}`, import.meta.url).href;

/**
 * Bundles a worker of the caller's with the esbuild of the caller's project, and answers the folder. A process of its
 * own does it, because esbuild runs its plugins beside the program and a construct cannot wait.
 *
 * @throws RangeError where the file is not there, or esbuild is not or refuses it.
 */
export function bundleOwnWorker(scope: Construct, entry: string): string {
  const path = resolve(entry);
  if (!existsSync(path)) throw new RangeError(`entry names no file: ${entry}`);
  const folder = join(Stage.of(scope)?.assetOutdir ?? '', `worker-${scope.node.addr}`);
  const program = `
import { createRequire } from 'node:module';
const { build } = createRequire(${JSON.stringify(pathToFileURL(path).href)})('esbuild');
const { writeBundle } = await import(${JSON.stringify(BUNDLER)});
await writeBundle(${JSON.stringify({ entry: path, folder }).slice(0, -1)}, build });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  if (status === 0) return folder;
  const reason = /Cannot find module 'esbuild'/.test(stderr)
    ? 'esbuild is missing beside it: npm install --save-dev esbuild'
    : stderr.trim();
  throw new RangeError(`entry could not be bundled: ${reason}`);
}
