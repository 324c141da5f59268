import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Collects the licences of the packages whose code is in a bundle.
 *
 * @param inputs as esbuild names them.
 */
export async function licensesOf(inputs: readonly string[]): Promise<string> {
  const folders = new Set(
    inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  );
  const texts = [...folders].sort().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${await licenseIn(join(ROOT, folder))}`;
  });
  return `${(await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n`)}`;
}

async function licenseIn(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file));
  if (name !== undefined) return readFile(join(folder, name), 'utf8');
  const { license, repository } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  if (license === undefined) throw new Error(`${folder} names no licence, so it cannot be bundled.`);
  return `${license}; ${repository?.url ?? repository}\n`;
}
