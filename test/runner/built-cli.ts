import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { bundleCli } from '../../infra/bundle-cli.ts';

const DAY_MS = 86_400_000;

/**
 * Builds the command line once a run, as it is published: a start takes half of what it takes from source. The same
 * program has the same folder, for which Node keeps compiled code. The quick run starts no program.
 */
export async function setup(): Promise<void> {
  if (process.env['TEST_QUICK'] === '1' || process.env['TEST_CLI'] !== undefined) return;
  const cache = resolve('node_modules/.cache');
  const unfinished = join(cache, `cli-unfinished-${process.pid}`);
  await mkdir(cache, { recursive: true });
  await bundleCli(unfinished);
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
