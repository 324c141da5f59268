import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { bundleCli } from '../../infra/bundle-cli.ts';
import { PROCESSES } from '../stage/programs.ts';

const DAY_MS = 86_400_000;

/**
 * Builds the command line once a run, as it is published, and the programs that tests kill, hundreds of them: a start of
 * the one takes half of what it takes from source, one of the others three quarters. The same programs have the same
 * folder, for which Node keeps compiled code. The quick run starts no program.
 */
export async function setup(): Promise<void> {
  if (process.env['TEST_QUICK'] === '1' || process.env['TEST_CLI'] !== undefined) return;
  const cache = resolve('node_modules/.cache');
  const unfinished = join(cache, `cli-unfinished-${process.pid}`);
  await mkdir(cache, { recursive: true });
  await bundleCli(unfinished);
  await bundleProcesses(join(unfinished, PROCESSES));
  await writeFile(join(unfinished, 'package.json'), '{ "type": "module" }\n');
  const digest = createHash('sha256');
  for (const file of globSync('**/*.{cjs,js,json}', { cwd: unfinished }).sort()) {
    digest.update(file).update(await readFile(join(unfinished, file)));
  }
  const folder = join(cache, `cli-${digest.digest('hex').slice(0, 16)}`);
  if (existsSync(folder)) await rm(unfinished, { recursive: true });
  else await rename(unfinished, folder);
  process.env['TEST_CLI'] = join(folder, 'main.cjs');
  await removeOlder(cache, folder);
}

async function bundleProcesses(folder: string): Promise<void> {
  await build({
    entryPoints: globSync('test/crashes/*-process.ts'),
    outdir: folder,
    bundle: true,
    packages: 'external',
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    logLevel: 'warning',
  });
}

async function removeOlder(cache: string, current: string): Promise<void> {
  for (const name of globSync('cli-*', { cwd: cache })) {
    const folder = join(cache, name);
    if (folder === current) continue;
    const age = await stat(folder).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > DAY_MS) await rm(folder, { recursive: true, force: true });
  }
}
